"""A page reads sentences as `translate.adapting` does, by these patterns, lists and limits.

The code in the browser (`web/src/engine/adapting.ts`) has none of these values: they come with the
model's file, from where Python has them.
"""

import re
from typing import Any

from glassformer.extensions.days.dates import HALF, LAST_DAY, Dates
from glassformer.extensions.enclosures import enclosures
from glassformer.extensions.enclosures.enclosures import Enclosures
from glassformer.extensions.enclosures.speech import SPEECH, SPOKEN
from glassformer.extensions.enclosures.tags import TAG
from glassformer.extensions.signs import signs
from glassformer.extensions.signs.short_forms import ELIDED, ELIDING
from glassformer.extensions.titles import full_names, titles
from glassformer.text import (
    casing,
    colons,
    final_stops,
    stand_ins,
    symbols,
    typography,
    verbatim,
)
from glassformer.text.patterns import LazyPattern
from glassformer.text.sentence_rules import find_list_labels
from glassformer.text.spacing import name_base
from glassformer.translate import adapting
from glassformer.translate.adapting import LONGEST_ACRONYM, Adapter
from glassformer.translate.align.marked_words import CLOSING
from glassformer.translate.align.marked_words import WORD as MARKED_WORD
from glassformer.translate.align.symbols import LAST_MARKS, REST, TOUCHED

from .regexp import write_for_javascript

PATTERNS: dict[str, LazyPattern | re.Pattern[str]] = {
    "hint": verbatim.HINT,
    "verbatim": verbatim.SCAN,
    "touch": verbatim.TOUCH,
    "touched": TOUCHED,
    "word": verbatim.WORD,
    "foreign": verbatim.FOREIGN,
    "possessive": verbatim.POSSESSIVE,
    "year": stand_ins.YEAR,
    "numeric": stand_ins.NUMERIC,
    "owned": stand_ins.OWNED,
    "cased_word": casing.WORD,
    "elided": casing.ELIDED,
    "pronoun": casing.PRONOUN,
    "before_place": adapting.BEFORE_PLACE,
    "list_of_names": titles.LIST,
    "listed": titles.LISTED,
    "addressed": adapting.ADDRESSED,
    "letter": adapting.LETTER,
    "repeated_marks": adapting.LAST_MARKS,
    "final_mark": adapting.LAST_MARK,
    "final_dots": adapting.LAST_DOTS,
    "enclosed_end": final_stops.ENCLOSED_END,
    "symbols": symbols.RUN,
    "aside": symbols.ASIDE,
    "loose_symbols": symbols.LOOSE_RUN,
    "loose_aside": symbols.LOOSE_ASIDE,
    "opening": symbols.OPENING,
    "prose": symbols.PROSE,
    "emoticon": symbols.EMOTICON,
    "face": symbols.FACE,
    "emoji": symbols.EMOJI,
    "heart": symbols.HEART,
    "enclosed": enclosures.ENCLOSED,
    "enclosed_hint": enclosures.HINT,
    "stop": enclosures.STOP,
    "tag": TAG,
    "colon": colons.BEHIND,
    "colon_label": colons.LABEL,
    "end": symbols.END,
    "moved": symbols.MOVED,
    "mark": symbols.MARKS,
    "curly": typography.CURLY,
    "curly_double": typography.CURLY_DOUBLE,
    "pairs": typography.PAIRS,
    "speech": SPEECH,
    "spoken": SPOKEN,
    "single_pairs": typography.SINGLE_PAIRS,
    "spaced_dash": typography.SPACED_DASH,
    "dash": typography.DASHES,
    "marked_word": MARKED_WORD,
    "rest_of_word": REST,
    "lone": signs.LONE,
}
LISTS = {
    "trailing": verbatim.TRAILING,
    "edge": verbatim.EDGE,
    "counted": verbatim.COUNTED,
    "brackets": verbatim.BRACKETS,
    "beginning": verbatim.BEGINNING,
    "towns": adapting.TOWNS,
    "of_numbers": stand_ins.OF_NUMBERS,
    "plain_kinds": adapting.PLAIN_KINDS,
    "stops": casing.STOPS,
    "small_in_titles": sorted(casing.SMALL_IN_TITLES),
    "before_names": sorted(casing.BEFORE_NAMES),
    "honorifics": sorted(casing.HONORIFICS),
    "closing": "".join(sorted(CLOSING)),
    "last_marks": LAST_MARKS,
    "quoted": typography.QUOTED,
    "single_closed": typography.SINGLE_CLOSED,
    "last_quoted": typography.LAST,
    "bracketed": [*colons.PAIRS.items()],
    "touches_next": symbols.TOUCHES_NEXT,
    "touches_former": symbols.TOUCHES_FORMER,
}
LIMITS = {
    "digits": stand_ins.DIGITS,
    "least_stem": verbatim.LEAST_STEM,
    "small_number": adapting.SMALL_NUMBER,
    "longest_before_place": adapting.LONGEST_BEFORE,
    "least_title": casing.LEAST_TITLE,
    "share": casing.SHARE,
    "least_sentence": casing.LEAST_SENTENCE,
    "often": casing.OFTEN,
    "abbreviation": casing.ABBREVIATION,
    "small_word": casing.SMALL_WORD,
    "emphasis": casing.EMPHASIS,
    "few": symbols.FEW,
}


def describe_adapting(adapter: Adapter) -> dict[str, Any] | None:
    """Return what a page reads sentences with; None if the model reads them as they are typed."""
    if not adapter.tokenizers.source.has_character_map:
        return None
    quotes = typography.find_quotes(adapter.target_lang)
    patterns = {
        **PATTERNS,
        "label": find_list_labels(adapter.source_lang),
        "separator": symbols.compile_separators(typography.find_quotes(adapter.source_lang)),
        "title": titles.make_pattern(*adapter.languages),
        "before_title": titles.BEFORE,
        "particles": full_names.compile_particles(adapter.source_lang),
        "elided_name": ELIDED,
        "full_name": full_names.compile_full_names(adapter.source_lang),
        **_name_articles(adapter.target_lang),
    }
    return {
        "is_cased": adapter.is_cased,
        "has_letters": adapter.has_letters,
        "has_names": adapter.has_names,
        "longest_acronym": LONGEST_ACRONYM,
        "has_words": adapter.words is not None,
        "from_english": name_base(adapter.source_lang) == "en",
        "into_english": name_base(adapter.target_lang) == "en",
        "endings": verbatim.list_endings(frozenset(adapter.words or ())),
        "first_names": sorted(verbatim.read_first_names()),
        "known_names": sorted(adapter.known_names),
        "stand_ins": vars(adapter.stand_ins) | _describe_names(adapter),
        "titles": titles.find_titles(*adapter.languages),
        "fitted": titles.FITTED.get(name_base(adapter.target_lang) or "", {}),
        "longest_before": titles.LONGEST,
        "surnames": titles.SURNAMES,
        "polite": sorted(titles.list_polite(adapter.source_lang)),
        "no_names": sorted(titles.list_no_names(adapter.source_lang)),
        "with_articles": name_base(adapter.source_lang) in adapting.WITH_ARTICLES,
        "elides": name_base(adapter.source_lang) in ELIDING,
        "quotes": quotes,
        "spoken": adapter.signs.spoken,
        "short_forms": _describe_short_forms(adapter.signs),
        "short_kinds": signs.OWN,
        "single_quotes": typography.SINGLE_QUOTES.get("".join(quotes), "‘’"),
        "locales": ["tr" if casing.is_turkic(each) else "en" for each in adapter.languages],
        "capitals": [
            {chr(code): capital for code, capital in table.items()}
            for table in casing.find_capitals(adapter.target_lang)
        ],
        "dates": _describe_dates(adapter.days),
        "stop": _describe_stop(adapter),
        "enclosures": _describe_enclosures(Enclosures(*adapter.tokenizers)),
        "patterns": {name: write_for_javascript(each.pattern) for name, each in patterns.items()},
        **LISTS,
        **LIMITS,
    }


def _name_articles(target: str | None) -> dict[str, LazyPattern]:
    """Return what finds titles with articles in a translation; nothing, if none has them."""
    nothing = LazyPattern("(?!)")
    behind, first = titles.find_articles(target) or (nothing, nothing)
    return {"behind_word": behind, "first_article": first}


def _describe_short_forms(own: signs.Signs) -> list[dict[str, Any]]:
    """Return the short forms that a network reads as words, without those that it knows."""
    return [
        {
            "pattern": write_for_javascript(form.pattern.pattern),
            "words": {
                short: words
                for short, words in (form.words or {}).items()
                if not (form.kind == "typed" and own.is_word(short))
            },
            "kind": form.kind,
            "joint": form.joint,
            "beside": write_for_javascript(form.beside.pattern) if form.beside else None,
        }
        for form in own.forms
    ]


def _describe_names(adapter: Adapter) -> dict[str, Any]:
    """Return which names stand for places and women, and what a network may write for them."""
    return {
        "places": stand_ins.PLACES,
        "women": stand_ins.WOMEN,
        "spellings": stand_ins.SPELLINGS,
        "genitive": name_base(adapter.target_lang) in stand_ins.GENITIVE,
        "sibilants": stand_ins.SIBILANTS if name_base(adapter.target_lang) == "de" else (),
        "nouns": stand_ins.NOUNS.get(name_base(adapter.target_lang)),
        "amounts": stand_ins.AMOUNTS,
        "amount": write_for_javascript(stand_ins.AMOUNT.pattern),
    }


def _describe_stop(adapter: Adapter) -> dict[str, Any]:
    """Return the marks at the end of sentences and of questions, and how questions begin."""
    questions = final_stops.find_questions(adapter.source_lang)
    return {
        "usual": adapter.usual_stop,
        "colon": adapter.colon,
        "questions": write_for_javascript(questions.pattern) if questions else None,
        "of_questions": final_stops.STOPS,
        "written": final_stops.WRITTEN,
    }


def _describe_enclosures(finder: Enclosures) -> dict[str, Any]:
    """Return the kinds of rare marks, what is written for each, and what the network reads."""
    quotes = dict.fromkeys(("double",), finder.quotes)
    return {
        "rare": sorted(finder.rare),
        "written": quotes | enclosures.WRITTEN,
        "brackets": enclosures.BRACKETS,
        "emphasis": [*enclosures.EMPHASIS],
        "comma": finder.comma,
        "most_quoted": enclosures.MOST_QUOTED,
    }


def _describe_dates(dates: Dates) -> dict[str, Any]:
    """Return the patterns of days, what stands for them, and how the target writes them."""
    source, target = dates.source, dates.target
    is_possible = source is not None and target is not None
    return {
        "patterns": [*map(write_for_javascript, dates.patterns)],
        "months": source.months if source else (),
        "often": [_describe_often(dates, pair) for pair in dates.often] if is_possible else [],
        "target": target._asdict() | {"find": (), "written": ""} if target else None,
        "counts_to_24": dates.counts_to_24,
        "half": HALF,
        "last_day": LAST_DAY,
    }


def _describe_often(dates: Dates, pair: tuple[int, int]) -> dict[str, Any]:
    assert dates.source and dates.target
    month, day = pair
    text, message, pattern = dates.spell_often(pair)
    return {
        "day": day,
        "months": (dates.source.months[month - 1], dates.target.months[month - 1]),
        "text": text,
        "message": message,
        "pattern": write_for_javascript(pattern),
    }

"""Titles before names: Ms. Abernathy is written Mme Abernathy, and stands for one name."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from pathlib import Path

from glassformer.foundation.disk import read_text
from glassformer.text.function_words import WORDS
from glassformer.text.patterns import LazyPattern
from glassformer.text.spacing import name_base
from glassformer.text.verbatim import POSSESSIVE, WORD, Verbatim, read_first_names

from .full_names import compile_particles
from .word_names import CAPITAL

# What a word becomes before a title, that of a woman or of a man with an article, or a name.
FITTED = {
    "de": {"Lieber": "Liebe", "lieber": "liebe", "geehrter": "geehrte"},
    "fr": {
        **{"de le": "du", "à le": "au", "De le": "Du", "À le": "Au"},
        **{"Cher": "Chère", "cher": "chère"},
        **{"de ": "d'", "De ": "D'", "que ": "qu'", "Que ": "Qu'"},  # before a vowel
    },
}
# Three names or more with commas between, behind which the last one follows.
LISTED = LazyPattern(rf"{CAPITAL}[\w'\u2019-]*+(?: {CAPITAL}[\w'\u2019-]*+){{0,2}}")
LIST = LazyPattern(
    rf"(?<!\w){LISTED.pattern}(?:, {LISTED.pattern}){{2,}},?(?= (?:and|or|et|ou) \w)"
)
_VOWEL = "[AÀÂEÉÈÊIÎOÔU][a-zà-ÿ]"
BEFORE = LazyPattern(rf"(?<!\w)({CAPITAL}[^\W\d_]+) \Z")  # a word with a capital
LONGEST = 24  # characters of such a word
SURNAMES = ("King", "Prince", "Pope")  # behind such a word: Martin Luther King
OF_WOMEN = ("mrs", "miss", "princess", "queen")
# Behind these, any word with a capital is a name, such as Mr. White, unless it is an office.
POLITE = ("mr", "mrs", "miss", "dr", "prof")
OFFICES = (
    *("president", "chairman", "chairwoman", "speaker", "secretary", "minister", "ambassador"),
    *("vice", "mayor", "chancellor", "judge", "justice", "director", "universe", "world", "right"),
)


@cache
def find_titles(source: str | None, target: str | None) -> Mapping[str, tuple[str, bool]]:
    """Return what each title of the source is in the target, and whether it is a woman's.

    Empty if one of the languages has none here.
    """
    table = _read_titles()
    ours, theirs = (table.get(name_base(each), {}) for each in (source, target))
    return {
        each: (theirs[kind][0], kind in OF_WOMEN) for kind in theirs for each in ours.get(kind, ())
    }


@cache
def make_pattern(source: str | None, target: str | None) -> re.Pattern[str]:
    """Return a pattern of the titles of the source, each up to the name behind it."""
    longest_first = sorted(find_titles(source, target), key=len, reverse=True)
    forms = "|".join(map(re.escape, longest_first)) or "(?!)"
    return re.compile(rf"(?<!\w)({forms})[ \u00a0](?!Kong\b)")


@cache
def list_polite(source: str | None) -> frozenset[str]:
    """Return the titles of a language behind which any word is a name."""
    kinds = _read_titles().get(name_base(source), {})
    return frozenset(form for kind in POLITE for form in kinds.get(kind, ()))


@cache
def list_no_names(source: str | None) -> frozenset[str]:
    """Return what is no name even with a capital behind such a title."""
    return frozenset([*OFFICES, *WORDS.get(name_base(source), ())])


@cache
def find_articles(target: str | None) -> tuple[LazyPattern, LazyPattern] | None:
    """Return what finds words that have to fit the title behind them, and articles in front.

    None if a title of the target language changes no word.
    """
    code = name_base(target)
    kinds = _read_titles().get(code, {})
    articles = [forms[0] for forms in kinds.values() if forms[0].startswith(("le ", "la "))]
    women = [kinds[kind][0] for kind in OF_WOMEN if kind in kinds]
    men = [each[3:] for each in articles if each.startswith("le ")]
    fitted = FITTED.get(code, {})
    if not fitted:
        return None
    following = {
        False: rf" (?:{'|'.join(women)})\b",
        True: rf" (?:{'|'.join(men)}) {CAPITAL}",
    }
    behind = [
        rf"{word}(?={_VOWEL if word.endswith(' ') else following[' ' in word]})" for word in fitted
    ]
    first = rf"(?:{'|'.join(articles)}) (?={CAPITAL})" if articles else "(?!)"
    name = rf"(?P<name>(?:{CAPITAL}[\w'\u2019-]{{0,{LONGEST}}} )?)"
    return LazyPattern(rf"\b{name}\b(?P<word>{'|'.join(behind)})"), LazyPattern(first)


def fit_articles(text: str, target: str | None) -> str:
    """Return a translation whose words fit its titles: "du roi", and "Chère Mme Lopez"."""
    if not (patterns := find_articles(target)):
        return text
    behind, first = patterns
    words = FITTED[name_base(target) or ""]

    def fit(match: re.Match[str]) -> str:
        is_part = bool(match["name"]) and match["word"].endswith(" ")  # Catalina de Aragon
        return match[0] if is_part else match["name"] + words[match["word"]]

    text = behind.sub(fit, text)
    return text[0].upper() + text[1:] if first.match(text) else text


def join_titles(
    text: str,
    parts: Sequence[Verbatim],
    languages: tuple[str | None, str | None],
    is_word: Callable[[str], bool],
) -> tuple[list[Verbatim], dict[Verbatim, str]]:
    """Return the parts of a text, names with their titles, and how these are written.

    What stands behind a title is a name, known or not, unless it is an office, Mr. President, or
    the title is a rank, and `is_word` says of the name in small letters that it is another word.
    """
    titles, written, end = find_titles(*languages), dict[Verbatim, str](), 0
    particles, no_names = compile_particles(languages[0]), list_no_names(languages[0])
    polite = list_polite(languages[0])
    for match in make_pattern(*languages).finditer(text):
        first = WORD.match(text, _skip(text, match.end(), particles))
        if match.start() < end or not first:
            continue
        small = first[0].lower()
        if small in no_names if match[1] in polite else is_word(small):
            continue
        name = BEFORE.search(text, max(0, match.start() - LONGEST), match.start())
        if match[1] in SURNAMES and name and not is_word(name[1].lower()):
            continue
        end = _end_name(text, match.end(), particles)
        if end > match.end():
            title, is_woman = titles[match[1]]
            part = Verbatim(match.start(), end, "woman" if is_woman else "name")
            written[part] = f"{title} {text[match.end() : end]}"
    ends = [each.end for each in written]
    titled = [*written]

    def is_apart(part: Verbatim) -> bool:
        following = bisect_right(ends, part.start)  # the first that does not end before it
        return following == len(titled) or titled[following].start >= part.end

    joined = join_lists(text, sorted([*filter(is_apart, parts), *titled]), written)
    return joined, written


def join_lists(
    text: str, parts: Sequence[Verbatim], titled: Collection[Verbatim]
) -> list[Verbatim]:
    """Return the parts of a text, those of a long list of names as one but for the last name.

    Four stand-ins in a row are too many: of "Aya, Noor, Priya and Zeynep" two are left.
    """
    ends = {each.end: each for each in parts if each.kind == "name" and each not in titled}
    joined = list[Verbatim]()
    for match in LIST.finditer(text):
        items = [*LISTED.finditer(match[0])]
        own = [ends.get(match.start() + item.end()) for item in items]
        known = [item[0] in read_first_names() for item in items]
        if any(own) and all(map(any, zip(own, known, strict=True))):
            start = own[0].start if own[0] else match.start()
            joined.append(Verbatim(start, match.end(), "name"))
    apart = [each for each in parts if not any(x.start <= each.start < x.end for x in joined)]
    return sorted([*apart, *joined])


@cache
def _read_titles() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(read_text(Path(__file__).with_name("titles.toml")))


def _end_name(text: str, start: int, particles: LazyPattern) -> int:
    """Return where the words with a capital end that begin here, each after one space."""
    end, at = start, _skip(text, start, particles)
    while (word := WORD.match(text, at)) and word[0][:1].isupper():
        end = at + len(POSSESSIVE.sub("", word[0]))
        if end < word.end() or text[end : end + 1] not in (" ", "\u00a0"):
            break
        at = _skip(text, end + 1, particles)
    return end


def _skip(text: str, at: int, particles: LazyPattern) -> int:
    lead = particles.match(text, at)
    return lead.end() if lead else at

"""Adapting: a sentence as people write it becomes one as the model knows them, and back.

What its translation has to repeat is read as stand-ins, and capitals or a title as a sentence in
the usual case. Most sentences need neither, which is seen at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..foundation.extensions import find_addition
from ..model.files.directory import Tokenizers
from ..model.files.known_words import read_known_names, read_known_words
from ..text.casing import (
    Case,
    capitalize,
    find_case,
    has_capital,
    is_capitalized,
    is_usual,
    lower_first,
    put_case_back,
    to_small,
    truecase,
)
from ..text.colons import COLON, is_label, strip_colon, write_colon
from ..text.final_stops import choose_stop, find_usual_stop, strip_stop
from ..text.patterns import LazyPattern
from ..text.spacing import is_unspaced, name_base
from ..text.stand_ins import (
    NAMES,
    StandIn,
    StandIns,
    cut_at_stand_ins,
    fit_genitive,
    has_each_once,
    replace_parts,
    stand_for_amount,
    stand_for_name,
)
from ..text.typography import Typography, close_quote, open_quote, shape_marks
from ..text.unicode import Span, join_spans
from ..text.verbatim import (
    CAPITAL_NOUNS,
    FOREIGN,
    Verbatim,
    find_names,
    find_verbatim,
    is_new_word,
    read_first_names,
)

if TYPE_CHECKING:
    from ..data.glossary import Glossary, TermPlace

WITH_ARTICLES = ("fr",)  # where no noun begins a sentence or has a capital: Pierre is a name
MOST_CUTS = 10_000  # words whose tokens are kept
TRIES = 3  # searches with other stand-ins
LEAST_CAPITALS = 0.03  # of the tokens that begin a word
SMALL_NUMBER = 1  # digits: a model translates so small a number, perhaps with a word
SHORT_NUMBER = 4  # digits
LONGEST_ACRONYM = 4  # letters of an acronym that is also a known word, as nasa may be
# Kinds that a network is left with if there is no stand-in.
PLAIN_KINDS = ("name", "location", "woman", "number", "formula", "reference", "sign")
BEFORE_PLACE = LazyPattern(
    r"(?:^|\s)(?:in|In|near|à|nach|(?:been|bus|dr(?:ive|iving|ove)|fl(?:ew|ight|y|ying)|get|go|goes"
    r"|going|gone|mov(?:e|ed|ing)|train|travel(?:l?ed|l?ing)?|trip|way|went) to"
    r"|(?:ate|bought|buy|eat|met|stud(?:y|ied|ies|ying))(?: \w{1,9}){0,2} at)\s$"
)
LONGEST_BEFORE = 40  # characters
TOWNS = ("Charlotte", "Florence", "Sofia", "Victoria", "Virginia")  # that are first names, too
ADDRESSED = LazyPattern(r",\s+[^\W\d_]+\W*$")  # Kind regards, Rose
LETTER = LazyPattern(r"^[^\w\s]*[A-HJ-Za-hj-z][^\w\s.!?]*$|^P\.[ -]{0,2}S\.?:?$")  # but I
# At the end of a sentence, as often as they were typed.
LAST_MARKS = LazyPattern(r"(?<![!?])[!?]{2,}$|(?<![.…])(?:\.{3,}|…)$")
LAST_MARK, LAST_DOTS = LazyPattern(r"(?<![!?])[!?]+$"), LazyPattern(r"(?<![.…])[.…]+$")
JOINT = "\ua7f7"  # a letter that no text has, where a stand-in was
_DIGIT = LazyPattern(r"\d")
_FIRST_WORD = LazyPattern(r"[^\W\d_]+")


class AdaptedSentence(NamedTuple):
    """A sentence as the network reads it, and what is to be put back in its translation."""

    text: str
    origins: Sequence[Span] | None = None  # in the sentence, of each character; None: the same
    case: Case | None = None
    stand_ins: tuple[StandIn, ...] = ()
    asides: tuple[Span, ...] = ()  # in `text`: what is taken out, and placed by the alignment
    repeated: tuple[str, ...] = ()  # numbers that the network has to write as it reads them
    stop: str = ""  # at the end of `text`: the mark that the sentence lacks
    behind: str = ""  # what a translation has in the place of that mark: a colon
    terms: tuple[str, ...] = ()  # of a glossary: sources whose targets are put back, too
    forms: tuple[tuple[str, str], ...] = ()  # parts with terms, and what is put back for them

    @property
    def is_only_stand_ins(self) -> bool:
        """Return whether there is nothing to translate beside what is repeated."""
        texts = (text for text, _ in cut_at_stand_ins(self.text, self.stand_ins))
        return bool(self.stand_ins) and not any(map(str.isalnum, "".join(texts)))

    def is_copied(self, prefix: str) -> bool:
        """Return whether a translation that begins with `prefix` is only what is repeated."""
        parts = cut_at_stand_ins(self.text, self.stand_ins)
        return self.is_only_stand_ins and "".join(map("".join, parts)).startswith(prefix)

    def list_repeated(self) -> list[StandIn]:
        """Return what is left as it is in a translation: stand-ins, and what was taken out."""
        asides = dict.fromkeys(self.text[slice(*span)] for span in self.asides)
        written = {aside: aside for aside in asides}
        for aside, (own, form) in product(asides, self.forms):
            written[aside] = written[aside].replace(own, form)
        return [*self.stand_ins, *map(StandIn, asides, written.values())]


class Adapter:
    """A reader of sentences as one model knows them, and a writer of its translations."""

    def __init__(
        self,
        tokenizers: Tokenizers,
        languages: tuple[str | None, str | None],
        folder: Path | None,
    ) -> None:
        """folder: that of the model, which may list the words of its training text."""
        self.tokenizers, self.folder = tokenizers, folder
        self.languages = self.source_lang, self.target_lang = languages
        self._cuts = dict[str, list[int]]()

    @cached_property
    def is_cased(self) -> bool:
        """Return whether the training text had words with capitals, as most text has."""
        vocabulary = self.tokenizers.source.vocabulary
        firsts = Counter(token[1:2] for token in vocabulary if token[:1] == " ")
        capitals = sum(count for first, count in firsts.items() if has_capital(first))
        return capitals >= LEAST_CAPITALS * firsts.total() > 0

    @cached_property
    def has_letters(self) -> bool:
        """Return whether the training text had letters, and not only numbers."""
        return any(token.strip().isalpha() for token in self.tokenizers.source.vocabulary)

    @cached_property
    def words(self) -> Collection[str] | None:
        """Return the words of the training text, lower-cased; None if they are not listed."""
        return read_known_words(self.folder) if self.folder else None

    @cached_property
    def known_names(self) -> Collection[str]:
        """Return names of the training text, which are no other word in small letters."""
        return read_known_names(self.folder) if self.folder else ()

    @cached_property
    def stand_ins(self) -> StandIns:
        """Return the stand-ins that are tokens of both sides."""
        return StandIns(lambda word: all(each.has_token(word) for each in self.tokenizers))

    @cached_property
    def full_names(self) -> Any:
        """Return what finds names of several parts; None if no extension does."""
        return find_addition("full_names")

    @cached_property
    def days(self) -> Any:
        """Return what finds days and writes them; None if no extension does."""
        both = self.tokenizers.source.has_token, self.tokenizers.target.has_token
        make = find_addition("days")
        return make((self.source_lang, self.target_lang), both) if make else None

    @cached_property
    def fit_articles(self) -> Any:
        """Return what writes the articles of titles; None if no extension does."""
        return find_addition("fit_articles")

    @cached_property
    def join_titles(self) -> Any:
        """Return what joins names with their titles; None if no extension does."""
        return find_addition("titles")

    @cached_property
    def has_names(self) -> bool:
        """Return whether names can be told from other words, and are written alike in both."""
        known = self.stand_ins.copies or self.stand_ins.names
        is_capital_noun = name_base(self.source_lang) in CAPITAL_NOUNS
        return bool(known) and not is_capital_noun and not is_unspaced(self.target_lang)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Return how often the training text had characters; nothing if they were not counted."""
        characters = self.tokenizers.source.normalization.characters
        return characters.counts if characters and characters.is_counted else {}

    @cached_property
    def signs(self) -> Any:
        """Return what finds signs that are read as words; None if no extension does."""
        make = find_addition("signs")
        has_token = self.tokenizers.source.has_token

        def is_word(word: str) -> bool:
            return word in self.words if self.words is not None else has_token(f" {word}")

        return make(self.languages, self.counts, has_token, is_word) if make else None

    @cached_property
    def usual_stop(self) -> str:
        """Return the mark at the end of nearly all sentences of the training text, or ""."""
        return find_usual_stop(self.counts, self.tokenizers.source.has_token)

    @cached_property
    def colon(self) -> str:
        """Return the colon of a translation if the training text had hardly any, or ""."""
        return write_colon(self.counts, self.target_lang) if self.usual_stop else ""

    def adapt(
        self, sentence: str, attempt: int = 0, glossary: Glossary | None = None
    ) -> AdaptedSentence | None:
        """Return a sentence as the model knows such; None if it is one already.

        attempt: from 0; each has other stand-ins, and from TRIES on none: then what they stood for
        is taken out, and behind TRIES left to the network. An imported model reads what its own
        toolkit would give it. glossary: the targets of its terms are put back in names.
        """
        if not self.tokenizers.source.has_character_map:
            return None
        places = glossary.locate(sentence) if glossary else []
        signs = self.signs.find(sentence) if self.signs else ()
        if signs := [each for each in signs if not _is_within(each[0], places)]:
            read, origins = replace_parts(sentence, *zip(*signs, strict=True))
            places = glossary.locate(read) if glossary else []
            adapted = self._adapt(read, attempt, places) or AdaptedSentence(read)
            spans = adapted.origins or [(place, place + 1) for place in range(len(read))]
            return adapted._replace(origins=[join_spans(origins, span) for span in spans])
        return self._adapt(sentence, attempt, places)

    def _adapt(
        self, sentence: str, attempt: int, places: Sequence[TermPlace]
    ) -> AdaptedSentence | None:
        adapted = self._replace(sentence, attempt, places)
        if adapted and adapted.is_only_stand_ins:
            return adapted
        read = adapted.text if adapted else sentence
        if dots := LAST_MARKS.search(read) if read.endswith((".", "…")) else None:
            behind, bare = dots[0], read[: dots.start()].rstrip()
        else:
            behind = self.colon if read.endswith(COLON) else ""
            bare = strip_colon(read) if behind else read
        stop = choose_stop(bare, self.usual_stop, None if behind else self.source_lang)
        if not stop:
            return adapted
        adapted = adapted or AdaptedSentence(sentence)
        spans = adapted.origins or [(place, place + 1) for place in range(len(sentence))]
        end = spans[len(bare)][0] if behind else len(sentence), len(sentence)
        origins = [*spans[: len(bare)], end]
        return adapted._replace(text=bare + stop, origins=origins, stop=stop, behind=behind)

    def _replace(
        self, sentence: str, attempt: int, places: Sequence[TermPlace]
    ) -> AdaptedSentence | None:
        """Return a sentence in its usual case with stand-ins; None if it needs neither."""
        parts, case = find_verbatim(sentence), None
        if not places and self._is_copied(sentence, parts):
            return AdaptedSentence(sentence, stand_ins=(StandIn(sentence, sentence),))
        if parts or not is_usual(sentence):
            kept = sorted([*parts, *find_names(sentence, self._is_known_acronym, parts)])
            case = self._find_case(sentence, kept)
        cased = self._truecase(sentence, kept, case) if case else sentence
        days = self._find_days(cased, attempt, places)
        parts = [each for each in parts if not _is_left(cased, each) and not _is_in(each, days)]
        parts = sorted([*parts, *days, *self._find_foreign(cased, [*parts, *days])])
        left = [x for x in parts if attempt == TRIES - 1 and _is_short_number(cased, x)]
        parts = [each for each in parts if each not in left]
        parts, known, titled = self._add_names(cased, parts, case)
        if attempt:  # the network has written them otherwise: Tom for Thomas
            parts, known = sorted([*parts, *known]), []
        repeats = parts, [*left, *known]
        parts, left, written, terms = self._join_terms(sentence, places, repeats, titled)
        repeated = tuple(cased[part.start : part.end] for part in left)
        if not parts:
            return AdaptedSentence(cased, None, case, repeated=repeated) if case or left else None
        inside = [each for each in parts if each in written or not _is_apart(cased, each)]
        chosen = self._choose(cased, inside, days, attempt)
        if chosen is None:  # what has no stand-in is taken out, or left to the network
            inside, chosen = [], []
            if attempt != TRIES:
                parts, terms = [x for x in parts if x not in written and _is_odd(x, attempt)], ()
        text, origins = replace_parts(cased, inside, chosen)
        forms = titled | written
        originals = [forms.get(part, sentence[part.start : part.end]) for part in inside]
        asides = tuple(_place_apart(cased, parts, inside, chosen))
        stand_ins = [
            days.get(part) or self._stand_in(part.kind, *pair)
            for part, *pair in zip(inside, chosen, originals, strict=True)
        ]
        own = tuple((cased[part.start : part.end], form) for part, form in written.items())
        back = tuple(stand_ins), asides, repeated
        return AdaptedSentence(text, origins, case, *back, terms=terms, forms=own)

    def _join_terms(
        self,
        text: str,
        places: Sequence[TermPlace],
        repeated: tuple[Sequence[Verbatim], Sequence[Verbatim]],
        titled: Mapping[Verbatim, str],
    ) -> Any:
        """Return the parts of a text, joined with the terms in them; see `place_terms`."""
        join = find_addition("place_terms") if places else None
        names = NAMES if self.has_names else ()
        return join(text, places, repeated, titled, names) if join else (*repeated, {}, ())

    def _is_copied(self, sentence: str, parts: Sequence[Verbatim]) -> bool:
        """Return whether a sentence is its own translation: 1 + 1 = 2, a letter, <br>, (Y/N)."""
        is_formula = self.has_letters and not any(map(str.isalpha, sentence))
        is_letter = self.is_cased and LETTER.search(sentence)  # not of a model that learned letters
        is_copied = is_formula or bool(is_letter) or bool(self.colon and is_label(sentence))
        return is_copied or _is_all_apart(sentence, parts)

    def _add_names(
        self, text: str, parts: list[Verbatim], case: Case | None
    ) -> tuple[list[Verbatim], list[Verbatim], Mapping[Verbatim, str]]:
        """Return the parts of a text with its names, known names, and how titles are written."""
        titled = dict[Verbatim, str]()
        if not self.has_names or self._is_common(text):
            return parts, [], titled
        if self.full_names:
            full = self.full_names(text, self.source_lang, self._is_word_in_front)
            parts = sorted([*parts, *(each for each in full if not _is_in(each, parts))])
        parts = sorted([*parts, *self._find_names(text, parts)])
        if case in (None, "lower") and self.join_titles:
            parts, titled = self.join_titles(text, parts, self.languages, self._is_word)
        parts = [each if each in titled else _find_kind(text, each) for each in parts]
        ways = self._belongs, lambda word, _: self._is_surname(word, True)
        named = find_names(text, self._is_known_name, parts, *ways)
        return parts, [_find_kind(text, each) for each in named], titled

    def _find_names(self, text: str, taken: Sequence[Verbatim]) -> Iterator[Verbatim]:
        return find_names(text, self._is_name, taken, self._belongs, self._is_surname)

    def _is_word_in_front(self, word: str) -> bool:
        """Return whether a word that begins a sentence is one, and no name."""
        is_word = self.words is not None and self._lower(word) in self.words
        return is_word and not self._is_listed_name(word, True)

    def _find_foreign(self, text: str, taken: Collection[Verbatim]) -> Iterator[Verbatim]:
        """Yield words in a script of which the model knows no letter."""
        if text.isascii() or not self.has_names:
            return
        for match in FOREIGN.finditer(text):
            part = Verbatim(match.start(), match.end(), "foreign")
            unknown = self.tokenizers.source.find_unknown(match[0])
            if all(x in unknown for x in filter(str.isalpha, match[0])) and not _is_in(part, taken):
                yield part

    def _find_days(
        self, text: str, attempt: int, places: Sequence[TermPlace]
    ) -> dict[Verbatim, StandIn]:
        is_possible = attempt < TRIES - 1 and _DIGIT.search(text) and self.days
        days = self.days.find(text, attempt) if is_possible else {}
        return {part: own for part, own in days.items() if not _is_in(part, places)}

    def _choose(
        self,
        text: str,
        parts: Sequence[Verbatim],
        days: Mapping[Verbatim, StandIn],
        attempt: int,
    ) -> list[str] | None:
        """Return a stand-in for each part; None if there are not enough, or no tries left."""
        others = [part for part in parts if part not in days]
        chosen = self.stand_ins.choose(text, others, attempt) if attempt < TRIES else None
        if chosen is None:
            return None
        rest = iter(chosen)
        return [days[part].text if part in days else next(rest) for part in parts]

    def _stand_in(self, kind: str, text: str, own: str) -> StandIn:
        if text in NAMES:
            return stand_for_name(text, own, self.target_lang)
        if kind == "time" and self.days:
            return self.days.stand_for_time(own, text)
        return stand_for_amount(text, own, kind, self.target_lang)

    def restore(
        self,
        adapted: AdaptedSentence | None,
        sentence: str,
        translation: str,
        kind: Typography = "source",
        prefix: str = "",
    ) -> str:
        """Return a translation with the case, the marks and the parts of its sentence.

        prefix: what it was to begin with.
        """
        if adapted and adapted.is_copied(prefix):
            if not (adapted.terms or prefix):
                return sentence
            translation = adapted.text
        case = adapted.case if adapted else None
        if adapted and adapted.stop:
            translation = strip_stop(translation, adapted.stop) + adapted.behind
        segments = [*cut_at_stand_ins(translation, adapted.list_repeated() if adapted else ())]
        shaped = [text for text, _ in segments]
        if JOINT not in translation:  # marks belong to the whole, also around a stand-in
            shaped = shape_marks(sentence, JOINT.join(shaped), self.target_lang, kind).split(JOINT)
        if case:
            shaped = [put_case_back(text, case, self.target_lang) for text in shaped]
        if case == "lower":
            shaped[0] = lower_first(shaped[0], self._cut_target, self.target_lang)
        elif sentence[:1].isupper() and self.has_names and not prefix:
            shaped[0] = capitalize(shaped[0], self.target_lang)
        for n, (_, own) in enumerate(segments[:-1], 1):
            shaped[n] = fit_genitive(shaped[n], own, self.target_lang, sentence)
        if marks := LAST_MARKS.search(sentence):
            last = LAST_DOTS if marks[0][0] in ".…" else LAST_MARK
            shaped[-1] = last.sub(marks[0], shaped[-1])
        joined = "".join(text + own for text, (_, own) in zip(shaped, segments, strict=True))
        if self.fit_articles:
            joined = self.fit_articles(joined, self.target_lang)
        return close_quote(sentence, open_quote(sentence, joined))

    def adapt_translation(
        self, adapted: AdaptedSentence | None, translation: str, *, is_begun: bool = False
    ) -> tuple[str, Sequence[Span] | None]:
        """Return a translation as the network would have written it, and where that came from.

        It is what `restore` was given, as far as that can be told: with stand-ins, not in capitals.
        is_begun: it is the beginning of one, and may end within what a stand-in stands for.
        """
        if adapted is None:
            return translation, None
        parts = list[Verbatim]()
        for pair in adapted.stand_ins:
            if (start := translation.find(pair.original)) >= 0:
                end = start + len(pair.original)
                parts.append(Verbatim(start, end, pair.said or pair.text))
        parts.sort()
        if is_begun:
            parts += self._find_half(adapted.stand_ins, translation, parts)
        if any(one.end > two.start for one, two in pairwise(parts)):
            parts = []
        if adapted.case == "upper":
            own = self._cut_target, None, self.target_lang
            translation = truecase(translation, "upper", *own)
        text, origins = replace_parts(translation, parts, [part.kind for part in parts])
        if adapted.behind and text.endswith((COLON, adapted.behind)):
            text = strip_colon(text.removesuffix(adapted.behind))
            origins = [*origins[: len(text)]]
        if adapted.stop and not is_begun and text[-1:].isalnum():
            space = " " * (adapted.stop == "?" and self.tokenizers.target.has_token(" ?"))
            text += space + adapted.stop
            origins += [(len(translation), len(translation))] * (len(space) + 1)
        return text, origins

    def _find_half(
        self, stand_ins: Sequence[StandIn], text: str, taken: Sequence[Verbatim] = ()
    ) -> list[Verbatim]:
        """Return the end of a text that begins what a stand-in stands for, if it is no word."""
        end, at = len(text), taken[-1].end if taken else 0
        for pair in stand_ins:
            for start in range(max(at, end - len(pair.original) + 1), end - 1):
                half, word = text[start:], to_small(text[start:].strip(), self.target_lang)
                is_word = word.isalpha() and self.tokenizers.target.has_token(f" {word}")
                begins = not text[:start][-1:].isalnum() and pair.original.startswith(half)
                if begins and not is_word and pair.original not in text:
                    return [Verbatim(start, end, pair.said or pair.text)]
        return []

    def fit_prefix(
        self, adapted: AdaptedSentence | None, sentence: str, prefix: str
    ) -> AdaptedSentence | None:
        """Return a sentence whose stand-ins stand for what a prefix has; see `extensions.terms`."""
        fit = find_addition("fit_prefix") if adapted and prefix else None
        return fit(adapted, sentence, prefix, self._find_half) if fit else adapted

    def is_whole(self, adapted: AdaptedSentence | None, translation: str, prefix: str = "") -> bool:
        """Return whether all that a translation has to repeat is in it, once.

        prefix: what it was to begin with, where no stand-in may stand for something else.
        """
        if adapted is None:
            return True
        others = [each for each in adapted.stand_ins if each.text != each.original]
        if [*cut_at_stand_ins(prefix, others)][1:]:
            return False
        if adapted.is_copied(prefix):
            return True
        if not all(number in translation for number in adapted.repeated):
            return False
        return has_each_once(translation, adapted.stand_ins)

    def _find_case(self, sentence: str, parts: Sequence[Verbatim]) -> Case | None:
        if not self.is_cased:
            return None
        case = find_case(_blank(sentence, parts), self._cut, self.source_lang)
        begins = any(not part.start for part in parts)  # small letters are usual behind it
        is_addressed = case == "title" and ADDRESSED.search(sentence)
        return None if is_addressed or (case == "lower" and begins) else case

    def _truecase(self, sentence: str, parts: Sequence[Verbatim], case: Case) -> str:
        """Return the sentence in its usual case; its parts stay as they are."""
        own = self._cut, self.words, self.source_lang
        text, at, left = truecase(_blank(sentence, parts), case, *own), 0, ""
        for start, end, _ in parts:
            left, at = left + text[at:start] + sentence[start:end], end
        return left + text[at:]

    def _is_common(self, sentence: str) -> bool:
        """Return whether the only word with a capital is the first, and a token: no rare name."""
        first = _FIRST_WORD.search(sentence)
        has_token = self.tokenizers.source.has_token
        if first is None or (is_usual(sentence) and has_token(f" {first[0]}")):
            return first is None or first[0] in NAMES or not self._is_listed_name(first[0], False)
        return False

    def _is_name(self, word: str, is_first: bool) -> bool:
        """Return whether a word is a name that training did not have, or not often enough."""
        own = is_first, self.source_lang
        is_new = self.words is not None and is_new_word(word, self.words, *own)
        if self._is_listed_name(word, is_first):
            return is_new or not self._is_word(word)
        return self._is_acronym(word) if word.isupper() else is_new

    def _is_acronym(self, word: str) -> bool:
        """Return whether capitals like NASA are no token, and no word with emphasis like SO."""
        has_token = self.tokenizers.source.has_token
        small = self._lower(word)
        if self.words is not None and small not in self.words:
            return True  # SIM, though sim may be a token: the beginning of simple
        is_known = self.words is not None and len(word) > LONGEST_ACRONYM
        return not (is_known or has_token(f" {word}") or has_token(f" {small}"))

    def _is_known_acronym(self, word: str, _: bool) -> bool:
        return word.isupper() and word in self.known_names

    def _is_known_name(self, word: str, is_first: bool) -> bool:
        """Return whether a word is a name that the network knows, and may yet translate."""
        return word not in NAMES and self._is_word(word) and self._is_listed_name(word, is_first)

    def _belongs(self, word: str, is_first: bool) -> bool:
        """Return whether a word is a part of the name beside it: a name that is known."""
        is_stand_in = word in NAMES and not (is_first and self._is_word(self._lower(word)))
        return is_stand_in or self._is_listed_name(word, is_first)

    def _is_surname(self, word: str, is_repeated: bool) -> bool:
        """Return whether a word with a capital behind a name is one, being none of another kind.

        is_repeated: whether a translation has to have that name.
        """
        small = self._lower(word)
        low, high = self._cut([small, word])
        has_nouns = name_base(self.source_lang) not in WITH_ARTICLES
        is_sure = is_repeated and not has_nouns and not word.isupper()
        return is_sure or not is_capitalized(small, low, high, self.words)

    def _is_listed_name(self, word: str, is_first: bool) -> bool:
        """Return whether a word is a name of the training text, or a frequent first name."""
        first, *others = word.split("-")
        is_first_name = first in read_first_names() and all(map(has_capital, others))
        if word in self.known_names or not is_first_name:
            return word in self.known_names
        may_be_word = is_first and name_base(self.source_lang) not in WITH_ARTICLES
        return bool(others) or not (may_be_word and self._is_word(self._lower(word)))

    def _lower(self, word: str) -> str:
        return to_small(word, self.source_lang)

    def _is_word(self, word: str) -> bool:
        return self.tokenizers.source.has_token(f" {word}")

    def _cut(self, words: Sequence[str]) -> list[list[int]]:
        if len(self._cuts) > MOST_CUTS:
            self._cuts.clear()
        if missing := [word for word in dict.fromkeys(words) if word not in self._cuts]:
            rows = self.tokenizers.source.encode_many(missing)
            self._cuts |= dict(zip(missing, rows, strict=True))
        return [self._cuts[word] for word in words]

    def _cut_target(self, words: Sequence[str]) -> list[list[int]]:
        return self.tokenizers.target.encode_many(words)


def _find_kind(sentence: str, part: Verbatim) -> Verbatim:
    """Return a name as that of a place, if the word before it says so."""
    start, (first, *others) = part.start, sentence[part.start : part.end].split()
    is_owner = sentence.startswith(("'", "\u2019"), part.end)
    is_full = others or (first not in TOWNS and sentence.startswith("to ", start - 3))  # go to Dave
    is_person = part.kind != "name" or is_owner or (is_full and first in read_first_names())
    near = max(0, start - LONGEST_BEFORE)
    is_location = not is_person and BEFORE_PLACE.search(sentence, near, start)
    return part._replace(kind="location") if is_location else part


def _is_all_apart(sentence: str, parts: Sequence[Verbatim]) -> bool:
    """Return whether each letter and digit of a sentence is in a tag, or in brackets as (Y/N)."""
    apart = [each for each in parts if _is_apart(sentence, each)]
    left, _ = replace_parts(sentence, apart, [""] * len(apart)) if apart else (sentence, [])
    return bool(apart) and not any(map(str.isalnum, left))


def _is_apart(sentence: str, part: Verbatim) -> bool:
    """Return whether a part has no place in the grammar: a tag, or one in brackets of its own."""
    return part.kind == "tag" or _is_bracketed(sentence, part)


def _is_bracketed(sentence: str, part: Verbatim) -> bool:
    around = sentence[max(0, part.start - 1) : part.start] + sentence[part.end : part.end + 1]
    return around in ("()", "[]")


def _place_apart(
    sentence: str, parts: Sequence[Verbatim], inside: Sequence[Verbatim], chosen: Sequence[str]
) -> Iterator[Span]:
    """Yield the span of each part without a stand-in, with its brackets, in the new text."""
    grown, stand_ins = 0, dict(zip(inside, chosen, strict=True))
    for part in parts:
        if part in stand_ins:
            grown += len(stand_ins[part]) - (part.end - part.start)
        else:
            wider = _is_bracketed(sentence, part)
            yield part.start + grown - wider, part.end + grown + wider


def _is_left(sentence: str, part: Verbatim) -> bool:
    """Return whether a part is left to the network: a number of one digit."""
    own = sentence[part.start : part.end]
    return own.isdecimal() and len(own) <= SMALL_NUMBER and not _is_bracketed(sentence, part)


def _is_in(part: Verbatim, others: Collection[Verbatim] | Sequence[TermPlace]) -> bool:
    return any(other.start < part.end and part.start < other.end for other in others)


def _is_odd(part: Verbatim, attempt: int) -> bool:
    """Return whether a part without a stand-in is taken out, and not left to the network."""
    return attempt < TRIES and part.kind not in PLAIN_KINDS


def _is_within(part: Verbatim, places: Sequence[TermPlace]) -> bool:
    return any(place.start <= part.start and part.end <= place.end for place in places)


def _is_short_number(sentence: str, part: Verbatim) -> bool:
    """Return whether a part is a number that a network may well know, and write as it is."""
    own = sentence[part.start : part.end]
    return own.isdecimal() and len(own) <= SHORT_NUMBER and not _is_bracketed(sentence, part)


def _blank(sentence: str, parts: Sequence[Verbatim]) -> str:
    """Return a sentence with its parts as digits, which have no case."""
    left, at = "", 0
    for start, end, _ in parts:
        left, at = left + sentence[at:start] + "0" * (end - start), end
    return left + sentence[at:]

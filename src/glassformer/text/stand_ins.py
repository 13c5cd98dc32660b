"""Stand-ins for what a translation repeats: links, numbers and names that a model cannot copy.

A model that was trained with copy tokens (`data.copies`) copies these. Another one reads a name or
a number that it has often seen, such as Tom or 30, which it writes as it is; afterwards the
stand-in is replaced with what it stood for. A translation in which a stand-in is missing, or there
twice, is no translation of the sentence: see `has_each_once`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..config import MOST_COPIES
from .patterns import LazyPattern
from .spacing import name_base
from .unicode import Span
from .verbatim import Verbatim

FIRST_COPY = 0xF0000  # copy tokens are characters for private use
# Often in collections of sentences, and written alike in most languages with this alphabet.
NAMES = ("Tom", "Mary", "Boston", "Ken", "John", "Maria", "Paul", "Peter", "Anna", "Berlin")
NUMBERS = ("30", "50", "100", "40", "60", "15", "12", "25", "18", "20", "500", "300")
PLACES = ("Boston", "Berlin")
WOMEN = ("Anna", "Maria", "Mary")
SPELLINGS = (
    ("Mary", "Maria", "Marie"),
    ("John", "Johannes"),
    ("Peter", "Pierre"),
    ("Anna", "Anne"),
)
GENITIVE = ("de", "nl", "sv", "da", "nb", "nn", "no")  # languages with an s behind a name of whose
# Behind names that end like these, German has an apostrophe and no s.
SIBILANTS, OWNED = ("s", "ß", "x", "z", "ce"), LazyPattern(r"[sS](?!\w)")
YEARS = ("1990", "1914", "1945", "2013")
DIGITS = 4  # of a number that another one is near to
YEAR = LazyPattern("1[0-9]{3}|20[0-9]{2}")
OF_NUMBERS = ("number", "time", "date", "phone", "version", "formula")
# What a network may write behind a number that it reads alone, by language: "Il me doit 30 ans."
NOUNS = {
    "fr": "ans?|heures?|minutes?|euros?|dollars?",
    "de": "Jahren?|Uhr|Stunden?|Minuten?|Euro|Dollar",
    "en": "years?|o'clock|hours?|minutes?|euros?|dollars?",
}
AMOUNTS = ("number", "phone", "date", "version", "formula")
# More than a number: it has a unit or a sign, or is a code such as 0042.
AMOUNT = LazyPattern(r"[^\d.,\u00a0\u202f '’+\u2212±\u2013-]|^0\d|\d{4}-\d{4}")
NUMERIC = LazyPattern(
    r"%(?:\d+\$)?[-+#0']*\d*(?:\.\d+)?(?:hh?|ll?|z)?[diufeEgG]|\{(?:n|count|num|number|total)\}"
)


class StandIn(NamedTuple):
    """A part of a sentence, and what the network reads and writes in its place."""

    text: str
    original: str
    said: str = ""  # what the network writes for it, if that is something else
    pattern: str = ""  # of what it writes, if that is one of several things
    names: tuple[tuple[str, str], ...] = ()  # words of both, and what they are shown as

    @property
    def shown(self) -> tuple[tuple[str, str], ...]:
        """Return the words that are shown as others where one looks into the network."""
        return self.names or ((self.text, self.original),)


def list_copies(count: int) -> list[str]:
    """Return the characters that are the copy tokens of a model."""
    return [chr(FIRST_COPY + number) for number in range(count)]


class StandIns:
    """The stand-ins that one model knows: copy tokens, or words that it writes as they are."""

    def __init__(self, is_known: Callable[[str], bool]) -> None:
        """is_known: whether a word is one token, for the source and for the target."""
        self.copies = [each for each in list_copies(MOST_COPIES) if is_known(each)]
        self.names = [each for each in NAMES if is_known(f" {each}")]
        self.numbers = [each for each in NUMBERS if is_known(f" {each}")]
        self.years = [each for each in YEARS if is_known(f" {each}")]

    def choose(self, text: str, parts: Sequence[Verbatim], attempt: int = 0) -> list[str] | None:
        """Return a stand-in for each part of a text, all different; None if there are not enough.

        attempt: from 0; each chooses other ones, as far as there are others. Of several names, it
        is the first that changes: Tom and Mary, then Mary and Tom.
        """
        taken, chosen = set[str](), list[str]()
        for part in parts:
            own = text[part.start : part.end]
            pool = [each for each in self._list(own, part.kind, attempt) if each not in taken]
            free = [each for each in pool if each == own or not _is_in(text, each)]
            if not free:
                return None
            is_best = free[0] in self.copies or (free[0] in NAMES and bool(taken & {*NAMES}))
            chosen.append(free[0 if is_best else attempt % len(free)])
            taken.update(list_names_written(chosen[-1]))
        return chosen

    def _list(self, own: str, kind: str, attempt: int) -> list[str]:
        """Return what may stand for a part, the best first: of numbers, the nearest."""
        if attempt == 0 and self.copies:
            return self.copies
        if kind == "placeholder" and NUMERIC.fullmatch(own):
            return self.numbers
        if kind not in OF_NUMBERS:
            preferred = {"location": PLACES, "woman": WOMEN}.get(kind, ())
            return sorted(self.names, key=lambda name: (name not in preferred, name in PLACES))
        if not own.isdecimal() or len(own) > DIGITS:
            return self.numbers
        numbers = self.years if YEAR.fullmatch(own) else self.numbers
        return sorted(numbers, key=lambda number: abs(int(number) - int(own)))


def list_names_written(name: str) -> Sequence[str]:
    """Return what a network may write for a name, the name itself first: Maria for Mary."""
    others = next((each for each in SPELLINGS if name in each), ())
    return [name, *(each for each in others if each != name)]


def stand_for_name(text: str, original: str, language: str | None) -> StandIn:
    """Return a stand-in for a name.

    language: that of the target, which may write Toms for Tom's.
    """
    ending = "s?" if name_base(language) in GENITIVE else ""
    spellings = "|".join(list_names_written(text))
    pattern = rf"(?<![\w])(?<!\d[.,])(?:{spellings})(?={ending}(?!\w|[.,:]\d))"
    return StandIn(text, original, pattern=pattern)


def fit_genitive(behind: str, name: str, language: str | None, source: str) -> str:
    """Return the text behind a name as German has it, with the apostrophe of the source: James'."""
    is_bare = name_base(language) == "de" and name.lower().endswith(SIBILANTS)
    if not (is_bare and OWNED.match(behind)):
        return behind
    return ("\u2019" if "\u2019" in source else "'") + behind[1:]


def stand_for_amount(text: str, original: str, kind: str, language: str | None) -> StandIn:
    """Return a stand-in for a part; behind one with a unit, no noun of the network's own stays.

    language: that of the target. kind: that of the part.
    """
    nouns = NOUNS.get(name_base(language))
    if not nouns or kind not in AMOUNTS or not text.isdecimal() or not AMOUNT.search(original):
        return StandIn(text, original)
    behind = rf"(?:[ \u00a0\u202f](?:{nouns})(?!\w))?"
    return StandIn(text, original, pattern=rf"(?<!\w)(?<!\d[.,]){text}{behind}(?!\w|[.,:]\d)")


def replace_parts(
    text: str, parts: Sequence[Verbatim], stand_ins: Sequence[str]
) -> tuple[str, list[Span]]:
    """Return a text with each part replaced, and the spans that its characters came from."""
    left, origins, at = list[str](), list[Span](), 0
    for part, stand_in in zip(parts, stand_ins, strict=True):
        left += [text[at : part.start], stand_in]
        origins += [(place, place + 1) for place in range(at, part.start)]
        origins += [(part.start, part.end)] * len(stand_in)
        at = part.end
    origins += [(place, place + 1) for place in range(at, len(text))]
    return "".join([*left, text[at:]]), origins


def has_each_once(translation: str, stand_ins: Iterable[StandIn]) -> bool:
    """Return whether a translation has each stand-in once, and as a word of its own."""
    return all(len(_find(each).findall(translation)) == 1 for each in stand_ins)


def cut_at_stand_ins(translation: str, stand_ins: Sequence[StandIn]) -> Iterator[tuple[str, str]]:
    """Yield each text of a translation up to a stand-in, and what that one stands for."""
    if stand_ins:
        either, at = "|".join(f"({_find(each).pattern})" for each in stand_ins), 0
        for match in re.finditer(either, translation):
            yield translation[at : match.start()], stand_ins[(match.lastindex or 1) - 1].original
            at = match.end()
        translation = translation[at:]
    yield translation, ""


def _is_in(text: str, stand_in: str) -> bool:
    return any(each in text for each in list_names_written(stand_in))


def _find(stand_in: StandIn) -> re.Pattern[str]:
    """Return a pattern of a stand-in that is no part of another word or number."""
    if stand_in.pattern:
        return re.compile(stand_in.pattern)
    if not stand_in.text.isalnum():
        return re.compile(re.escape(stand_in.text))
    return re.compile(rf"(?<![\w])(?<!\d[.,]){stand_in.text}(?!\w|[.,:]\d)")

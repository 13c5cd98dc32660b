"""Characters of a user's text that a model has never seen, as those that it has seen.

People type curly quotes, no-break spaces, tabs, soft hyphens and full-width letters; a network that
was trained on plain text reads each of these as bytes and loses the thread. So a source is read
through a map that fits its model: a mark becomes the one that training met for the same purpose,
any white space becomes one space, invisible characters go. A training counts the marks of its text
and keeps the counts in `characters.json`; for a model without that file its tokens are counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from unicodedata import normalize

from .final_stops import LINES, count_stops
from .patterns import LazyPattern
from .unicode import Span

# Marks of one purpose, the one on a keyboard first.
OKINAS = frozenset("\u02bb\u02bf")  # letters of Uzbek, Hawaiian and Tongan, and of romanized Arabic
APOSTROPHES = "'\u2019\u2018\u201a\u201b\u2032`\u00b4\u02bc\u02b9\u2039\u203a\uff07\u02bb\u02bf"
QUOTES = '"\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033\u301d\u301e\uff02'
HYPHENS = "-\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d"
DASHES = "\u2014\u2015\u2e3a"
ELLIPSES = "\u2026\u22ef"
CLASSES = (APOSTROPHES, QUOTES, HYPHENS, DASHES, ELLIPSES)
CLOSING = "\u201d\u00bb\u301e"
WIDE_MARKS = dict(zip(",!?:;()", "，！？：；（）", strict=True))  # of Chinese and Japanese text
PAIRS = ("\u201c\u201d", "\u00ab\u00bb", "\u201e\u201c", "\u201e\u201d", "\u00bb\u00ab")
SPELLED_OUT = {"\u2026": "...", "\u22ef": "...", "\u2025": "..", "\u203c": "!!", "\u2047": "??"}
SPELLED_OUT |= {"\u2048": "?!", "\u2049": "!?", "\u203d": "?!", "\u2e2e": "?"}
SPELLED_OUT |= {"\uff9e": "\u3099", "\uff9f": "\u309a"}  # to be composed with the kana before

SPACES = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
SPACES += "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
NARROW = "\u00a0\u202f"  # before a French mark, and between the digits of a number
JOINERS = "\u200c\u200d\ufe0e\ufe0f"  # which some scripts and pictographs need
INVISIBLE = (
    *(*range(0x00, 0x09), *range(0x0E, 0x1C), *range(0x7F, 0x85), *range(0x86, 0xA0)),
    *(*range(0xAD, 0xAE), *range(0x34F, 0x350), *range(0x61C, 0x61D), *range(0x180B, 0x180F)),
    *(*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070)),
    *(*range(0x3164, 0x3165), *range(0xFE00, 0xFE10), *range(0xFEFF, 0xFF00)),
    *(*range(0xFFF9, 0xFFFD), *range(0xE0000, 0xE0080), *range(0xE0100, 0xE01F0)),
)
# Roman numerals, ligatures, forms of Arabic and of small and wide letters, letters of formulas.
_FORMS = (
    *(range(0x2160, 0x2180), range(0xFB00, 0xFB50), range(0xFB50, 0xFE00)),
    *(range(0xFE50, 0xFEFD), range(0xFF01, 0xFFEF), range(0x1D400, 0x1D800)),
)

COUNTED = "".join(dict.fromkeys("".join((*CLASSES, *WIDE_MARKS, *WIDE_MARKS.values(), JOINERS))))
COUNTED += SPACES + "".join(mark for mark in SPELLED_OUT if mark not in COUNTED)
SELDOM = 10_000  # lines for one mark: a network learns nothing of what it meets less often
RARE = 0.2  # of the marks of one purpose: a rarer one is read as the most frequent
STRAY = 0.02  # of the same, where one is a letter: more of the other have a purpose of their own
_UNUSUAL = "[^!-~ ]|  |^ | $"
_SEVERAL = LazyPattern(r" {2,}")
_STRAIGHT = LazyPattern(r'(^|[\s(\[{\u2014\u2013-])?"')


def watch_characters(lines: Iterable[str], counts: dict[str, int]) -> Iterator[str]:
    """Yield the lines, and add to `counts` how often each mark of COUNTED occurs, and stops."""
    batch: list[str] = []
    for line in lines:
        batch.append(line)
        if len(batch) == 10_000:
            _count_lines(batch, counts)
            batch.clear()
        yield line
    _count_lines(batch, counts)


def _count_lines(lines: Sequence[str], counts: dict[str, int]) -> None:
    _count(lines, counts)
    count_stops(lines, counts)


def _count(texts: Iterable[str], counts: dict[str, int]) -> None:
    joined = "".join(texts)
    for mark in COUNTED:
        if (number := joined.count(mark)) or mark in OKINAS:  # earlier counts have none of these
            counts[mark] = counts.get(mark, 0) + number


class CharacterMap:
    """A map from what people type to the characters that one side of a model has seen.

    counts: how often that side of the training text has each mark of COUNTED; if that is not known
    (is_counted=False), how often its tokens have it. is_known: whether a character is a token.
    is_source: whether white space is made uniform, too; a target keeps its own. keeps_narrow:
    whether no-break spaces that are tokens stay what they are.
    """

    def __init__(
        self,
        counts: Mapping[str, int],
        is_known: Callable[[str], bool],
        *,
        is_source: bool,
        is_counted: bool = True,
        keeps_narrow: bool = False,
    ) -> None:
        self.counts, self.is_known, self.is_source = counts, is_known, is_source
        self.is_counted, self.keeps_narrow = is_counted, keeps_narrow

    @cached_property
    def table(self) -> dict[int, str]:
        """Return the replacement of each character that is replaced, by its code."""
        marks = self._marks
        forms = ((old, "".join(marks.get(x, x) for x in new)) for old, new in self._map_forms())
        pairs = chain(forms, self._map_spaces(), marks.items())
        return {ord(old): new for old, new in pairs if old != new}

    @cached_property
    def _marks(self) -> dict[str, str]:
        """Return the replacements of marks that are seldom or never in the training text."""
        marks = dict(self._map_quotes())
        for each in (APOSTROPHES, HYPHENS, DASHES, ELLIPSES):
            marks |= self._map_class(each)
        for narrow, wide in WIDE_MARKS.items():
            if self.is_known(wide) and not self.is_known(narrow):
                marks[narrow] = wide
        return marks

    @cached_property
    def _is_unusual(self) -> Callable[[str], object]:
        """Return what finds a character that may be replaced: most texts have none."""
        plain = "".join(old for old, new in self._marks.items() if old.isascii() and old != new)
        return re.compile(f"[^!-~ ]|  |^ | $|[{re.escape(plain)}]" if plain else _UNUSUAL).search

    @cached_property
    def _pair(self) -> str:
        """Return the quotes, opening and closing, that the training text has most."""
        return max(PAIRS, key=lambda pair: min(self.counts.get(mark, 0) for mark in pair))

    def clean(self, text: str) -> str:
        """Return a text in the characters that the model knows, as far as there are such."""
        if not self._is_unusual(text):
            return text
        text = self._point_quotes(text).translate(self.table)
        return _SEVERAL.sub(" ", text).strip(" ") if self.is_source else text

    def clean_with_spans(self, text: str) -> tuple[str, list[Span]]:
        """Return `clean(text)`, and for each of its characters the span that it came from.

        What goes without a trace belongs to the character behind it, at the end to the last one.
        """
        if not self._is_unusual(text):
            return text, [(at, at + 1) for at in range(len(text))]
        left, spans, begin = list[str](), list[Span](), 0
        for at, old in enumerate(self._point_quotes(text)):
            for new in self.table.get(ord(old), old):
                if self.is_source and new == " " and (not left or left[-1] == " "):
                    continue
                left.append(new)
                spans.append((begin, at + 1))
            begin = begin if not spans or spans[-1][1] <= at else at + 1
        if self.is_source and left and left[-1] == " ":
            left.pop()
            spans.pop()
        if spans:
            spans[-1] = (spans[-1][0], len(text))
        return "".join(left), spans

    def to_json(self) -> dict[str, str]:
        """Return the whole map, for a program that has only tables."""
        return {chr(code): new for code, new in sorted(self.table.items())}

    def _point_quotes(self, text: str) -> str:
        """Return a text whose straight quotes have a direction, if the model knows only such."""
        if '"' not in text or '"' not in self._marks:
            return text
        before, behind = tuple(self._pair)
        return str(_STRAIGHT.sub(lambda at: behind if at[1] is None else at[1] + before, text))

    def _map_forms(self) -> Iterator[tuple[str, str]]:
        """Yield each unknown form of a character with what it stands for, if that is known."""
        for code in chain(*_FORMS):
            old = chr(code)
            new = normalize("NFKC", old)
            if new != old and not self.is_known(old) and all(map(self.is_known, new)):
                yield old, new
        dash = " - " if self.is_known("-") else " "
        for old, new in (SPELLED_OUT | dict.fromkeys(DASHES, dash)).items():
            if not self._is_met(old):
                yield old, new

    def _is_met(self, mark: str) -> bool:
        """Return whether a mark is a token that a source's training text has now and then.

        Of a dash, a network keeps the place also if it met few: that was better than a hyphen.
        """
        has_limit = self.is_source and self.is_counted and mark not in DASHES
        least = self.counts.get(LINES, 0) / SELDOM if has_limit else 0
        return self.is_known(mark) and self.counts.get(mark, 0) >= least

    def _map_spaces(self) -> Iterator[tuple[str, str]]:
        for space in SPACES:
            if not self.is_known(space) or (
                self.is_source and not (self.keeps_narrow and space in NARROW)
            ):
                yield space, " "
        for code in INVISIBLE:
            old = chr(code)
            if not self.is_known(old) or (self.is_source and old not in JOINERS):
                yield old, ""

    def _list_rare(self, marks: str) -> tuple[str, list[str]]:
        """Return the most frequent of some marks, and those that are to become it."""
        main = max(marks, key=lambda mark: self.counts.get(mark, 0))
        most = self.counts.get(main, 0) if self.is_source else 0
        kept = main, *(x for x in OKINAS if x not in self.counts and self.is_known(x))
        limits = {x: most * (RARE if OKINAS.isdisjoint((x, main)) else STRAY) for x in marks}
        return main, [x for x in marks if self.counts.get(x, 0) <= limits[x] and x not in kept]

    def _map_class(self, marks: str) -> dict[str, str]:
        main, rare = self._list_rare(marks)
        is_spelled_out = marks in (DASHES, ELLIPSES) and not self._is_met(main)
        return {} if is_spelled_out else dict.fromkeys(rare, main)

    def _map_quotes(self) -> Iterator[tuple[str, str]]:
        main, rare = self._list_rare(QUOTES)
        for mark in rare:
            yield mark, main if main == '"' else self._pair[mark in CLOSING]


def count_in_tokens(vocabulary: Iterable[str]) -> dict[str, int]:
    """Return how often each mark occurs in a vocabulary, for a model that was not counted."""
    counts: dict[str, int] = {}
    _count(vocabulary, counts)
    return counts

"""Pictographs, arrows and other symbols in a sentence, which a model may not know.

A sentence with a character that training lacked often becomes nonsense. So unknown symbols are no
part of what the network reads. Those before and behind a sentence stay where they are, as the text
between sentences does. Behind may also mean before the last mark: the "!" of "Happy 🎉!" is
translated with the sentence, and the symbol follows it. Those within a sentence are set aside, and
placed in the translation by its alignment: see `align.symbols`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from .patterns import LazyPattern
from .unicode import Span

# Arrows, technical signs, shapes, dingbats and emoji, but neither brackets nor numbers in circles.
_SIGN = (
    "[\u2190-\u21ff\u2300-\u2328\u232b-\u23ff\u2500-\u2767\u2794-\u27bf\u2900-\u297f\u2b00-\u2bff"
)
_SIGN += "\U0001f000-\U0001f0ff\U0001f10d-\U0001faff]"
# Faces and hearts that are typed with marks, apart from words: :-) <3
_MARKED = r">?[:;]['o^-]?[)(DPpOo/\\|*]++|=\)++|[xX]D++|</?3++|\^[_-]?\^|-_-|>_<|;_;|_{3,}+|\\o/"
_BEFORE, _AFTER = rf"(?<![^\s{_SIGN[1:-1]}\ufe0f])", rf"(?![^\s.,!?…\"”»{_SIGN[1:-1]}])"
_EMOTICON = rf"{_BEFORE}(?:{_MARKED}){_AFTER}"
EMOTICON = LazyPattern(_EMOTICON)
_GLUED = rf"(?<=[^\W\d_]|[!?.…])[:;]-?[)(DP]++{_AFTER}"  # to a word, where no bracket is open
_ANY_FACE = LazyPattern(rf"{_EMOTICON}|{_GLUED}")
OPENING = LazyPattern(r"(?<![:;'o^-])\(")
_OF_EMOTICONS = frozenset(":;=<>^_\\D")  # each has one of these
# What people end a sentence with: faces and hands, but no heart, which may be its verb.
_FACES = "[\U0001f44b-\U0001f44f\U0001f600-\U0001f64f\U0001f910-\U0001f92f\U0001f970-\U0001f97a]"
FACE, EMOJI, HEART = (LazyPattern(x) for x in (rf"(?![<_]){_EMOTICON}", _FACES, "<3"))
_JOINED = "[\u200d\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f]"  # to the sign before, or with the next
_SYMBOL = rf"(?:{_SIGN}|[0-9#*]\ufe0f?\u20e3){_JOINED}*+|{_EMOTICON}"


def _compile_symbols(symbol: str) -> tuple[LazyPattern, LazyPattern]:
    """Return what finds runs of symbols, and such runs within a sentence or in brackets."""
    some = rf"(?:{symbol}|[©®™•]{_JOINED}*+)"
    run = rf"(?:{symbol})(?:\s*+(?:{symbol}))*+\s*+"
    runs = rf"{some}(?:\s*+{some})*+"
    return LazyPattern(run), LazyPattern(rf"\s*+(?P<aside>\({runs}\)|{runs})\s*+")


RUN, ASIDE = _compile_symbols(_SYMBOL)
LOOSE_RUN, LOOSE_ASIDE = _compile_symbols(rf"{_SYMBOL}|{_GLUED}")
_HINT = LazyPattern(f"{_SIGN[:-1]}\u20e3©®™•]")
FEW = 80  # characters in which there are two words
TOUCHES_NEXT, TOUCHES_FORMER = "([{«“„¿¡", ".,;:!?…)]}»”’"
MARKS = LazyPattern(r"[.!?…‥。！？｡؟।]")
END = LazyPattern(rf"{MARKS.pattern}{{0,3}}")
# What signs may part: words, numbers and placeholders, but not single letters, as in formulas.
_PARTED = (
    r"(?<=[\w)\]}%.!?…\"”])(?<!\b[^\W\d_])",
    r"(?=[\w(\[{%@$#\"“])(?![^\W\d_]\b(?! [^\W\d_]{2}))",
)
_ANGLES = "«»‹›"
# Where a slash parts no labels: more than a few words, brackets or quotes within a text.
PROSE = LazyPattern(r"(?:^|\s/\s)(?:(?!/\s)\S++\s*+){5}|(?<=.)[(\[\"“„«][^()\[\]\"“”„«»/]*+/\s")
MOVED = LazyPattern(rf"\s*+{RUN.pattern}(?P<marks>{MARKS.pattern}{{1,3}}+)(?!{MARKS.pattern})")


def find_symbol_runs(text: str) -> list[re.Match[str]]:
    """Return the runs of symbols; a face may touch a word where no bracket is open."""
    return [*(RUN if OPENING.search(text) else LOOSE_RUN).finditer(text)]


def has_emoticon(text: str) -> bool:
    """Return whether a text has a face or a heart that is typed with marks."""
    return not _OF_EMOTICONS.isdisjoint(text) and _ANY_FACE.search(text) is not None


def is_new_emoticon(text: str, has_token: Callable[[str], bool]) -> bool:
    """Return whether a text has emoticons, of which a tokenizer has none as a token."""
    runs = EMOTICON.findall(text)
    return bool(runs) and not any(has_token(run) or has_token(f" {run}") for run in runs)


def _ends(text: str, run: re.Match[str]) -> bool:
    """Return whether symbols behind which a text goes on end a sentence of it."""
    behind = text[run.end() : run.end() + 1]
    if not (run[0][-1:].isspace() and behind.isalnum()):
        return False
    if FACE.search(run[0]):
        return True
    is_emoji = EMOJI.search(run[0]) is not None
    if not behind.isupper():
        return is_emoji and text[:1].islower()  # its writer uses no capitals
    before = text[max(0, run.start() - FEW) : run.start()]
    return is_emoji or bool(HEART.search(run[0]) and len(before.split()) > 1)


def strip_symbols(
    text: str, is_unknown: Callable[[str], object], labels: LazyPattern | None = None
) -> Span:
    """Return the span of a sentence without its label and the unknown symbols at its edges.

    text: without white space around it. Symbols within the sentence stay; the marks behind symbols
    are part of them. labels: see `sentence_rules.find_list_labels`.
    """
    label = labels.match(text) if labels else None
    start, end = label.end() if label else 0, len(text)
    begin = start
    if text.isascii() and not has_emoticon(text):
        return start, end
    for run in reversed(find_symbol_runs(text)):
        is_first, is_last = run.start() == begin, END.fullmatch(text, run.end(), end)
        if not (is_first or is_last) or not is_unknown(run[0]):
            continue
        if is_first:
            start = min(run.end(), end)
        else:
            end = len(text[: run.start()].rstrip())
    return start, end


def split_behind_faces(text: str, is_unknown: Callable[[str], object]) -> list[Span]:
    """Return the spans of the sentences of a text that unknown faces part: "Thanks :) See you".

    Each but the last ends with its faces. A heart or an emoji ends one only before a capital, and
    a heart none of one word: "I <3 Paris".
    """
    if text.isascii() and not has_emoticon(text):
        return [(0, len(text))]
    first = next((place for place, each in enumerate(text) if each.isalnum()), len(text))
    ends = [
        run.end()
        for run in find_symbol_runs(text)
        if run.start() > first and _ends(text, run) and is_unknown(run[0])
    ]
    return [*zip([0, *ends], [*ends, len(text)], strict=True)]


@cache
def compile_separators(own_quotes: tuple[str, str]) -> LazyPattern:
    """Return what finds signs that may part words; those in `own` do, though a model knows them.

    own_quotes: those of the language; if they are others, « and » are such signs.
    """
    angles = "" if own_quotes[0] in _ANGLES else f"|[{_ANGLES}]"
    own = rf"(?P<own>::|(?P<slash>/(?=\s[A-ZÀ-ÖØ-ÞΑ-ΩА-Я])){angles})"
    signs = rf"(?:{own}|[|→⇒•·]|>>|[-=]>|>(?!\s{{1,3}}\d))"
    before, behind = _PARTED
    return LazyPattern(rf"(?:{before}\s{{1,3}}|^){signs}(?:\s{{1,3}}{behind}|\s*+$)")


def split_at_separators(
    text: str, is_unknown: Callable[[str], object], own_quotes: tuple[str, str] = ("“", "”")
) -> Iterator[Span]:
    """Yield the spans of what signs between words part: "File > Save", "Home | News"."""
    signs = compile_separators(own_quotes).finditer(text)
    cuts = [each for each in signs if each["own"] or is_unknown(each[0].strip())]
    if "/" in text and PROSE.search(text):
        cuts = [each for each in cuts if not each["slash"]]
    is_quoted = any(left in text and right in text for left, right in ("«»", "‹›"))
    if is_quoted and all((each["own"] or "|") in _ANGLES for each in cuts):
        cuts = []
    starts, ends = [0, *(cut.end() for cut in cuts)], [*(cut.start() for cut in cuts), len(text)]
    yield from (span for span in zip(starts, ends, strict=True) if span[0] < span[1])


class Enclosure(NamedTuple):
    """A span with its opening and its closing mark, and the marks to be put in the translation."""

    start: int
    end: int
    marks: tuple[str, str]
    comma: str  # what the network reads in the place of a mark
    widths: tuple[int, int] = (1, 1)  # of the marks in the text

    @property
    def both(self) -> tuple[Span, Span]:
        """Return the spans of the two marks."""
        opening, closing = self.widths
        return (self.start, self.start + opening), (self.end - closing, self.end)


class Aside(NamedTuple):
    """Symbols that were taken out of a text, and the gap between what is left on either side."""

    symbols: str
    gap: Span  # in the text that is left
    spaced: tuple[bool, bool]  # whether white space was before and behind
    around: Span | None = None  # what it encloses together with another one, in what is left

    @property
    def is_opening(self) -> bool:
        return self.around is not None and self.gap[1] <= self.around[0]


class SetAside(NamedTuple):
    """A text without its unknown symbols; `origins` are the spans that its characters came from."""

    text: str
    origins: list[Span]
    asides: list[Aside]


def set_aside(
    text: str,
    is_unknown: Callable[[str], object],
    parts: Sequence[Span] = (),
    enclosures: Iterable[Enclosure] = (),
) -> SetAside | None:
    """Return a text without its unknown symbols; None if it has none, or nothing else.

    parts: what is taken out as well, in order, without white space at the edges. enclosures: words
    whose marks are taken out, unless others of these are in the way.
    """
    spans = [*parts]
    if (not text.isascii() and _HINT.search(text)) or has_emoticon(text):
        pattern = ASIDE if OPENING.search(text) else LOOSE_ASIDE
        spans += [
            run.span("aside")
            for run in pattern.finditer(text)
            if is_unknown(run["aside"]) and not touches(run.span("aside"), parts)
        ]
    spans.sort()
    taken = {*parts}
    marks = [
        each
        for each in enclosures
        if all(both in taken or not touches(both, spans) for both in each.both)
    ]
    spans += [both for each in marks for both in each.both if both not in taken]
    return _take_out(text, sorted(spans), marks) if spans else None


def touches(span: Span, others: Sequence[Span]) -> bool:
    """Return whether a span has characters in common with one of others, which are in order."""
    before = bisect_left(others, (span[1], 0))
    return before > 0 and others[before - 1][1] > span[0]


def _take_out(text: str, spans: Sequence[Span], enclosures: Sequence[Enclosure]) -> SetAside | None:
    """Return a text without some spans, each set aside; None if no letter or digit is left."""
    left, origins, asides, at = list[str](), list[Span](), list[Aside](), 0
    commas = {place: each.comma for each in enclosures for place, _ in each.both}
    for first, last in spans:
        begin, stop = first, last
        while begin > at and text[begin - 1].isspace():
            begin -= 1
        while stop < len(text) and text[stop].isspace():
            stop += 1
        left += text[at:begin]
        origins += [(i, i + 1) for i in range(at, begin)]
        at, start = stop, len(left)
        spaced = begin < first, last < stop
        if gap := _choose_gap(text, (begin, stop), spaced):
            if commas.get(first):
                left.append(commas[first])
                origins.append((first, last))
            left.append(gap)
            origins.append((stop - spaced[1], stop))
        is_spaced = text[max(0, first - 1) : first].isspace(), spaced[1]  # also behind a former one
        asides.append(Aside(text[first:last], (start, len(left)), is_spaced))
    left += text[at:]
    origins += [(i, i + 1) for i in range(at, len(text))]
    bare = "".join(left)
    _join_marks(asides, spans, enclosures)
    return SetAside(bare, origins, asides) if any(map(str.isalnum, bare)) else None


def _join_marks(
    asides: list[Aside], spans: Sequence[Span], enclosures: Sequence[Enclosure]
) -> None:
    """Tell each opening mark and its closing one what they enclose, and how they are written."""
    numbers = {first: number for number, (first, _) in enumerate(spans)}
    for each in enclosures:
        both = [numbers[place] for place, _ in each.both]
        around = asides[both[0]].gap[1], asides[both[1]].gap[0]
        for number, mark in zip(both, each.marks, strict=True):
            asides[number] = asides[number]._replace(symbols=mark, around=around)


def _choose_gap(text: str, span: Span, spaced: tuple[bool, bool]) -> str:
    """Return what is between the texts on both sides of symbols that are taken out."""
    before, behind = text[max(0, span[0] - 1) : span[0]], text[span[1] : span[1] + 1]
    if not before or not behind or before in TOUCHES_NEXT:
        return ""
    if behind in TOUCHES_FORMER:
        return " " * spaced[1]
    return " " * (any(spaced) or (before.isalnum() and behind.isalnum()))


def find_moved_marks(text: str, spans: Sequence[Span]) -> list[Span]:
    """Return the span of the marks that belong to each sentence, though symbols stand between.

    It is empty at the end of a sentence that has no such marks.
    """
    moved_marks: list[Span] = []
    limits = [*(start for start, _ in spans[1:]), len(text)]
    for (start, end), limit in zip(spans, limits, strict=False):
        moved = None if text.isascii() else MOVED.match(text, end)
        is_open = start < end and not MARKS.match(text[end - 1])
        moved_marks.append(
            moved.span("marks") if moved and is_open and moved.end() <= limit else (end, end)
        )
    return moved_marks

"""The splitting of a sentence that is too long for a network: at clauses, if possible."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import ceil
from unicodedata import category

from .patterns import LazyPattern
from .tokenizer import Tokens
from .unicode import Span

_CLOSED = "[\"'”’»)\\]]*+"
_CLAUSE = LazyPattern(
    rf"[,;:–!?…،؛]{_CLOSED}(?=\s)|(?<=\w\w\w)\.{_CLOSED}(?=\s)|—|[，；：、。！？][”’）」』]*+"
)
_SPACE = LazyPattern(r"\s++")


def split_clauses(text: str, most: int, read: Callable[[str], Tokens]) -> list[Span]:
    """Return the spans of parts with at most `most` tokens, separated by nothing or white space.

    Parts are about equally long. They end at clauses where that is possible, or else at white
    space, or else between two tokens. A single character with more tokens than `most`, such as a
    letter with a thousand accents, is in none of them. A token of the whole may have more alone.
    """
    spans = read(text).spans
    if len(spans) <= most:
        return [(0, len(text))]
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    places = [
        [match.end() for match in _CLAUSE.finditer(text)],
        [match.start() for match in _SPACE.finditer(text)],
        sorted({*starts, len(text)}),
    ]
    parts: list[Span] = []
    begin = 0
    while begin < ends[-1]:  # symbols that are set aside may follow
        first = bisect_right(ends, begin)
        room, end, tokens = most, begin, most + 1
        while room and tokens > most:  # the tokens of a part may differ from those of the whole
            if end != (end := _choose_end(places, ends, begin, first, room)):
                tokens = len(read(text[begin:end]).ids)
            room -= 1
        if tokens <= most or not is_one_letter(text[begin:end]):
            parts.append((begin, end))
        gap = _SPACE.match(text, end)
        begin = gap.end() if gap else end
    return parts


def is_one_letter(text: str) -> bool:
    """Return whether a text is one character and the accents on it."""
    return all(category(accent).startswith("M") for accent in text[1:])


def _choose_end(
    places: Sequence[Sequence[int]], ends: Sequence[int], begin: int, first: int, room: int
) -> int:
    """Return the end of the part that starts at `begin`, in token `first`: `room` tokens at most.

    The end is of the best kind that occurs there, and of that kind the nearest to an equal share.
    """
    rest = len(ends) - first
    if rest <= room:
        return ends[-1]
    share = ceil(rest / ceil(rest / room))
    ideal, limit = ends[first + share - 1], ends[first + room - 1]
    for kind in places:
        there = kind[bisect_right(kind, begin) : bisect_right(kind, limit)]
        if there:
            return min(there, key=lambda place: abs(place - ideal))
    last = places[-1]
    return last[bisect_right(last, begin)]

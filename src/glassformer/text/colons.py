"""Colons, for a network whose training text hardly has any: what is before one is a sentence.

Such a network loses the thread behind one. So each part is read as a sentence of its own, the first
with a full stop for its colon, and its translation has the colon again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .final_stops import LINES
from .patterns import LazyPattern
from .spacing import is_unspaced, name_base
from .unicode import Span

COLON = ":"
RARE = 0.01  # colons a line of the training text
_SPACES = " \u00a0\u202f"
BEHIND = LazyPattern(rf"(?<=[\w*~])[{_SPACES}]?:(?=\s)")
LABEL = LazyPattern(r"[^\W\d_]:")
_INK = LazyPattern(r"\S")
PAIRS = {'"': '"', "(": ")", "[": "]", "{": "}", "“": "”", "«": "»"}
_MARKS = {*PAIRS, *PAIRS.values()}


def write_colon(counts: Mapping[str, int], language: str | None) -> str:
    """Return how a translation has a colon; "" if the sources of the training text had enough.

    counts: of characters in the training text, and of its lines. language: of the translation.
    """
    if not 0 <= counts.get(COLON, 0) < RARE * counts.get(LINES, 0):
        return ""
    return "：" if is_unspaced(language) else " :" if name_base(language) == "fr" else COLON


def split_at_colons(text: str) -> Iterator[Span]:
    """Yield the spans of the parts of a sentence; each but the last ends with its colon.

    A colon within quotes or brackets parts nothing, nor does one with a word on one side only.
    """
    begin = at = 0
    last = max((place for place, each in enumerate(text) if each.isalnum()), default=0)
    counts, has_letter = dict.fromkeys(_MARKS, 0), False
    for match in BEHIND.finditer(text):
        before, at = text[at : match.end()], match.end()
        has_letter |= any(map(str.isalpha, before))
        for mark in _MARKS:
            counts[mark] += before.count(mark)
        if has_letter and last >= at and _is_closed(counts):
            yield begin, at
            behind = _INK.search(text, at)
            begin = behind.start() if behind else len(text)
            counts, has_letter = dict.fromkeys(_MARKS, 0), False
    yield begin, len(text)


def strip_colon(text: str) -> str:
    """Return a sentence without the colon at its end."""
    return text.removesuffix(COLON).rstrip(_SPACES) if text.endswith(COLON) else text


def is_label(text: str) -> bool:
    """Return whether a text is one letter and a colon, as before questions and answers."""
    return bool(LABEL.fullmatch(text))


def _is_closed(counts: Mapping[str, int]) -> bool:
    pairs = ((counts[one], counts[two], one == two) for one, two in PAIRS.items())
    return all(one % 2 == 0 if are_same else one == two for one, two, are_same in pairs)

"""Symbols that were set aside, placed in the translation by its alignment; see `text.symbols`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from ...text.spacing import is_eastern
from ...text.symbols import Aside, SetAside
from .alignments import Alignments, ParallelText
from .marked_words import CLOSING, MarkedLink, find_marked_words
from .pairs import Attending

_ALIGNMENTS = Alignments()
LAST_MARKS = " \u00a0\u202f.!?…。！？"
_REST = re.compile(r"(?:[^\s.,;:!?…)\]}»”]|[.,:](?=\w))*")  # of a word, with what hyphens join


def place_symbols(model: Attending, folder: Path | None, source: SetAside, message: str) -> str:
    """Return a translation with the symbols that were set aside from its source, in their order.

    folder: that of the model. Without it, or without attention, they are placed in proportion.
    """
    links = list[MarkedLink]()
    if folder and model.config.model.attending_layers:
        spans = (0, len(source.text)), (0, len(message))
        whole = ParallelText(source.text, message, (spans,), (source.text,))
        (links,) = _ALIGNMENTS.align(folder, model, [whole])
    written, at = "", 0
    for aside in source.asides:
        place = max(at, _find_place(source.text, aside, message, links))
        written, at = written + message[at:place], place
        left, right = written[-1:], message[at : at + 1]
        needs_left = left and not left.isspace() and (aside.spaced[0] or _meet(left, aside.symbols))
        is_open = right and not (right.isspace() or right in CLOSING)
        needs_right = is_open and (aside.spaced[1] or _meet(aside.symbols, right))
        written += " " * bool(needs_left) + aside.symbols + " " * bool(needs_right)
    return written + message[at:]


def _meet(left: str, right: str) -> bool:
    """Return whether two texts would become one word or number."""
    return left[-1:].isalnum() and right[:1].isalnum()


def _find_place(text: str, aside: Aside, message: str, links: Sequence[MarkedLink]) -> int:
    """Return where in the translation symbols belong.

    It is behind the word aligned with the source word before them, else before the one aligned with
    the next source word, which has them first if they touch it; else a proportional place.
    """
    ends, words = [end for _, end in find_marked_words(text)], find_marked_words(message)
    before = bisect_right(ends, aside.gap[0])
    if before < len(ends) and not any(map(str.isalnum, text[aside.gap[1] :])):
        return len(message.rstrip(LAST_MARKS))  # in front of the last mark here, too
    if before in (0, len(ends)):
        return len(message) if before else 0
    left, right = (
        sorted(t for s, t, _ in links if s == word and message[words[t][0]] not in CLOSING)
        for word in (before - 1, before)
    )
    if right and (not left or aside.spaced == (True, False)):
        place = words[right[0]][0]
    else:
        place = words[left[-1]][1] if left else round(len(message) * before / len(ends))
    around = message[max(0, place - 1) : place + 1]
    if around[:1].isspace() or any(map(is_eastern, around)):
        return place
    rest = _REST.match(message, place)
    return rest.end() if rest else place

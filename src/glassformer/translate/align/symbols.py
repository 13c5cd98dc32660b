"""Symbols that were set aside, placed in the translation by its alignment; see `text.symbols`."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from ...text.patterns import LazyPattern
from ...text.spacing import EAST, SOUTH_EAST, TOUCHING, is_eastern
from ...text.symbols import Aside, SetAside
from ...text.unicode import Span
from .alignments import Alignments, ParallelText
from .marked_words import CLOSING, TIED, MarkedLink, find_marked_words, find_unmarked_words
from .pairs import Attending

_ALIGNMENTS = Alignments()
LAST_MARKS = " \u00a0\u202f.!?…。！？"
# Of a word, with what hyphens join.
REST = re.compile(rf"(?:{TIED}|[^\s.,;:!?…)\]}}»”{EAST}{SOUTH_EAST}]|[.,:](?=\w))*")

TOUCHED = LazyPattern(f"[{TOUCHING}]")


def place_symbols(model: Attending, folder: Path | None, source: SetAside, message: str) -> str:
    """Return a translation with the symbols that were set aside from its source, in their order.

    folder: that of the model. Without it, or without attention, they are placed in proportion.
    """
    return _Placement(model, folder, source, message).write()


class _Placement:
    """A translation in which symbols find their places by links between words."""

    def __init__(
        self, model: Attending, folder: Path | None, source: SetAside, message: str
    ) -> None:
        self.model, self.folder, self.source, self.message = model, folder, source, message
        self.words = find_marked_words(message)

    @cached_property
    def links(self) -> list[MarkedLink]:
        """Return the links between words and marks."""
        return self._align(find_marked_words)

    @cached_property
    def source_words(self) -> list[Span]:
        return find_marked_words(self.source.text)

    @cached_property
    def word_links(self) -> list[tuple[Span, int, float]]:
        """Return the links between words alone: that of the source, the number, and the weight."""
        words = find_unmarked_words(self.source.text)
        return [(words[s], t, weight) for s, t, weight in self._align(find_unmarked_words)]

    def _align(self, find: Callable[[str], list[Span]]) -> list[MarkedLink]:
        if not (self.folder and self.model.config.model.attending_layers):
            return []
        spans = (0, len(self.source.text)), (0, len(self.message))
        whole = ParallelText(self.source.text, self.message, (spans,), (self.source.text,))
        (links,) = _ALIGNMENTS.align(self.folder, self.model, [whole], find)
        return links

    def write(self) -> str:
        """Return the translation with all symbols and tags, but for other marks around nothing."""
        written, at = "", 0
        for aside in self.source.asides:
            place = self._enclose(aside) if aside.around else self._find_place(aside)
            if place is None:
                if not aside.symbols.startswith("<"):
                    continue
                place = self._find_place(aside)  # no tag is lost
            place = max(at, place)
            written, at = written + self.message[at:place], place
            if aside.around:
                written, at = self._write_mark(aside, written, at)
            else:
                written += self._write_symbols(aside, written[-1:], self.message[at : at + 1])
        return written + self.message[at:]

    def _write_symbols(self, aside: Aside, left: str, right: str) -> str:
        text, (begin, end) = self.source.text, aside.gap
        is_tag = aside.symbols.startswith("<")
        is_spaced = aside.spaced[0] or (not is_tag and _is_apart(text[begin - 1 : begin], left))
        needs_left = left and not left.isspace() and (is_spaced or _meet(left, aside.symbols))
        is_open = right and not (right.isspace() or right in CLOSING)
        is_spaced = aside.spaced[1] or (not is_tag and _is_apart(text[end : end + 1], right))
        needs_right = is_open and (is_spaced or _meet(aside.symbols, right))
        return " " * bool(needs_left) + aside.symbols + " " * bool(needs_right)

    def _write_mark(self, aside: Aside, written: str, at: int) -> tuple[str, int]:
        """Return what is written up to a mark, and where the translation goes on.

        The comma that the network read for a bracket goes with it.
        """
        if "," in self.source.text[slice(*aside.gap)]:
            if aside.is_opening:
                written = re.sub(r",(\s*)$", r"\1", written)
            at += not aside.is_opening and self.message.startswith(",", at)
        return written + aside.symbols, at

    def _enclose(self, aside: Aside) -> int | None:
        """Return where an opening or closing mark belongs; None if what it encloses is missing."""
        begin, end = aside.around or (0, 0)
        text = self.source.text
        if not any(map(str.isalnum, text[:begin] + text[end:])):
            return 0 if aside.is_opening else self._find_end(end)
        block = self._find_block(begin, end)
        if block is None:
            return None
        if aside.is_opening:
            return block[0]
        is_last = not any(map(str.isalnum, self.message[block[1] :]))
        if is_last and end == len(text) and not text[end - 1].isalnum():
            return len(self.message)  # a last mark within
        return block[1]

    def _find_end(self, end: int) -> int:
        """Return the end of the translation, without its last marks if they were outside."""
        is_outside = bool(self.source.text[end:].strip())
        return len(self.message.rstrip(LAST_MARKS)) if is_outside else len(self.message)

    def _find_block(self, begin: int, end: int) -> Span | None:
        """Return the span of the translation that most links from a span of the source lead to.

        It has the highest sum of the weights of links with that span, less those of others, and of
        several the fewest words. None if there is none.
        """
        words = find_unmarked_words(self.message)
        values = [0.0] * len(words)
        for (left, right), word, weight in self.word_links:
            values[word] += weight if begin <= left and right <= end else -weight
        best, block, total, start = 0.0, None, 0.0, 0
        for number, value in enumerate(values):
            if total <= 0:
                total, start = 0.0, number
            total += value
            if total > best:
                best, block = total, (words[start][0], words[number][1])
        return block

    def _find_place(self, aside: Aside) -> int:
        """Return where in the translation symbols belong.

        It is behind the word aligned with the source word before them, else before the one aligned
        with the next source word, which has them first if they touch it; else a proportional place.
        """
        text, message, words = self.source.text, self.message, self.words
        ends = [end for _, end in self.source_words]
        before = bisect_right(ends, aside.gap[0])
        if before < len(ends) and not any(map(str.isalnum, text[aside.gap[1] :])):
            return len(message.rstrip(LAST_MARKS))  # in front of the last mark here, too
        if before in (0, len(ends)):
            return len(message) if before else 0
        left, right = (
            sorted(t for s, t, _ in self.links if s == word and message[words[t][0]] not in CLOSING)
            for word in (before - 1, before)
        )
        if right and (not left or aside.spaced == (True, False)):
            place = words[right[0]][0]
        else:
            place = words[left[-1]][1] if left else round(len(message) * before / len(ends))
        around = message[max(0, place - 1) : place + 1]
        if around[:1].isspace() or any(map(is_eastern, around)):
            return place
        rest = REST.match(message, place)
        return rest.end() if rest else place


def _is_apart(source: str, message: str) -> bool:
    """Return whether a letter of a message needs the space that one of the source does not."""
    return bool(TOUCHED.match(source)) and message.isalnum() and not TOUCHED.match(message)


def _meet(left: str, right: str) -> bool:
    """Return whether two texts would become one word or number."""
    return left[-1:].isalnum() and right[:1].isalnum()

"""A sample of evenly spread pairs, from which statistics of the corpus are learned."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

from .ragged import Block
from .words import split_words

LARGEST = 50_000  # pairs

Texts = Iterable[str]  # to be read several times


class Sample:
    """A sample of the pairs, and the number of lines of each side."""

    def __init__(self, source: Texts, target: Texts) -> None:
        kept: list[tuple[str | None, str | None]] = []
        every = 1
        self.counts = [0, 0]
        for number, pair in enumerate(zip_longest(source, target)):
            self.counts[0] += pair[0] is not None
            self.counts[1] += pair[1] is not None
            if number % every == 0:
                kept.append(pair)
                if len(kept) > LARGEST:
                    kept, every = kept[::2], 2 * every
        self.texts = [[pair[side] or "" for pair in kept] for side in (0, 1)]
        self.blocks = [Block(texts) for texts in self.texts]
        self.words = [split_words(block) for block in self.blocks]

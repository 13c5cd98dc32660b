"""Checks for repeats: pairs that occur twice, and lines of the validation or test text."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

import numpy as np

from glassformer.data.files import cut_chunks

from .ragged import Array, Block
from .words import DIGITS, split_words


class Repeats:
    """The hashes of all pairs, as they are and without case, punctuation and digits."""

    def __init__(self) -> None:
        self.exact, self.loose = array("q"), array("q")

    def add(self, sides: Sequence[Sequence[str]], plain: Sequence[Sequence[str]]) -> None:
        """Add a block of pairs; `plain` are both sides as `join_words` returns them."""
        self.exact.extend(map(hash, zip(*sides, strict=True)))
        self.loose.extend(map(hash, zip(*map(_hide_digits, plain), strict=True)))

    def find(self) -> tuple[Array, Array]:
        """Return the pairs that repeat an earlier one exactly, and those that nearly do."""
        exact, loose = (_find_later(hashes) for hashes in (self.exact, self.loose))
        return np.flatnonzero(exact), np.flatnonzero(loose & ~exact)


def join_words(words: Sequence[Sequence[str]]) -> list[str]:
    return [" ".join(line) for line in words]


def hash_lines(lines: Iterable[str]) -> frozenset[int]:
    """Return the hashes of lines without case and punctuation; lines without words are left out."""
    blocks = cut_chunks(lines, 10_000)
    return frozenset(
        hash(line) for block in blocks for line in join_words(split_words(Block(block))) if line
    )


def measure_shared(source: Iterable[str], target: Iterable[str]) -> float:
    """Return the share of the source's words that stand in their partner, copies left out."""
    total = shared = 0
    for ours, theirs in zip(source, target, strict=False):
        if ours != theirs:
            words = ours.split()
            total += len(words)
            their_words = set(theirs.split())
            shared += sum(word in their_words for word in words)
    return shared / max(total, 1)


def _hide_digits(lines: Sequence[str]) -> list[str]:
    return DIGITS.sub("0", "\n".join(lines)).split("\n")


def _find_later(hashes: array[int]) -> Array:
    """Return a mask of the values that occurred before."""
    later = np.ones(len(hashes), bool)
    later[np.unique(np.array(hashes, np.int64), return_index=True)[1]] = False
    return later

"""Ragged arrays: lines of unequal length as flat arrays, processed by numpy all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
MARGIN = "\n\n"  # before each line of a Block, for the trigrams at its start


@dataclass(frozen=True, eq=False)
class RaggedArray:
    """A ragged array: line i has the values from starts[i] to starts[i + 1]."""

    values: Array
    starts: Array

    @classmethod
    def join(cls, rows: Sequence[Sequence[int]], kind: type = np.uint32) -> RaggedArray:
        starts = np.zeros(len(rows) + 1, np.int64)
        np.cumsum([len(row) for row in rows], out=starts[1:])
        return cls(np.fromiter(chain.from_iterable(rows), kind, int(starts[-1])), starts)

    @classmethod
    def stack(cls, parts: Sequence[RaggedArray]) -> RaggedArray:
        ends = np.cumsum([0, *(len(part.values) for part in parts)])
        starts = [part.starts[:-1] + end for part, end in zip(parts, ends, strict=False)]
        return cls(
            np.concatenate([part.values for part in parts]), np.concatenate([*starts, ends[-1:]])
        )

    def __len__(self) -> int:
        return len(self.starts) - 1


@dataclass(frozen=True, eq=False)
class Cross:
    """The cross products of many pairs of lines: each value of a line with each of its partner's.

    The pairs are concatenated. A slot is one value of one of these lines; `left_owner` and
    `right_owner` are the pairs that the slots belong to.
    """

    pair: Array
    left: Array
    right: Array
    left_slot: Array
    right_slot: Array
    left_owner: Array
    right_owner: Array
    left_size: Array  # values on the left of each pair
    right_size: Array

    @classmethod
    def of(cls, left: RaggedArray, right: RaggedArray, i: Array, j: Array) -> Cross:
        left_size, right_size = (np.diff(left.starts)[i], np.diff(right.starts)[j])
        size = left_size * right_size
        number = np.arange(len(i))
        pair = np.repeat(number, size)
        within = np.arange(len(pair)) - np.repeat(np.cumsum(size) - size, size)
        row, column = np.divmod(within, np.maximum(right_size, 1)[pair])
        return cls(
            pair,
            left.values[left.starts[i][pair] + row],
            right.values[right.starts[j][pair] + column],
            (np.cumsum(left_size) - left_size)[pair] + row,
            (np.cumsum(right_size) - right_size)[pair] + column,
            np.repeat(number, left_size),
            np.repeat(number, right_size),
            left_size,
            right_size,
        )


class Block:
    """A block of lines as code points, each after a MARGIN; `line` is the line of each one."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.size = len(texts)
        self.lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        joined = MARGIN.join(chain(("",), texts))
        self.codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), np.uint32)
        self.starts = np.cumsum(self.lengths + len(MARGIN)) - self.lengths
        self.line = np.repeat(np.arange(self.size), self.lengths + len(MARGIN))

    def count(self, chosen: Array) -> Array:
        """Return how many code points of each line are chosen by a mask."""
        return np.bincount(self.line[chosen], minlength=self.size)

    def lines_with(self, chosen: Array) -> list[int]:
        return np.unique(self.line[chosen]).tolist() if chosen.any() else []

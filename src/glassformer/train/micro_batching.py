"""Micro-batching: a batch that does not fit in memory is cut by rows, and its parts go in turn.

The update stays the same up to rounding: a row keeps its width, and what dropout takes from it.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager

from ..data.batches import Batch
from ..device import free_memory

PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
RESERVED = 128 << 20  # bytes of memory for all that is no batch: threads, logs, files


class MicroBatching:
    """How much of a batch is done at once; None: all of it."""

    def __init__(self, most_cells: int | None = None):
        self.most_cells = most_cells

    def fit(self, batch: Batch) -> list[Batch]:
        """The batch, or parts of it that have room; without those that have no row."""
        rows = len(batch.rows)
        if not rows:
            return []
        if self.most_cells is None or batch.cells <= self.most_cells:
            return [batch]
        fitting = max(1, self.most_cells * rows // batch.cells)
        return batch.cut(-(-rows // fitting))

    def shrink(self, batch: Batch) -> None:
        """There was no room for this one. ValueError if it is a single pair."""
        rows = len(batch.rows)
        if rows == 1:
            longest = max(batch.source_BS.shape[1], batch.target_BT.shape[1] - 1)
            raise ValueError(
                f"there is not enough memory to train on a single pair of {longest} tokens: set "
                "data.max_length lower, or take a smaller model"
            )
        self.most_cells = batch.cells // rows * (rows // 2)
        free_memory()

    def describe(self, step: int) -> str:
        return (
            f"Not enough memory for a whole batch: from update {step:,} on, at most "
            f"{self.most_cells:,} of its cells at once; the result is the same, it takes longer"
        )


@contextmanager
def reserve() -> Iterator[None]:
    """Take memory away while it is tried what has room. It comes from the system, not from the
    heap, and goes back there: the heap keeps what it has had."""
    with mmap.mmap(-1, RESERVED, **PRIVATE):
        yield

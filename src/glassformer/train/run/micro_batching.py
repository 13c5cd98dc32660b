"""Micro-batching: a batch that does not fit in memory is cut by rows and processed part by part.

The update stays the same up to rounding: each row keeps its padding and its dropout mask.
"""

import mmap
from collections.abc import Iterator
from contextlib import contextmanager

from ...data.batches import Batch
from ...foundation.machine.device import free_memory

PRIVATE = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
RESERVED = 128 << 20  # bytes of memory for other uses than batches: threads, logs, files


class MicroBatching:
    """The limit of cells that are processed at once; `most_cells` None: whole batches."""

    def __init__(self, most_cells: int | None = None):
        self.most_cells = most_cells

    def fit(self, batch: Batch) -> list[Batch]:
        """Return the batch as parts that fit into memory; none if it has no rows."""
        rows = len(batch.rows)
        if not rows:
            return []
        if self.most_cells is None or batch.cells <= self.most_cells:
            return [batch]
        fitting = max(1, self.most_cells * rows // batch.cells)
        return batch.cut(-(-rows // fitting))

    def shrink(self, batch: Batch) -> None:
        """Lower the limit after memory ran out on a batch. ValueError if it is a single pair."""
        rows = len(batch.rows)
        if rows == 1:
            longest = max(batch.source_BS.shape[1], batch.target_BT.shape[1] - 1)
            raise ValueError(
                f"there is not enough memory to train on a single pair of {longest} tokens: set "
                "data.max_length lower, or take a smaller model"
            )
        self.most_cells = batch.cells // rows * (rows // 2)
        free_memory()

    def tell(self, step: int) -> str:
        return (
            f"Not enough memory for a whole batch: from update {step:,} on, at most "
            f"{self.most_cells:,} of its cells at once; the result is the same, it takes longer"
        )


@contextmanager
def reserve() -> Iterator[None]:
    """Reserve RESERVED bytes while the body tests whether batches fit into memory.

    They are mapped from the system and returned to it; the heap of this process is not used.
    """
    with mmap.mmap(-1, RESERVED, **PRIVATE):
        yield

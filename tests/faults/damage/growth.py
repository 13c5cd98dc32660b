"""Whether the time of reading grows with the length of the text, and no faster."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

FAST = 0.02  # seconds of the processor; what takes less of a text that long is not measured closer
LENGTH = 12_000  # characters
FACTOR = 2.6  # the most that twice the length may take, twice in a row
TRIES = 4  # a busy machine makes single measurements too long, never too short


def is_linear(read: Callable[[T], object], make: Callable[[int], T]) -> bool:
    """Return whether `read` takes at most FACTOR times as long for a text of twice the length.

    make: gives the input of a number of characters. The least time of some tries counts.
    """
    if _measure(read, make(LENGTH), 1) < FAST:
        return True
    inputs = [make(LENGTH), make(2 * LENGTH), make(4 * LENGTH)]
    times = [float("inf")] * 3
    for _ in range(TRIES):
        times = [
            min(best, _measure(read, each, 1)) for best, each in zip(times, inputs, strict=True)
        ]
        if times[1] <= FACTOR * times[0] and times[2] <= FACTOR * times[1]:
            return True
    return False


def _measure(read: Callable[[T], object], given: T, times: int) -> float:
    best = float("inf")
    for _ in range(times):
        begun = time.process_time()
        read(given)
        best = min(best, time.process_time() - begun)
    return best

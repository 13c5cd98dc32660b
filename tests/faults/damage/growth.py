"""Whether the time of reading grows with the length of the text, and no faster."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LENGTH = 12_000  # characters
FAST = 0.02  # seconds of the processor for so many; too short to be compared with twice as many,
LONGER = 8  # so a text that is so many times longer must end in twice as many times that
FACTOR = 2.6  # the most that twice the length may take, twice in a row
TRIES = 12  # a busy machine makes single measurements too long, never too short


def is_linear(read: Callable[[T], object], make: Callable[[int], T]) -> bool:
    """Return whether `read` takes at most FACTOR times as long for a text of twice the length.

    make: gives the input of a number of characters. The least time of some tries counts. Where a
    text leaves the processor's caches twice the length takes longer, once: so who fails at one
    length is tried at four times that, where what is not linear fails all the more.
    """
    if measure(read, make(LENGTH)) < FAST:
        longer = make(LONGER * LENGTH)
        return any(measure(read, longer) < 2 * LONGER * FAST for _ in range(TRIES))
    return _grows_in_proportion(read, make, LENGTH, TRIES) or _grows_in_proportion(
        read, make, 4 * LENGTH, TRIES // 3
    )


def _grows_in_proportion(
    read: Callable[[T], object], make: Callable[[int], T], least: int, tries: int
) -> bool:
    inputs = [make(least), make(2 * least), make(4 * least)]
    times = [float("inf")] * 3
    for _ in range(tries):
        times = [min(best, measure(read, each)) for best, each in zip(times, inputs, strict=True)]
        if times[1] <= FACTOR * times[0] and times[2] <= FACTOR * times[1]:
            return True
    return False


def measure(read: Callable[[T], object], given: T) -> float:
    """Return the seconds of processor time that this thread took to read.

    Neither what other threads of the process do counts, nor collections of garbage, which take
    the longer the more objects the tests before have left.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        begun = time.thread_time()
        read(given)
        return time.thread_time() - begun
    finally:
        if collects:
            gc.enable()

"""How long an update takes here: what turns minutes into a number of updates."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import mean, quantiles

ENOUGH = 10.0  # seconds
FEWEST = 6  # updates timed
WARM = 3  # the first ones also prepare what later ones use
STEADY = 1.3  # the middle one may take so many times the quickest quarter's time


def measure_pace(update: Callable[[int], int], most: float) -> tuple[float, bool]:
    """Seconds an update takes, and whether that was steady.

    `update` is told its number, makes it and returns how many pieces it saw: longer batches take
    longer. Timed for ENOUGH seconds or, while other work disturbs it, for `most`; then the quickest
    quarter counts, so that a disturbance that passes does not shorten the whole training.
    """
    seconds: list[float] = []
    pieces: list[int] = []
    while True:
        began = time.perf_counter()
        pieces.append(update(len(seconds) + 1))
        seconds.append(time.perf_counter() - began)
        if len(seconds) < FEWEST + WARM:
            continue
        each = [s / p for s, p in zip(seconds[WARM:], pieces[WARM:], strict=True)]
        quick, middle, _ = quantiles(each, n=4)
        is_steady = middle <= STEADY * quick
        if sum(seconds) >= (min(ENOUGH, most) if is_steady else most):
            return (middle if is_steady else quick) * mean(pieces), is_steady

"""Measurement of throughput: the time of an update, which turns minutes into updates."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import mean, median

from ..data.batches import Batch
from .log import Reporter
from .updates import Updater

ENOUGH = 5.0  # seconds
FEWEST = 6  # updates timed, if there is time
WARM = 3  # the first ones also prepare what later ones use


def measure_pace(
    update: Callable[[int], int], most: float, clock: Callable[[], float] | None = None
) -> float:
    """Return the seconds that an update takes.

    `update` makes the update of a given number and returns its number of tokens, since longer
    batches take longer. It is called for ENOUGH seconds and FEWEST + WARM times, or for `most`
    seconds, at least twice. `clock`: processes that measure together have to share one.
    """
    clock = clock or time.perf_counter
    seconds: list[float] = []
    tokens: list[int] = []
    while not _is_enough(seconds, most):
        began = clock()
        tokens.append(update(len(seconds) + 1))
        seconds.append(clock() - began)
    each = [s / p for s, p in zip(seconds, tokens, strict=True)]
    return median(each[min(WARM, len(each) // 2) :]) * mean(tokens)


def _is_enough(seconds: list[float], most: float) -> bool:
    if len(seconds) >= FEWEST + WARM and sum(seconds) >= ENOUGH:
        return True
    return len(seconds) >= 2 and sum(seconds) >= most


def time_updates(
    updater: Updater,
    deal: Callable[[int], list[Batch]],
    report: Reporter,
    most: float,
    clock: Callable[[], float],
) -> float:
    """Return the seconds that an update takes; this changes the state of the updater."""
    with report.phase("measuring") as advance:

        def update(number: int) -> int:
            outcome = updater.update(1, 0.0, deal(number))
            advance(number)
            return outcome.source_tokens + outcome.target_tokens

        return measure_pace(update, most, clock)

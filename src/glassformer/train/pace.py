"""How long an update takes here: what turns minutes into a number of updates."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import mean, quantiles

from ..data.batches import Batch
from .log import Reporter
from .updates import Updater

ENOUGH = 10.0  # seconds
FEWEST = 6  # updates timed
WARM = 3  # the first ones also prepare what later ones use
STEADY = 1.3  # the middle one may take so many times the quickest quarter's time


def measure_pace(
    update: Callable[[int], int], most: float, clock: Callable[[], float] | None = None
) -> tuple[float, bool]:
    """Seconds an update takes, and whether that was steady.

    `update` is told its number, makes it and returns how many pieces it saw: longer batches take
    longer. Timed for ENOUGH seconds or, while other work disturbs it, for `most`; then the quickest
    quarter counts, so that a disturbance that passes does not shorten the whole training.
    `clock`: where several processes measure together, they look at the same one.
    """
    clock = clock or time.perf_counter
    seconds: list[float] = []
    pieces: list[int] = []
    while True:
        began = clock()
        pieces.append(update(len(seconds) + 1))
        seconds.append(clock() - began)
        if len(seconds) < FEWEST + WARM:
            continue
        each = [s / p for s, p in zip(seconds[WARM:], pieces[WARM:], strict=True)]
        quick, middle, _ = quantiles(each, n=4)
        is_steady = middle <= STEADY * quick
        if sum(seconds) >= (min(ENOUGH, most) if is_steady else most):
            return (middle if is_steady else quick) * mean(pieces), is_steady


def time_updates(
    updater: Updater,
    deal: Callable[[int], list[Batch]],
    report: Reporter,
    whole: float,
    clock: Callable[[], float],
) -> float:
    """Seconds an update takes here, of `whole` in all; the model is not fresh any more then."""
    with report.phase("measuring") as advance:

        def update(number: int) -> int:
            outcome = updater.update(1, 0.0, deal(number))
            advance(number)
            return outcome.source_pieces + outcome.target_pieces

        seconds, is_steady = measure_pace(update, whole / 20, clock)
    if not is_steady:
        report.say("Other work disturbs the measurement: the time may be missed")
    return seconds

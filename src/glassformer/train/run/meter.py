"""Measurement of the time that updates and validations take: before a training, and during it.

Before it, some updates are timed, which turns minutes into updates. During it, the latest count
most.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from statistics import mean, median

from ...data.batches import Batch
from ...foundation.progress import Reporter
from ..plan.plan import Costs
from .updates import Updater

WINDOW = 4  # updates
ENOUGH = 5.0  # seconds of a measurement before a training
FEWEST = 6  # updates timed there, if there is time
WARM = 3  # the first ones also prepare what later ones use


class Meter:
    """A meter of the costs that `plan` needs; without initial costs, it measures nothing."""

    def __init__(self, costs: Costs | None, clock: Callable[[], float]):
        self.is_on = costs is not None
        self.clock = clock
        self.costs = costs or Costs(0.0, 0.0, 0.0, 0.0)
        self.seconds, self.updates = self.costs.update, 1.0
        self.fresh = 0  # updates since the weight of older ones was last halved
        self.validating = 0.0  # seconds, in the current pause
        self.has_ended = False

    @contextmanager
    def update(self) -> Iterator[None]:
        """Time the body as one update."""
        began = self._now()
        yield
        self.seconds += self._now() - began
        self.updates += 1
        self.fresh += 1

    @contextmanager
    def pause(self, is_validated: bool) -> Iterator[None]:
        """Time the body as a pause between updates; without validation, as part of an update."""
        began, self.validating = self._now(), 0.0
        yield
        seconds = self._now() - began
        if is_validated:
            self.costs = replace(self.costs, pause=seconds - self.validating)
        else:
            self.seconds += seconds

    @contextmanager
    def validation(self, sentences: int) -> Iterator[None]:
        """Time the body as a validation of so many sentences."""
        began = self._now()
        yield
        seconds = self._now() - began
        self.validating += seconds
        self.costs = replace(self.costs, sentence=seconds / sentences)

    @contextmanager
    def end(self) -> Iterator[None]:
        """Time the body as the end of a training, which is tried once; the pause excludes it."""
        began = self._now()
        yield
        self.has_ended = True
        seconds = self._now() - began
        self.validating += seconds
        self.costs = replace(self.costs, end=seconds)

    def read(self) -> Costs:
        """Return the costs; if enough updates are new, halve the weight of all up to now."""
        result = replace(self.costs, update=self.seconds / self.updates)
        if self.fresh >= WINDOW:
            self.seconds, self.updates, self.fresh = self.seconds / 2, self.updates / 2, 0
        return result

    def _now(self) -> float:
        """Return the time; all processes of a group have to call this together."""
        return self.clock() if self.is_on else 0.0


def measure_update(
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
    deal: Callable[[int], Sequence[Batch]],
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

        return measure_update(update, most, clock)

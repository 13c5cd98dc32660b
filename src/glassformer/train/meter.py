"""Measurement of the time that updates and validations take; the latest count most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from .plan import Costs

WINDOW = 4  # updates


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
        found = replace(self.costs, update=self.seconds / self.updates)
        if self.fresh >= WINDOW:
            self.seconds, self.updates, self.fresh = self.seconds / 2, self.updates / 2, 0
        return found

    def _now(self) -> float:
        """Return the time; all processes of a group have to call this together."""
        return self.clock() if self.is_on else 0.0

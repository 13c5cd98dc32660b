"""How long an update takes, on a clock of the test's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from glassformer.train.run import meter
from glassformer.train.run.meter import measure_update


class Clock:
    """Time passes only while an update is made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cost: Callable[[int], float]):
        self.now, self.cost, self.updates = 0.0, cost, 0
        monkeypatch.setattr(meter.time, "perf_counter", lambda: self.now)

    def update(self, number: int) -> int:
        self.updates = number
        self.now += self.cost(number)
        return 100


def test_a_steady_machine_is_timed_for_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, lambda number: 0.25)
    assert measure_update(clock.update, 60) == 0.25
    assert clock.now == pytest.approx(5)


def test_slow_first_updates_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, lambda number: 5.0 if number <= 3 else 0.2)
    assert measure_update(clock.update, 60) == pytest.approx(0.2)


def test_one_update_that_was_disturbed_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, lambda number: 3.0 if number == 7 else 0.1)
    assert measure_update(clock.update, 60) == pytest.approx(0.1)


def test_longer_batches_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, lambda number: 0.1 + 0.1 * (number % 4))

    def update(number: int) -> int:
        clock.update(number)
        return 100 + 100 * (number % 4)

    assert measure_update(update, 60) == pytest.approx(0.25, rel=0.05)


def test_where_time_is_short_two_updates_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, lambda number: 9.0 if number == 1 else 3.0)
    assert measure_update(clock.update, 0.1) == 3.0
    assert clock.updates == 2

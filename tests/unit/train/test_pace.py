"""Minutes into updates, on a clock of the test's own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from glassformer.train import pace
from glassformer.train.pace import measure_pace


class Clock:
    """Time passes only while an update is made."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, cost: Callable[[int], float]):
        self.now, self.cost, self.updates = 0.0, cost, 0
        monkeypatch.setattr(pace.time, "perf_counter", lambda: self.now)

    def update(self, number: int) -> int:
        self.updates = number
        self.now += self.cost(number)
        return 100


def test_a_steady_machine_is_timed_for_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, lambda number: 0.5)
    assert measure_pace(clock.update, 60) == (0.5, True)
    assert clock.now == pytest.approx(10)


def test_slow_first_updates_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, lambda number: 5.0 if number <= 3 else 0.2)
    assert measure_pace(clock.update, 60) == (pytest.approx(0.2), True)


def test_a_disturbance_that_passes_is_waited_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, lambda number: 2.0 if number <= 6 else 0.1)
    seconds, is_steady = measure_pace(clock.update, 60)
    assert is_steady and seconds == pytest.approx(0.1)
    assert clock.now < 60


def test_a_disturbance_that_stays_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, lambda number: (0.1, 1.0, 1.5)[number % 3])
    seconds, is_steady = measure_pace(clock.update, 20)
    assert not is_steady and seconds == pytest.approx(0.1)
    assert clock.now >= 20


def test_longer_batches_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, lambda number: 0.1 + 0.1 * (number % 4))

    def update(number: int) -> int:
        clock.update(number)
        return 100 + 100 * (number % 4)

    seconds, is_steady = measure_pace(update, 60)
    assert is_steady and seconds == pytest.approx(0.25, rel=0.03)


def test_little_time_is_enough_for_a_few_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, lambda number: 3.0)
    assert measure_pace(clock.update, 0.1)[0] == 3.0
    assert clock.updates == pace.FEWEST + pace.WARM

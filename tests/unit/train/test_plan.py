"""Minutes into updates, planned again on the way, on a clock of the test's own."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from glassformer.config import Train
from glassformer.train.plan.plan import (
    FEW,
    SAMPLE,
    Costs,
    Plan,
    PlanLimits,
    begin,
    read_plan,
    settle_again,
    tell_few,
    tell_shortfall,
    tell_start,
    write_plan,
)
from glassformer.train.plan.schedule import rate
from glassformer.train.run.meter import Meter

Cost = Callable[[float], float]  # of the share of the time that has passed


class World:
    """A training in which nothing happens but that time passes, as `Loop` lets it pass."""

    def __init__(self, seconds: float, update: Cost, **how: Any):
        self.limits = PlanLimits(
            seconds, how.get("valid", 1000), how.get("every"), how.get("has_parent", False)
        )
        self.seconds, self.cost = seconds, update
        self.sentence: Cost = how.get("sentence", lambda done: 0.001)
        self.pause, self.end = how.get("pause", 0.3), how.get("end", 0.5)
        self.now = how.get("preparation", 0.05 * seconds)
        self.validated: list[tuple[int, int]] = []

    @property
    def done(self) -> float:
        return self.now / self.seconds

    def run(self) -> Plan:
        first = self.sentence(self.done) * SAMPLE
        costs = Costs(self.cost(self.done), self.sentence(self.done), first, first)
        self.now += min(5.0, self.seconds / 40) + first
        plan = begin(self.limits, self.now, costs)
        meter, step = Meter(costs, lambda: self.now), 0
        while step < plan.at(step).steps:
            step += 1
            with meter.update():
                self.now += self.cost(self.done)
            if plan.is_due(step):
                plan.add(settle_again(plan, step, self.seconds - self.now, meter.read()))
            is_validated = plan.is_validated(step)
            with meter.pause(is_validated):
                if is_validated:
                    self.validate(meter, step, plan.sentences(step))
        self.now += self.end
        return plan

    def validate(self, meter: Meter, step: int, sentences: int) -> None:
        self.validated.append((step, sentences))
        with meter.validation(sentences):
            self.now += sentences * self.sentence(self.done)
        self.now += self.pause


NOISE = random.Random(1)
WORLDS: dict[str, tuple[float, Cost, dict[str, Any]]] = {
    "quiet": (600, lambda done: 0.1, {}),
    "half as fast from half-time on": (600, lambda done: 0.2 if done > 0.5 else 0.1, {}),
    "four times slower from half-time on": (300, lambda done: 0.4 if done > 0.5 else 0.1, {}),
    "twice as fast from half-time on": (600, lambda done: 0.1 if done > 0.5 else 0.2, {}),
    "slower at the end": (600, lambda done: 0.3 if done > 0.85 else 0.1, {}),
    "disturbed in the beginning": (120, lambda done: 0.5 if done < 0.15 else 0.1, {}),
    "slower and slower": (600, lambda done: 0.05 + 0.3 * done, {}),
    "now and then": (300, lambda done: 0.1 if int(20 * done) % 2 else 0.25, {}),
    "uneven": (120, lambda done: 0.1 * NOISE.lognormvariate(0, 0.7), {}),
    "few long updates": (120, lambda done: 3.0, {}),
    "slow validations": (120, lambda done: 0.1, {"sentence": lambda done: 0.02}),
    "untrained, it goes on and on": (
        120,
        lambda done: 0.1,
        {"sentence": lambda done: 0.001 if done > 0.4 else 0.01},
    ),
    "all slower, validations too": (
        120,
        lambda done: 0.4 if done > 0.5 else 0.1,
        {"sentence": lambda done: 0.02 if done > 0.5 else 0.005},
    ),
    "a long preparation": (60, lambda done: 0.1, {"preparation": 30}),
    "validations every so many updates": (120, lambda done: 0.1, {"every": 50}),
    "from a parent": (120, lambda done: 0.1, {"has_parent": True}),
}


@pytest.mark.parametrize("name", WORLDS)
def test_it_ends_when_the_time_is_over(name: str) -> None:
    seconds, update, how = WORLDS[name]
    world = World(seconds, update, **how)
    plan = world.run()
    assert world.now == pytest.approx(seconds, rel=0.1)
    last = plan.latest.steps
    assert plan.position(last) == pytest.approx(plan.planned, rel=0.1)
    assert world.validated[-1][0] == last
    assert [step for step, _ in world.validated] == plan.list_validations()
    counts = [count for _, count in world.validated]
    assert counts == sorted(counts) and counts[-1] >= min(SAMPLE, 1000)
    assert len(plan.decisions) < 300  # the file stays small


def test_the_schedule_ends_with_the_updates_and_has_no_jumps() -> None:
    """Of a training that becomes three times as slow in the middle of its warm-up."""
    plan = World(600, lambda done: 0.3 if done > 0.08 else 0.1).run()
    assert plan.latest.steps < 0.6 * plan.planned
    train = Train(learning_rate=1.0, warmup=plan.planned // 10, schedule="cosine")
    rates = [
        rate(plan.position(step), train, 512, plan.planned)
        for step in range(1, plan.latest.steps + 1)
    ]
    peak = rates.index(max(rates))
    assert max(rates) > 0.99 and rates[-1] < 0.001
    assert rates[:peak] == sorted(rates[:peak])
    assert rates[peak:] == sorted(rates[peak:], reverse=True)
    assert 0.05 < peak / len(rates) < 0.2  # it would be 0.29 of as many updates
    jumps = [abs(x - y) for x, y in itertools.pairwise(rates)]
    assert max(jumps) < 0.02


def test_given_steps_stand_for_themselves() -> None:
    plan = Plan.of_steps(4669, PlanLimits(None, 1014, None))
    assert all(plan.position(step) == step for step in range(4670))
    assert not any(plan.is_due(step) for step in range(1, 4670))
    assert plan.list_validations() == [467 * n for n in range(1, 10)] + [4669]
    assert {plan.sentences(step) for step in (0, 467, 4669)} == {1014}


def test_validations_are_spread_and_the_late_ones_compared() -> None:
    world = World(600, lambda done: 0.1, sentence=lambda done: 0.02)
    plan = world.run()
    steps, counts = zip(*world.validated, strict=True)
    assert len(steps) == 10 and counts[:5] == (SAMPLE,) * 5
    assert len(set(counts[5:])) == 1 and counts[5] > SAMPLE
    gaps = [b - a for a, b in zip((0, *steps), steps, strict=False)]
    assert max(gaps) < 1.5 * min(gaps)
    assert plan.sentences(steps[-1]) * 0.02 <= 0.03 * 600


def test_a_parent_is_compared_with_the_last() -> None:
    world = World(600, lambda done: 0.1, sentence=lambda done: 0.02, has_parent=True)
    plan = world.run()
    assert plan.sentences(0) == world.validated[-1][1]


@pytest.mark.parametrize(("update", "is_told"), [(0.1, False), (1.0, True)])
def test_too_little_time_is_told_with_what_is_enough(update: float, is_told: bool) -> None:
    limits, costs = PlanLimits(120, 1000, None), Costs(update, 0.001, 0.3, 0.5)
    plan = begin(limits, 6.0, costs)
    assert (plan.planned < FEW) == is_told
    said = tell_start(plan, 6.0, Train())
    assert ("Fewer than 200" in said) == is_told
    if is_told:
        enough = float(said.partition("on this machine, ")[2].split()[0])
        assert begin(PlanLimits(60 * enough, 1000, None), 6.0, costs).planned >= FEW
        assert begin(PlanLimits(60 * 0.6 * enough, 1000, None), 6.0, costs).planned < FEW


def test_the_warm_up_that_is_told_is_never_longer_than_the_training() -> None:
    costs = Costs(2.0, 0.001, 0.3, 0.5)
    plan = begin(PlanLimits(60, 1000, None), 6.0, costs)
    said = [tell_start(plan, 6.0, Train(warmup=warmup)) for warmup in (3, 50)]
    assert "3 of them warm-up" in said[0] and "in 1 minute, all of them warm-up" in said[1]


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan = World(120, lambda done: 0.4 if done > 0.5 else 0.1).run()
    write_plan(tmp_path, plan)
    again = read_plan(tmp_path, plan.limits)
    assert again and again.decisions == plan.decisions and again.starts == plan.starts
    assert again.validations == plan.validations
    assert read_plan(tmp_path / "nowhere", plan.limits) is None


@pytest.mark.parametrize(
    "damage",
    [
        lambda found: found["decisions"].clear(),
        lambda found: found["decisions"].reverse(),
        lambda found: found.pop("validations"),
        lambda found: found["decisions"][0].update(steps="many"),
        lambda found: found["decisions"][0].update(steps=0),
        lambda found: found["decisions"][1].update(step=-3),
        lambda found: found["decisions"][0].pop("costs"),
        lambda found: found["decisions"][0]["costs"].update(update=None),
        lambda found: found.update(validations=0),
    ],
)
def test_a_damaged_plan_is_refused(tmp_path: Path, damage: Callable[[Any], Any]) -> None:
    plan = World(60, lambda done: 0.1).run()
    write_plan(tmp_path, plan)
    found = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    damage(found)
    (tmp_path / "plan.json").write_text(json.dumps(found), encoding="utf-8")
    with pytest.raises(ValueError, match=r"plan\.json: damaged"):
        read_plan(tmp_path, plan.limits)


def test_what_was_planned_and_not_done_is_said() -> None:
    """240 of 459: at the speed that was had, as many minutes more."""
    costs = Costs(0.1, 0.001, 0.01, 0.0)
    plan = begin(PlanLimits(60.0, 100, None), 0.0, costs)
    planned = plan.planned
    half = planned // 2
    said = tell_shortfall(plan, half, 0.5)
    assert f"{half:,} of {planned:,} planned updates" in said and "had 50 % of it" in said
    assert f"{math.ceil(planned / half):,} minutes would be needed" in said
    assert "other programs" not in tell_shortfall(plan, half, 0.98)
    assert not tell_shortfall(plan, planned - 1, 0.5)
    assert not tell_shortfall(Plan.of_steps(500, PlanLimits(None, 100, None)), 3, 0.5)


def test_few_updates_teach_nothing() -> None:
    assert tell_few(FEW - 1).startswith(f"{FEW - 1} updates: fewer than {FEW} teach")
    assert not tell_few(FEW) and not tell_few(3, has_parent=True)

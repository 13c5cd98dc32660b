"""The plan of a night: what comes next, and what is left out, by what was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.extensions.night.planning import (
    SHARES,
    SHORTEST,
    Circumstances,
    PlannedStep,
    StepResult,
    choose_program,
    explain_dropped,
    find_enough,
    list_coming,
    pays,
    plan_steps,
)

UNTRAINED = {"reverse", "made", "taught"}  # these have no score


def walk(at: Circumstances, scores: dict[str, float]) -> list[PlannedStep]:
    """Make the steps of a plan, each in its time, with these scores."""
    done, left, found = list[StepResult](), at.minutes, list[PlannedStep]()
    while steps := plan_steps(at, done, left):
        assert len(found) < 20 and len(steps) <= at.workers
        found += steps
        left -= max(step.minutes for step in steps)
        for step in steps:
            score = None if step.name in UNTRAINED else scores.get(step.name, 30.0)
            done.append(StepResult(step.name, step.minutes, score))
    return found


def names(steps: list[PlannedStep]) -> list[str]:
    return [each.name for each in steps]


def test_little_time_is_for_auto_alone() -> None:
    [step] = walk(Circumstances(minutes=10, usual=5), {})
    assert step.name == "auto" and step.minutes > 9
    assert "2.0 times" in step.why


def test_the_end_has_the_time_that_it_takes() -> None:
    """Of a short night with a long test text that is far more than the usual share."""
    for end, test, minutes in ((0.1, 0, 9.4), (1.5, 1, 8.5), (9, 1, 7.5), (9, 4, 6), (9, 8, 5)):
        [step] = walk(Circumstances(minutes=10, usual=5, end=end, test=test), {})
        assert step.minutes == pytest.approx(minutes)


def test_steps_that_were_to_come_are_dropped_with_a_reason() -> None:
    at = Circumstances(100, 4.5)
    first = list_coming(at, [], 100)
    assert {"taught", "student", "polish"} <= {*first}
    done = [StepResult(name, 8, 30.0) for name in ("auto", "member-1", "member-2")]
    done.append(StepResult("ensemble", 0.1, 28.5))
    dropped = ["taught", "student"]
    [(reason, names)] = explain_dropped(at, done, dropped).items()
    assert names == dropped and "at -1.5 chrF++ from the best single one" in reason
    assert explain_dropped(at, done[:3], ["polish"]) == {"too little time is left": ["polish"]}
    known = replace(at, copied=0.9)
    assert list_coming(known, done[:1], 50)[-1] == "soup"
    assert [*explain_dropped(known, done, ["made"])] == ["the first model knows its pairs by heart"]


@pytest.mark.parametrize("more", [{}, {"has_parent": True, "cost": 4.0, "pairs": 3000}])
def test_the_minutes_that_are_enough_for_made_pairs_are_known(more: dict[str, Any]) -> None:
    at = Circumstances(10, 5, **more)
    enough = find_enough(at)
    for minutes, is_enough in ((1.01 * enough, True), (0.85 * enough, False)):
        steps = choose_program(replace(at, minutes=minutes), [], minutes)
        assert ("made" in steps) == is_enough


def test_little_time_is_for_a_parent_if_there_is_one() -> None:
    [step] = walk(Circumstances(minutes=10, usual=5, has_parent=True), {})
    assert step.name == "parent" and step.minutes > 9 and "from a model that is there" in step.why
    [step] = walk(Circumstances(minutes=3, usual=5, has_parent=True), {})
    assert step.name == "auto"
    [step] = walk(Circumstances(minutes=10, usual=5, has_parent=True, has_own_size=True), {})
    assert step.name == "auto"
    one = walk(Circumstances(minutes=50, usual=5, has_parent=True, cost=4, pairs=3000), {})
    assert names(one) == ["parent"]  # a larger network needs all this time


def test_few_pairs_start_from_a_parent_alone() -> None:
    """Plain auto is far behind there; with many pairs, or a size of one's own, it may not be."""
    at = Circumstances(100, 5, has_parent=True, cost=4, pairs=20_000)
    program = ["reverse", "made", "member-1", "polish"]
    assert names(walk(at, {})) == ["parent", *program]
    assert walk(at, {})[0].minutes >= 0.9 * 4 * 5
    many = replace(at, minutes=120, pairs=20_001)
    assert names(walk(many, {})) == ["auto", "parent", *program]
    own = names(walk(replace(at, minutes=300, has_own_size=True), {}))
    assert own[:2] == ["auto", "parent"] and "student" in own
    assert "member-3" in names(walk(replace(at, minutes=300), {"ensemble": 31.0}))


def test_more_time_brings_more_models() -> None:
    some = names(walk(Circumstances(45, 4.5), {}))
    assert some == ["auto", "reverse", "made", "member-1", "polish"]
    full = names(walk(Circumstances(70, 4.5), {"ensemble": 31.0}))
    assert [name for name in full[4:] if name != "member-3"] == [
        *("member-2", "ensemble", "taught", "student", "polish")
    ]
    assert "member-3" in names(walk(Circumstances(100, 4.5), {}))
    with_parent = Circumstances(100, 4.5, has_parent=True, pairs=30_000)
    assert names(walk(with_parent, {}))[1] == "parent"


def test_an_ensemble_without_a_gain_teaches_nobody() -> None:
    steps = names(walk(Circumstances(70, 4.5), {"ensemble": 30.1}))
    assert "ensemble" in steps and "student" not in steps and steps[-1] == "polish"
    own = Circumstances(70, 4.5, has_own_size=True)
    assert "student" in names(walk(own, {"ensemble": 30.1}))


def test_made_pairs_pay_only_if_they_help() -> None:
    auto, worse, better = (
        StepResult("auto", 1, 30.0),
        StepResult("member-1", 1, 29.0),
        StepResult("member-1", 1, 30.5),
    )
    assert pays([auto]) and pays([auto, better]) and not pays([auto, worse])
    assert not pays([auto, StepResult("parent", 1, 31.0), better])


@given(
    st.floats(1, 1000),
    st.floats(0.2, 300),
    st.booleans(),
    st.booleans(),
    st.integers(1, 4),
    st.floats(1, 20),
    st.integers(0, 100_000),
    st.dictionaries(st.sampled_from([*SHARES]), st.floats(0, 60)),
)
def test_every_night_has_a_first_model_and_keeps_its_time(
    minutes: float,
    usual: float,
    has_parent: bool,
    has_size: bool,
    workers: int,
    cost: float,
    pairs: int,
    scores: dict[str, float],
) -> None:
    at = Circumstances(minutes, usual, has_parent, has_size, workers, cost, pairs)
    steps = walk(at, scores)
    assert steps[0].name in ("auto", "parent") and (has_parent or steps[0].name == "auto")
    if workers == 1:
        assert sum(each.minutes for each in steps) <= max(minutes, SHORTEST) * 1.0001
    assert len(set(names(steps))) == len(steps)
    if len(steps) > 1:  # with others to come, the first has what it takes for these pairs
        assert steps[0].minutes >= at.need >= 2 * usual


def test_pairs_known_by_heart_are_learned_again_by_themselves() -> None:
    at = Circumstances(minutes=50, usual=3.8)
    assert names(walk(at, {})) == ["auto", "reverse", "made", "member-1", "polish"]
    known = replace(at, copied=0.97)
    steps = walk(known, {})
    assert names(steps) == ["auto", *(f"member-{n}" for n in range(1, 8)), "soup"]
    assert "by heart" in steps[1].why and sum(each.minutes for each in steps) <= 47.01
    assert names(walk(replace(at, copied=0.5), {})) == names(walk(at, {}))
    assert "reverse" in names(walk(replace(known, has_more=True), {}))
    assert names(walk(replace(known, minutes=30), {}))[:2] == ["auto", "member-1"]
    long = walk(replace(known, minutes=480), {})
    assert names(long) == names(steps)
    assert all(each.minutes >= at.need for each in long[1:-1])
    many = walk(replace(known, minutes=480, workers=3), {})
    assert names(many) == ["auto", "reverse", *names(long)[1:]]
    assert "student" in names(walk(replace(known, minutes=480, has_own_size=True), {}))


def test_pairs_known_by_heart_are_learned_from_the_parent_with_other_seeds() -> None:
    at = Circumstances(100, 4.8, has_parent=True, cost=4, pairs=1444, copied=0.83)
    steps = walk(at, {})
    assert names(steps) == ["parent", *(f"member-{n}" for n in range(1, 7)), "soup"]
    assert all(0.6 * at.need <= each.minutes <= 1.5 * at.need for each in steps[:-1])
    assert sum(each.minutes for each in steps) <= 94.01
    long = walk(replace(at, minutes=480), {})
    assert names(long) == ["parent", *(f"member-{n}" for n in range(1, 8)), "soup"]
    several = walk(replace(at, workers=3), {})
    assert names(several)[-1] == "soup" and len(several) > len(steps)
    few = walk(replace(at, minutes=20), {})
    assert names(few) == ["parent"]


def test_a_soup_is_of_models_that_started_from_one() -> None:
    at = Circumstances(400, 5, has_parent=True, cost=4, pairs=30_000)
    better = {"parent": 31.0, "auto": 30.0}
    assert "soup" in names(walk(at, better))
    assert "soup" not in names(walk(at, {"parent": 29.0, "auto": 30.0}))
    assert "student" in names(walk(at, better | {"soup": 31.0, "ensemble": 31.4}))
    assert "student" not in names(walk(at, better | {"soup": 31.2, "ensemble": 31.4}))


def test_a_late_night_ends() -> None:
    at = Circumstances(100, 5)
    done = [StepResult("auto", 60, 30.0), StepResult("reverse", 38, None)]
    assert plan_steps(at, done, 2) == []
    [late] = plan_steps(at, done[:1], 40)
    assert late.name == "reverse"


def test_machines_train_at_a_time_what_waits_for_nothing() -> None:
    at = Circumstances(100, 4.5, has_parent=True, workers=3, pairs=30_000)
    assert [each.name for each in plan_steps(at, [], 100)] == ["auto", "parent", "reverse"]
    alone = replace(at, workers=1)
    assert [each.name for each in plan_steps(alone, [], 100)] == ["auto"]
    several, one = walk(at, {}), walk(alone, {})
    time = {each.name: each.minutes for each in several}
    assert time["member-2"] == time["member-3"]
    at = replace(at, minutes=65)  # in which one machine trains two members
    assert "member-3" in names(walk(at, {}))
    assert "member-3" not in names(walk(replace(at, workers=1), {}))
    assert set(names(one)) <= set(names(several))


@pytest.mark.parametrize(
    ("more", "limit"),
    [
        ({}, 7.1),
        ({"has_parent": True, "cost": 1, "pairs": 5000}, 7.1),
        ({"has_parent": True, "cost": 5, "pairs": 5000}, 16.0),
        ({"has_parent": True, "cost": 5, "pairs": 30_000}, 20.8),
    ],
)
def test_from_when_on_a_night_has_several_trainings(more: dict[str, Any], limit: float) -> None:
    """The limits that docs/night.md names."""
    for share, several in ((0.97, False), (1.03, True)):
        steps = walk(Circumstances(minutes=5 * share * limit, usual=5, **more), {})
        assert (len(steps) > 1) == several

"""Wrong solutions as learners write them: each is caught, and nearly all are named rightly."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from glassformer.extensions.course.cases import list_cases
from glassformer.extensions.course.diagnosis import diagnose
from glassformer.extensions.course.exercises import find_exercise, read_exercises
from glassformer.extensions.course.results import is_same
from glassformer.extensions.course.running import run_cases
from glassformer.extensions.course.steps import list_solutions

WRONG = tomllib.loads(Path(__file__).with_name("wrong.toml").read_text(encoding="utf-8"))["wrong"]
NAMING = ("What went wrong: ", "Two things went wrong: ", "Most likely: ")


def describe(each: dict[str, Any]) -> str:
    return f"{each['step']}-{each['said'] or 'not named'}"


def list_wrong() -> list[Any]:
    """Return all wrong solutions; every eighth is a quick test."""
    return [
        pytest.param(each, id=describe(each), marks=[pytest.mark.thorough] if number % 8 else [])
        for number, each in enumerate(WRONG)
    ]


@pytest.mark.parametrize("wrong", list_wrong())
def test_each_is_caught_and_named(wrong: dict[str, Any]) -> None:
    exercise, cases = find_exercise(wrong["step"]), list_cases(wrong["step"])
    sources = list_solutions(exercise, wrong["code"])
    results = run_cases(sources, exercise.module, cases)
    expected = (each.expected for each in cases)
    assert not all(map(is_same, results, expected))
    first, *_ = diagnose(exercise, cases, results, Path("step.py"), "en")
    assert first.startswith(NAMING) == bool(wrong["said"])
    assert wrong["said"] in first


def test_there_are_some_for_each_step_and_few_without_a_name() -> None:
    assert {each["step"] for each in WRONG} == {each.number for each in read_exercises()}
    assert sum(bool(each["said"]) for each in WRONG) >= 0.85 * len(WRONG)

"""Checking a step: whether the learner's functions compute what the network computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .cases import Case, list_cases
from .comparing import is_same, run_cases
from .diagnosis import diagnose, say
from .exercises import Exercise, find_exercise, read_exercises
from .recording import SENTENCE
from .steps import list_own


class Verdict(NamedTuple):
    """The result of a check, and what there is to say about it."""

    is_right: bool
    lines: tuple[str, ...]


def check_step(folder: Path, number: int, lang: str = "en") -> Verdict:
    """Check a step in the learner's folder, with the earlier steps that it uses.

    ValueError if there is no such step, or a file is not text.
    """
    exercise = find_exercise(number)
    path = (folder / f"{exercise.module}.py").absolute()
    if not path.is_file():
        return _refuse(exercise, lang, [say("file", lang, file=path.name)])
    if (needed := find_wrong_before(path.parent, exercise)) is not None:
        about = {"number": needed.number, "title": needed.title[lang]}
        return _refuse(exercise, lang, [say("needs", lang, **about)])
    cases = list_cases(number)
    own = run_own(path.parent, exercise, cases)
    if all(is_same(result, each.expected) for each, result in zip(cases, own, strict=True)):
        head = say("right", lang, number=number, title=exercise.title[lang])
        return Verdict(True, (head, *tell_success(cases, own, lang)))
    sentences = [*diagnose(exercise, cases, own, path, lang), say("hint", lang, number=number)]
    return _refuse(exercise, lang, sentences)


def _refuse(exercise: Exercise, lang: str, sentences: Sequence[str]) -> Verdict:
    head = say("wrong", lang, number=exercise.number, title=exercise.title[lang])
    return Verdict(False, (head, *sentences))


def run_own(folder: Path, exercise: Exercise, cases: Sequence[Case]) -> list[Any]:
    """Return what the learner's functions of a step return in each case."""
    return run_cases(list_own(folder), exercise.module, cases, folder)


def find_wrong_before(folder: Path, exercise: Exercise) -> Exercise | None:
    """Return the first step, of those that a step builds on, that is not right; None if none."""
    for each in list_before(exercise):
        cases = list_cases(each.number)
        own = run_own(folder, each, cases)
        if not all(is_same(result, case.expected) for case, result in zip(cases, own, strict=True)):
            return each
    return None


def list_before(exercise: Exercise) -> list[Exercise]:
    """Return the earlier steps that a step builds on, those that they build on first."""
    by_module = {each.module: each for each in read_exercises()}
    exercises: dict[int, Exercise] = {}
    for name in exercise.list_needed():
        exercises |= {
            each.number: each for each in (*list_before(by_module[name]), by_module[name])
        }
    return [exercises[number] for number in sorted(exercises)]


def tell_success(cases: Sequence[Case], results: Sequence[Any], lang: str) -> Iterator[str]:
    """Yield what was compared, and, of a translation, what it says."""
    spoken = [result for result in results if isinstance(result, str)]
    recorded = [each for each in cases if each.name and not isinstance(each.expected, str)]
    if recorded:
        count = sum(np.asarray(each.expected).size for each in recorded)
        names = "`, `".join(dict.fromkeys(each.name for each in recorded))
        yield say("compared", lang, count=f"{count:,}", names=names, sentence=SENTENCE)
    if examples := len(cases) - len(recorded) - len(spoken):
        yield say("example" if examples == 1 else "examples", lang, count=examples)
    for result in spoken:
        yield say("says", lang, translation=result)

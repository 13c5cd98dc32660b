"""Checking a step: whether the learner's functions compute what the network computed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .apart import SECONDS, StepRun, run_steps
from .cases import Case, list_cases
from .diagnosis import diagnose, say
from .exercises import Exercise, find_exercise, read_exercises
from .recording import SENTENCE
from .results import is_same


class Verdict(NamedTuple):
    """The result of a check, and what there is to say about it."""

    is_right: bool
    lines: tuple[str, ...]


class StepCheck:
    """Checks steps in a folder; each of them, and of those that they build on, runs once."""

    def __init__(self, folder: Path, numbers: Sequence[int], seconds: float = SECONDS) -> None:
        self.folder, self.numbers = folder.absolute(), numbers
        order = dict.fromkeys(
            each.number
            for number in numbers
            for each in (*list_before(find_exercise(number)), find_exercise(number))
        )
        self._coming = run_steps(self.folder, [*order], seconds)
        self._runs: dict[int, StepRun] = {}

    def list_verdicts(self, lang: str = "en") -> Iterator[tuple[int, Verdict]]:
        """Yield the verdict on each step, until one is not right."""
        for number in self.numbers:
            verdict = self.judge(find_exercise(number), lang)
            yield number, verdict
            if not verdict.is_right:
                break
        self._coming.close()

    def judge(self, exercise: Exercise, lang: str) -> Verdict:
        """Return the verdict on a step."""
        path, number = self.folder / f"{exercise.module}.py", exercise.number
        if not path.is_file():
            return _refuse(exercise, lang, [say("file", lang, file=path.name)])
        for each in list_before(exercise):
            if not self.is_right(each.number):
                about = {"number": each.number, "title": each.title[lang]}
                return _refuse(exercise, lang, [say("needs", lang, **about)])
        cases, run = list_cases(number), self.find_run(number)
        printed = tell_printed(run, lang)
        if self.is_right(number):
            head = say("right", lang, number=number, title=exercise.title[lang])
            return Verdict(True, (*printed, head, *tell_success(cases, run.results, lang)))
        sentences = diagnose(exercise, cases, run.results, path, lang)
        hint = say("hint", lang, number=number)
        return _refuse(exercise, lang, [*sentences, hint], printed)

    def find_run(self, number: int) -> StepRun:
        """Return the run of a step; those before it come first."""
        while number not in self._runs:
            finished, self._runs[finished] = next(self._coming)
        return self._runs[number]

    def is_right(self, number: int) -> bool:
        """Return whether the results of a step are right in all cases."""
        results = self.find_run(number).results
        return all(map(is_same, results, (each.expected for each in list_cases(number))))


def check_step(folder: Path, number: int, lang: str = "en", seconds: float = SECONDS) -> Verdict:
    """Check a step in the learner's folder, with the earlier steps that it uses.

    ValueError if there is no such step, or a file is not text.
    """
    ((_, verdict),) = StepCheck(folder, [number], seconds).list_verdicts(lang)
    return verdict


def _refuse(
    exercise: Exercise, lang: str, sentences: Sequence[str], printed: Sequence[str] = ()
) -> Verdict:
    head = say("wrong", lang, number=exercise.number, title=exercise.title[lang])
    return Verdict(False, (*printed, head, *sentences))


def tell_printed(run: StepRun, lang: str) -> list[str]:
    """Return what the learner's code printed, and how much more there is."""
    if not run.printed:
        return []
    rest = run.characters - len(run.printed)
    more = [say("flood", lang, count=f"{rest:,}")] if rest else []
    return [say("printed", lang), run.printed.rstrip("\n"), *more]


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

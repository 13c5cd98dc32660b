"""The actions of `glassformer course`: start, check, hint, solution and status."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .apart import SECONDS
from .checking import StepCheck
from .diagnosis import say
from .exercises import Exercise, find_exercise, read_exercises
from .folder import LANGUAGES, PLACE, CourseProgress, find_folder, read_course, start_course

Said = tuple[list[str], bool]  # lines, and whether all is well


def start(folder: Path | None, lang: str) -> list[str]:
    """Write the course into a folder, and return what to do next."""
    if lang not in LANGUAGES:
        raise ValueError(f"lang={lang}: one of {', '.join(LANGUAGES)}")
    folder = folder or Path(PLACE)
    is_new = not folder.exists()
    written = start_course(folder, lang)
    lang = read_course(folder).lang
    key, count = ("started", len(read_exercises())) if is_new else ("resumed", len(written))
    where = f"cd {folder}\n  " if folder != Path() else ""
    return [say(key, lang, folder=folder, count=count), f"  {where}glassformer course check 1"]


def read_number(which: str | None, progress: CourseProgress) -> int:
    """Return the number of a step; of the first that is not right, if none is given."""
    if which is None:
        return progress.find_next() or len(read_exercises())
    digits = which.removeprefix("step_")[:2].strip("_")
    if not digits.isdecimal() or (which.isdecimal() and len(which) > 2):
        raise ValueError(f"step {which}: give the number of a step, 1 to {len(read_exercises())}")
    return find_exercise(int(digits)).number


def check(folder: Path | None, which: str | None, seconds: float | None = None) -> Said:
    """Check a step, or all up to the first that is not right, and keep the progress."""
    if seconds is not None and not seconds > 0:
        raise ValueError(f"time-limit={seconds:g}: more than 0 seconds")
    progress = read_course(find_folder(folder))
    everything = range(1, len(read_exercises()) + 1)
    numbers = everything if which == "all" else [read_number(which, progress)]
    lines: list[str] = []
    checks = StepCheck(progress.folder, numbers, seconds or SECONDS)
    for number, verdict in checks.list_verdicts(progress.lang):
        progress = progress.with_result(number, is_right=verdict.is_right)
        progress.save()
        lines += verdict.lines
        if not verdict.is_right:
            return lines, False
    return [*lines, tell_next(progress)], True


def tell_next(progress: CourseProgress) -> str:
    """Return what comes after a step that is right."""
    number = progress.find_next()
    if number is None:
        return say("done", progress.lang, count=len(read_exercises()))
    exercise = find_exercise(number)
    about = {"number": number, "title": exercise.title[progress.lang]}
    return say("next", progress.lang, **about, file=f"{exercise.module}.py")


def hint(folder: Path | None, which: str | None) -> Said:
    """Return the next hint of a step; the last one again after that."""
    progress = read_course(find_folder(folder))
    exercise = find_exercise(read_number(which, progress))
    progress, shown = progress.with_hint(exercise.number, len(exercise.hints))
    progress.save()
    about = {"which": shown, "count": len(exercise.hints), "number": exercise.number}
    text = exercise.hints[shown - 1][progress.lang]
    return [say("hinted", progress.lang, **about, text=text)], True


def show_solution(folder: Path | None, which: str | None) -> Said:
    """Return the solution of a step."""
    progress = read_course(find_folder(folder))
    exercise = find_exercise(read_number(which, progress))
    about = {"number": exercise.number, "title": exercise.title[progress.lang]}
    return [say("solution", progress.lang, **about), "", exercise.solution.strip()], True


def show_status(folder: Path | None, which: str | None) -> Said:
    """Return how far a learner has come, a line for each step."""
    progress = read_course(find_folder(folder))
    if which is not None:
        raise ValueError("status takes no number")
    lines = [_tell(each, progress) for each in read_exercises()]
    counts = {"passed": len(progress.passed), "count": len(lines)}
    return [*lines, say("status", progress.lang, **counts)], True


def _tell(exercise: Exercise, progress: CourseProgress) -> str:
    mark = "+" if exercise.number in progress.passed else "-"
    return f"{mark} {exercise.number:2} {exercise.title[progress.lang]}"


ACTIONS: dict[str, Callable[[Path | None, str | None], Said]] = {
    "hint": hint,
    "solution": show_solution,
    "status": show_status,
}

"""The learner's folder: a file for each step, a notebook with the same, and the progress."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from glassformer.foundation.disk import read_json, write_json, write_text

from .cases import list_functions
from .diagnosis import say
from .exercises import Exercise, read_exercises

PROGRESS, NOTEBOOK = "course.json", "course.ipynb"
PLACE = "glassformer-course"
LANGUAGES = ("en", "zh")


class CourseProgress(NamedTuple):
    """How far a learner has come: the steps that are right, and the hints that were read."""

    folder: Path
    lang: str
    passed: tuple[int, ...] = ()
    hints: tuple[tuple[int, int], ...] = ()  # the number of a step, and how many

    def save(self) -> None:
        """Write the progress into the folder."""
        hints = {str(number): count for number, count in self.hints}
        table = {"lang": self.lang, "passed": sorted(self.passed), "hints": hints}
        write_json(self.folder / PROGRESS, table)

    def with_result(self, number: int, *, is_right: bool) -> CourseProgress:
        """Return the progress after a step was checked."""
        passed = {*self.passed, number} if is_right else {*self.passed} - {number}
        return self._replace(passed=tuple(sorted(passed)))

    def with_hint(self, number: int, most: int) -> tuple[CourseProgress, int]:
        """Return the progress after one more hint, and which one that is, counted from 1."""
        hints = dict(self.hints)
        hints[number] = min(hints.get(number, 0) + 1, most)
        return self._replace(hints=tuple(sorted(hints.items()))), hints[number]

    def find_next(self) -> int | None:
        """Return the first step that is not right; None if all are."""
        numbers = (each.number for each in read_exercises())
        return next((each for each in numbers if each not in self.passed), None)


def find_folder(folder: Path | None) -> Path:
    """Return the learner's folder: the given one, the current one, or the one in it.

    ValueError if there is none.
    """
    places = [folder] if folder is not None else [Path(), Path(PLACE)]
    for each in places:
        if (each / PROGRESS).is_file():
            return each
    raise ValueError(
        f"{places[-1]}: there is no course here; begin with `glassformer course start`"
    )


def read_course(folder: Path) -> CourseProgress:
    """Return how far a learner has come. ValueError if the file is damaged."""
    path = folder / PROGRESS
    payload = read_json(path)
    try:
        passed = tuple(int(each) for each in payload["passed"])
        hints = tuple((int(number), int(count)) for number, count in payload["hints"].items())
        lang = payload["lang"] if payload["lang"] in LANGUAGES else LANGUAGES[0]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise ValueError(f"{path}: it is damaged; delete it, and start again") from None
    return CourseProgress(folder, lang, passed, hints)


def start_course(folder: Path, lang: str) -> list[Path]:
    """Write the files of the course that are not there yet, and return them.

    A course that was begun keeps its language.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder}: it is a file, and the course needs a folder")
    folder.mkdir(parents=True, exist_ok=True)
    is_begun = (folder / PROGRESS).exists()
    lang = read_course(folder).lang if is_begun else lang
    blanks = [(each, make_blank(each, lang)) for each in read_exercises()]
    texts = {f"{each.module}.py": text for each, text in blanks}
    texts[NOTEBOOK] = json.dumps(make_notebook(blanks, lang), ensure_ascii=False, indent=1) + "\n"
    written = [folder / name for name in texts if not (folder / name).exists()]
    for path in written:
        write_text(path, texts[path.name])
    if not is_begun:
        CourseProgress(folder, lang).save()
    return written


def make_blank(exercise: Exercise, lang: str) -> str:
    """Return the file of a step as the learner gets it."""
    return exercise.make_blank(lang, list_functions(exercise.number))


def make_notebook(blanks: list[tuple[Exercise, str]], lang: str) -> dict[str, Any]:
    """Return a notebook whose cells write the files of the steps and check them."""
    cells = [_make_cell("markdown", say("notebook.intro", lang))]
    for exercise, blank in blanks:
        _, task, code = blank.split('"""', 2)
        heading = f"## {task.strip()}".replace("\n\n", "\n\n```text\n", 1) + "\n```"
        cells.append(_make_cell("markdown", heading))
        cells.append(_make_cell("code", f"%%writefile {exercise.module}.py\n{code.strip()}"))
        check = f"!{{sys.executable}} -m glassformer course check {exercise.number}"
        cells.append(_make_cell("code", f"import sys\n\n{check}"))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


def _make_cell(kind: str, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": text}
    return cell | ({"execution_count": None, "outputs": []} if kind == "code" else {})

"""The exercises of the course: what to write, hints, a solution, and mistakes that people make.

Each is a file in `exercises`. A mistake is a change of the solution: whoever gets the numbers of
the changed solution has, most likely, made that mistake. `or` has other changes that are the same
mistake.
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent / "exercises"
Text = dict[str, str]  # the same in each language


class Mistake(NamedTuple):
    """A change of the solution, and what is wrong with it."""

    change: tuple[tuple[str, str], ...]  # each old text, which is there once, and the new one
    text: Text

    def apply(self, source: str) -> str | None:
        """Return a source with the mistake; None where what it changes is not there."""
        for old, new in self.change:
            if source.count(old) != 1:
                return None
            source = source.replace(old, new)
        return source


class Exercise(NamedTuple):
    """An exercise, numbered from 1."""

    number: int
    module: str  # step_05_softmax: the learner's file, without .py
    title: Text
    task: Text
    hints: tuple[Text, ...]
    solution: str
    mistakes: tuple[Mistake, ...]

    def list_needed(self) -> list[str]:
        """Return the modules of the earlier steps that the solution imports."""
        needed = [
            node for node in ast.parse(self.solution).body if isinstance(node, ast.ImportFrom)
        ]
        return [each.module for each in needed if each.module and each.module.startswith("step_")]

    def make_blank(self, lang: str, functions: tuple[str, ...]) -> str:
        """Return the learner's file: the task, the imports, and functions without a body."""
        imports, blanks = [], []
        for node in ast.parse(self.solution).body:
            if isinstance(node, ast.FunctionDef):
                if node.name in functions:
                    head = f"def {node.name}({ast.unparse(node.args)}):"
                    blanks.append(f"{head}\n    raise NotImplementedError  # TODO\n")
            else:
                imports.append(ast.unparse(node))
        task = f'"""{self.number}. {self.title[lang]}\n\n{self.task[lang].strip()}\n"""'
        return (
            "\n\n".join([task, *(["\n".join(imports)] if imports else []), ""])
            + "\n"
            + ("\n\n".join(blanks))
        )


@cache
def read_exercises() -> tuple[Exercise, ...]:
    """Return all exercises in order."""
    return tuple(_read(path) for path in sorted(FOLDER.glob("*.toml")))


def _read(path: Path) -> Exercise:
    payload = tomllib.loads(path.read_text(encoding="utf-8"))
    mistakes = (
        Mistake(
            tuple((old, new) for old, new in change),
            {lang: each[lang] for lang in ("en", "zh")},
        )
        for each in payload["mistakes"]
        for change in (each["change"], *each.get("or", ()))
    )
    return Exercise(
        int(path.name[:2]),
        f"step_{path.stem}",
        payload["title"],
        payload["task"],
        tuple(payload["hints"]),
        payload["solution"],
        tuple(mistakes),
    )


def find_exercise(number: int) -> Exercise:
    """Return an exercise by its number; ValueError if there is none."""
    exercises = read_exercises()
    if not 1 <= number <= len(exercises):
        raise ValueError(f"step {number}: the course has the steps 1 to {len(exercises)}")
    return exercises[number - 1]

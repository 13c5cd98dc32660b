"""CONTRIBUTING.md says where things are: the files are there, and so are the names in them."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "glassformer"
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
TABLES = [part.partition("\n\n")[0] for part in PAGE.split("|---|---|\n")[1:]]
ROWS, COUNTS = (re.findall(r"^\| (.+?) \| (.+) \|$", table, re.M) for table in TABLES[:2])
RECIPES = re.findall(
    r"^## ([^\n]+)\n.*?```diff\n(.*?)```",
    (ROOT / "docs" / "extend.md").read_text(encoding="utf-8"),
    re.M | re.S,
)
PLACE = re.compile(r"`([\w/.]+)` \(([^)]+)\)")


@pytest.mark.parametrize(("question", "answer"), ROWS)
def test_what_is_named_is_there(question: str, answer: str) -> None:
    places = PLACE.findall(answer)
    assert len(places) == answer.count("(") and 1 <= len(places) <= 4, question
    for path, names in places:
        text = (PACKAGE / path).read_text(encoding="utf-8")
        for name in re.findall(r"`(.+?)`", names):
            start = r"(def|class) " if path.endswith(".py") else ""
            assert re.search(rf"{start}{re.escape(name)}\b", text), f"{path} has no {name}"


def test_few_files_answer_a_question() -> None:
    assert len(ROWS) >= 10
    assert median(len(PLACE.findall(answer)) for _, answer in ROWS) <= 2


def test_few_files_are_touched_by_an_addition() -> None:
    """The counts are those of the changes themselves, which `tests/unit/test_extend.py` applies."""
    touched = [(name, change.count("+++ b/")) for name, change in RECIPES]
    assert [(name, int(count)) for name, count in COUNTS] == touched
    assert len(touched) >= 9 and median(count for _, count in touched) <= 2
    assert max(count for _, count in touched) <= 4

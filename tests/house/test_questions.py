"""CONTRIBUTING.md says where things are: the files are there, and so are the names in them."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "glassformer"
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| (.+?) \| (.+) \|$", PAGE.partition("|---|---|\n")[2].partition("\n\n")[0], re.M
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

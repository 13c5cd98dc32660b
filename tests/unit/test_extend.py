"""docs/extend.md, taken at its word, on a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
CHANGES = dict(re.findall(r"^## ([^\n]+)\n.*?```diff\n(.*?)```", PAGE, re.M | re.S))
MOST_LINES, MOST_FILES = 15, 2


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of the package to which all changes of the page are made."""
    home = tmp_path_factory.mktemp("copy")
    shutil.copytree(ROOT / "src", home / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name, change in CHANGES.items():
        (home / "change.diff").write_text(change, encoding="utf-8")
        command = ["git", "apply", "--unidiff-zero", "change.diff"]
        done = subprocess.run(command, cwd=home, capture_output=True, check=False)
        assert done.returncode == 0, (name, done.stderr)
    return home


def glassformer(home: Path, *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "glassformer", *arguments],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(home / "src")},
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_small(name: str) -> None:
    added = [line for line in CHANGES[name].splitlines() if re.match(r"\+(?!\+\+)", line)]
    assert len(added) <= MOST_LINES
    assert CHANGES[name].count("+++ b/") <= MOST_FILES


def test_the_verb_counts_the_tokens(copy: Path) -> None:
    from glassformer import Translator

    text = "The cat is on the mat."
    tokens = Translator.load("demo").tokenizers.source.encode(text)
    assert int(glassformer(copy, "count", "demo", text)) == len(tokens)
    assert " count " in glassformer(copy, "--help")


def test_the_picture_is_drawn(copy: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `see` is not installed")
    glassformer(copy, "see", "demo", "The cat is small.", "--picture", "V900", "-o", "look.svg")
    drawn = (copy / "look.svg").read_text(encoding="utf-8")
    assert "</svg>" in drawn and "<path" in drawn

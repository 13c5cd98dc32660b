"""The files that comments and docstrings name are there, and the modules that packages list."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "glassformer"
BUILT = {"static", "models", "node_modules", "dist", "__pycache__", ".venv", "build"}
FOLDERS = ("src", "tests", "benchmarks", "tools", "web")
SUFFIXES = {".py", ".ts", ".c", ".h", ".toml", ".md"}
POINTER = re.compile(r"`((?:\.\./)?[\w-]+(?:/[\w-]+)*\.(?:py|toml|ts|c|h))`")
ROW = re.compile(r"^([a-z]\w+)   *\S", re.M)
OWN = {"config.toml", "idea.py", "my.toml", "quick.py"}  # of a user, in examples


def list_sources() -> list[Path]:
    return [
        path
        for path in [*ROOT.glob("*.py"), *chain(*((ROOT / each).rglob("*") for each in FOLDERS))]
        if path.suffix in SUFFIXES and not BUILT & {*path.relative_to(ROOT).parts}
    ]


SOURCES = list_sources()
PLACES = ["/" + path.relative_to(ROOT).as_posix() for path in SOURCES]
PACKAGES = [path for path in SOURCES if path.name == "__init__.py" and PACKAGE in path.parents]


def test_the_files_that_are_named_are_there() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in SOURCES
        for name in POINTER.findall(path.read_text(encoding="utf-8"))
        if name not in OWN and not any(place.endswith(f"/{name.lstrip('./')}") for place in PLACES)
    ]
    assert not wrong, wrong


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.parent.relative_to(PACKAGE).name)
def test_the_modules_that_a_package_lists_are_there(path: Path) -> None:
    start = path.read_text(encoding="utf-8").split('"""')
    names = ROW.findall(start[1]) if len(start) > 1 else []
    wrong = [name for name in names if not [*path.parent.rglob(f"{name}*")]]
    assert not wrong, wrong

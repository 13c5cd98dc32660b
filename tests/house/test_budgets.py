"""Small files, short functions, plain names: what does not fit is two things."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "glassformer"
FILES = sorted(PACKAGE.rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
VAGUE = {"util", "utils", "helper", "helpers", "common", "base", "manager", "misc"}

# A tensor's name may end in the letters of its axes: B sentences, S source, T target, Q queries,
# M memory, L any length, R rows of a search, D d_model, H heads, K head width, F d_ff,
# V vocabulary, W beam width, C capacity or candidates, N positions of a loss or the n best,
# I frequencies.
LEGEND = set("BSTQMLRDHKFVWCNI")


def _count_lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def _measure_functions() -> dict[str, int]:
    return {
        f"{path.relative_to(PACKAGE)}:{node.lineno} {node.name}": node.end_lineno - node.lineno + 1
        for path, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno
    }


def test_files_have_at_most_250_lines() -> None:
    lengths = {str(path.relative_to(PACKAGE)): _count_lines(path) for path in FILES}
    assert {name: length for name, length in lengths.items() if length > 250} == {}


def test_functions_have_at_most_50_lines() -> None:
    assert {name: length for name, length in _measure_functions().items() if length > 50} == {}


def test_nine_functions_of_ten_have_at_most_30_lines() -> None:
    lengths = sorted(_measure_functions().values())
    assert lengths[int(0.9 * (len(lengths) - 1))] <= 30


@pytest.mark.parametrize(("without", "budget"), [({"rnn.py"}, 550), (set(), 650)])
def test_the_model_fits_on_a_few_pages(without: set[str], budget: int) -> None:
    files = [path for path in (PACKAGE / "model").glob("*.py") if path.name not in without]
    assert files and sum(map(_count_lines, files)) <= budget


def test_no_vague_names() -> None:
    names = {part for path in FILES for part in path.relative_to(PACKAGE).with_suffix("").parts}
    assert not VAGUE & {name.strip("_") for name in names}


def test_shape_suffixes_are_in_the_legend() -> None:
    suffix = re.compile(r"[a-z]\w*_([A-Z]+)")
    wrong = set()
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            name = getattr(node, "id", None) or getattr(node, "arg", None)
            found = suffix.fullmatch(name) if isinstance(name, str) else None
            if found and not set(found[1]) <= LEGEND:
                wrong.add(f"{path.relative_to(PACKAGE)}: {name}")
    assert not wrong

"""Plain names, a model of a few pages, and a formatter without exceptions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from .sources import FILES, PACKAGE, list_trees, read_tree

VAGUE = {"util", "utils", "helper", "helpers", "common", "base", "manager", "misc"}

# A tensor's name may end in the letters of its axes: B sentences, S source, T target, Q queries,
# M memory, L any length, R rows of a search, D d_model, H heads, K head width, F d_ff,
# V vocabulary, W beam width, C capacity or candidates, N positions of a loss or the n best,
# I frequencies.
LEGEND = set("BSTQMLRDHKFVWCNIE")


def _count_code(path: Path) -> int:
    """Lines with something on them besides comments and docstrings."""
    tree = read_tree(path)
    told = {
        line
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = path.read_text(encoding="utf-8").splitlines()
    return sum(
        bool(line.split("#")[0].strip()) and number not in told
        for number, line in enumerate(lines, start=1)
    )


def test_the_model_fits_on_a_few_pages() -> None:
    files = list((PACKAGE / "model").glob("*.py"))
    assert files and sum(map(_count_code, files)) <= 390


def test_the_formatter_is_switched_off_for_tables_alone() -> None:
    skipped = sum(
        len(re.findall(r"# fmt: (?:skip|off)", path.read_text(encoding="utf-8"))) for path in FILES
    )
    assert skipped <= 20


def test_no_vague_names() -> None:
    names = {part for path in FILES for part in path.relative_to(PACKAGE).with_suffix("").parts}
    assert not VAGUE & {name.strip("_") for name in names}


def test_shape_suffixes_are_in_the_legend() -> None:
    suffix = re.compile(r"[a-z]\w*_([A-Z]+)")
    wrong = set()
    for path, tree in list_trees():
        for node in ast.walk(tree):
            name = getattr(node, "id", None) or getattr(node, "arg", None)
            found = suffix.fullmatch(name) if isinstance(name, str) else None
            if found and not set(found[1]) <= LEGEND:
                wrong.add(f"{path}: {name}")
    assert not wrong


def _list_functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path, tree in list_trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield path, node


def test_few_locals_are_dictionaries_of_anything() -> None:
    """Keywords that are handed on have types: by `partial`, a TypedDict, or where they stand."""
    untyped = {
        (path, node.lineno)
        for path, function in _list_functions()
        for node in ast.walk(function)
        if isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and ast.unparse(node.annotation) == "dict[str, Any]"
    }
    assert 0 < len(untyped) <= 46


def test_few_functions_take_any_keywords() -> None:
    untyped = [
        (path, function.name)
        for path, function in _list_functions()
        if (keywords := function.args.kwarg) is not None
        and keywords.annotation is not None
        and ast.unparse(keywords.annotation) in ("Any", "object")
    ]
    assert 0 < len(untyped) <= 69

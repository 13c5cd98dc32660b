"""The files of the package and their syntax trees, which are read once and only for a test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "glassformer"
FILES = sorted(PACKAGE.rglob("*.py"))


@cache
def read_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def list_trees() -> Iterator[tuple[str, ast.Module]]:
    """Yield each file's path within the package, and its tree."""
    for path in FILES:
        yield str(path.relative_to(PACKAGE)), read_tree(path)

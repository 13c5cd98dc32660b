"""Run the cells of a notebook in order, and store what each shows, as Jupyter would.

    python -m benchmarks notebook docs/see.ipynb

Needs no Jupyter: cells of plain Python whose last line is an expression that shows itself.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
from base64 import b64encode
from pathlib import Path
from typing import Any

from glassformer.model.files.directory import write_text

WAYS = {"text/html": "_repr_html_", "image/png": "_repr_png_", "text/latex": "_repr_latex_"}


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """Run the notebook, and return it with the outputs of this run."""
    scope: dict[str, Any] = {}
    number = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            number += 1
            cell |= {"execution_count": number, "outputs": run_cell(cell, scope, number)}
    return notebook


def run_cell(cell: dict[str, Any], scope: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Run a cell; return what it prints, and the value of its last expression."""
    tree, value = ast.parse("".join(cell["source"])), None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), scope)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), scope)
    outputs: list[dict[str, Any]] = []
    if printed.getvalue():
        text = printed.getvalue().splitlines(keepends=True)
        outputs.append({"output_type": "stream", "name": "stdout", "text": text})
    if value is not None:
        outputs.append(
            {
                "output_type": "execute_result",
                "execution_count": number,
                "metadata": {},
                "data": show(value),
            }
        )
    return outputs


def show(value: Any) -> dict[str, str]:
    """Return a value in all the formats in which it can show itself."""
    shown = {"text/plain": repr(value)}
    for kind, name in WAYS.items():
        if data := getattr(value, name, lambda: None)():
            shown[kind] = b64encode(data).decode("ascii") if isinstance(data, bytes) else data
    return shown


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("notebook", type=Path, nargs="+")


def main(options: argparse.Namespace) -> None:
    for path in options.notebook:
        ran = run(json.loads(path.read_text(encoding="utf-8")))
        write_text(path, json.dumps(ran, ensure_ascii=False, indent=1) + "\n")

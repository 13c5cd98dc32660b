"""Options that `train` and `translate` share, and what becomes of their tables."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from glassformer.config import Config
from glassformer.foundation import disk

from .tables import Table


def add_shared(parser: argparse.ArgumentParser, against: str) -> None:
    parser.add_argument("--against", default=against, help="engines, with commas; '' for none")
    parser.add_argument("--precision", default="auto", help="ours, with commas")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side")
    parser.add_argument("--threads", type=int, help="of each side; all cores")
    parser.add_argument("--avx2", action="store_true", help="hold every side to AVX2")
    parser.add_argument("--work", type=Path, help="where engines are installed and kept")
    parser.add_argument("--output", "-o", type=Path, help="also keep the JSON")
    parser.add_argument("--json", action="store_true", help="print JSON, not Markdown")


def read_config(recipe: str, langs: str, changes: Sequence[str]) -> Config:
    """Return the settings of a size or a TOML file, for a pair of languages such as en-fr."""
    source, _, target = langs.partition("-")
    changes = [f"data.source_lang={source}", f"data.target_lang={target}", *changes]
    if Path(recipe).is_file():
        return Config.load(recipe, changes)
    return Config.read({"size": recipe}, changes)


def split(names: str) -> list[str]:
    return [name for name in names.split(",") if name]


def find_cache() -> Path:
    return disk.find_cache() / "benchmarks"


def quote(verb: str) -> str:
    """Return the command that makes the table again, without paths of this machine."""
    said = ["DATA" if os.sep in word else word for word in sys.argv[2:]]
    return " ".join(["python -m benchmarks", verb, *said])


def show(table: Table, options: argparse.Namespace) -> None:
    if options.output:
        disk.write_json(options.output, table.to_json())
    print(json.dumps(table.to_json(), indent=1) if options.json else table.to_markdown())

"""The file `heads.json` of a model directory: what each head reads, and what breaks without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..directory import read_json, write_text

HEADS = "heads.json"


def read_portraits(folder: Path) -> dict[str, Any] | None:
    """Return what `see.heads` found; None if the model directory has no such file."""
    path = folder / HEADS
    found: dict[str, Any] | None = read_json(path) if path.is_file() else None
    return found


def write_portraits(folder: Path, portraits: dict[str, Any]) -> None:
    """Write the portraits to a model directory."""
    write_text(folder / HEADS, json.dumps(portraits, ensure_ascii=False) + "\n")

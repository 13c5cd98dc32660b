"""What toolkits share that are stopped at given CPU-seconds: their settings, text and results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def read_settings(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the task, with the dropout of this training, and what was chosen for it."""
    task, chosen = (
        dict(json.loads((folder / name).read_text(encoding="utf-8")))
        for name in ("task.json", "learning.json")
    )
    task["model"]["dropout"] = chosen["dropout"]
    return task, chosen


def read_text(chosen: dict[str, Any], part: str) -> list[list[str]]:
    """Return the lines of each file of a part, for toolkits that make tokens of their own."""
    return [_read_lines(Path(path)) for path in chosen["text"][part]]


def write_result(path: Path, cpu: float, updates: int, tokens: int, said: Sequence[str]) -> None:
    """Write what was learned in so many CPU-seconds, as one line of JSON."""
    row = {"cpu": cpu, "updates": updates, "tokens": tokens, "said": list(said)}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")


def _read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8-sig").removesuffix("\n").split("\n")

"""The file `evaluation.json` of a model directory: the worst sentences of a test set.

It holds test text, so `publish` leaves it behind.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..directory import read_json, write_json

EVALUATION = "evaluation.json"


def read_evaluation(folder: Path) -> dict[str, Any] | None:
    """Return what `evaluate --store` found; None if the model directory has no such file."""
    path = folder / EVALUATION
    found: dict[str, Any] | None = read_json(path) if path.is_file() else None
    return found


def write_evaluation(folder: Path, evaluation: dict[str, Any]) -> None:
    """Write the scores and the worst sentences to a model directory."""
    write_json(folder / EVALUATION, evaluation)

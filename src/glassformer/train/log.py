"""The numbers of a training: metrics.jsonl, and TensorBoard's files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..directory import write_text


class MetricsLog:
    """A writer of metrics.jsonl, one object a line, and of TensorBoard events if installed."""

    def __init__(self, folder: Path, step: int):
        self.path = folder / "metrics.jsonl"
        cut_after(self.path, step)
        self.board = _tensorboard(folder / "tensorboard", step)

    def write(self, step: int, values: Mapping[str, Any]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **values}, ensure_ascii=False) + "\n")
        if self.board:
            for name, value in values.items():
                if isinstance(value, int | float):
                    self.board.add_scalar(name, value, step)
            self.board.flush()


def cut_after(path: Path, step: int) -> None:
    """Remove the lines after `step`: they are from an interrupted run, and are written again."""
    kept = []
    if path.is_file():
        for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
            try:
                is_old = json.loads(line)["step"] <= step
            except (ValueError, KeyError, TypeError, RecursionError):
                continue  # incomplete, after a kill or a loss of power
            if is_old:
                kept.append(line + "\n")
    write_text(path, "".join(kept))


def _tensorboard(folder: Path, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder), purge_step=step + 1)

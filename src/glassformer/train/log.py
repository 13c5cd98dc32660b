"""The output of a training: progress bars for people, metrics.jsonl and TensorBoard."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from ..directory import write_text

Advance = Callable[..., None]  # advance(done, total=None, note="")


class Reporter:
    """A reporter on stderr: progress bars with ETA on a terminal, plain lines elsewhere."""

    def __init__(self, quiet: bool = False):
        self.console = Console(stderr=True, quiet=quiet, soft_wrap=True, highlight=False)
        self.every = 15.0  # seconds between lines where no bar can be drawn
        self.said = set[str]()

    def say(self, text: str) -> None:
        self.console.print(text, markup=False)

    def say_once(self, text: str) -> None:
        """Say what may come up again, but not again."""
        if text not in self.said:
            self.said.add(text)
            self.say(text)

    @contextmanager
    def phase(self, name: str, total: int | None = None) -> Iterator[Advance]:
        """Show the progress of a phase; call the yielded function with how much is done."""
        if not (self.console.is_terminal and sys.stderr.isatty()):
            yield self._lines(name, total)
            return
        columns = (
            TextColumn("{task.description:<12}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Progress(*columns, console=self.console, transient=True) as progress:
            task = progress.add_task(name, total=total, note="")

            def advance(done: int, total: int | None = total, note: str = "") -> None:
                progress.update(task, completed=done, total=total, note=note)

            yield advance

    @contextmanager
    def counting(self, name: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show the progress of a phase; call the yielded function with how many more are done."""
        done = 0
        with self.phase(name, total) as advance:

            def count(more: int) -> None:
                nonlocal done
                done += more
                advance(done)

            yield count

    def _lines(self, name: str, total: int | None) -> Advance:
        began = last = time.monotonic()
        first: int | None = None

        def advance(done: int, total: int | None = total, note: str = "") -> None:
            nonlocal last, first
            now = time.monotonic()
            first = done if first is None else first
            if now - last < self.every:
                return
            last = now
            left = ""
            if total and done > first:
                left = f", {(now - began) / (done - first) * (total - done):.0f} s left"
            of = f" of {total:,}" if total else ""
            self.say(f"{name}: {done:,}{of}{left} {note}".rstrip())

        return advance


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

"""What was tried, how often, what happened and what was lost: the table of docs/reliability.md."""

from __future__ import annotations

import platform
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

HEAD = """# Reliability

What was done to glassformer, and what came of it. `make faults` does all of it again and writes
this page; a smaller share of each is in `make test`. A line is here only if every try ended as it
says: otherwise the command fails.

"""


@dataclass
class Line:
    happened: str
    lost: str
    tried: int = 0
    details: Counter[str] = field(default_factory=Counter)


class Ledger:
    def __init__(self) -> None:
        self.tables: dict[str, dict[str, Line]] = {}
        self.failed: set[str] = set()

    def note(
        self, table: str, fault: str, happened: str, lost: str = "nothing", *, times: int = 1,
        detail: str = "",
    ) -> None:  # fmt: skip
        line = self.tables.setdefault(table, {}).setdefault(fault, Line(happened, lost))
        line.tried += times
        if detail:
            line.details[detail] += times

    def render(self, seconds: float, versions: str) -> str:
        text = HEAD
        for table, lines in self.tables.items():
            text += f"## {table}\n\n| fault | tried | what happened | what was lost |\n"
            text += "|---|--:|---|---|\n"
            for fault, line in lines.items():
                parts = ", ".join(f"{count:,} {name}" for name, count in line.details.most_common())
                told = f"{line.happened} ({parts})" if parts else line.happened
                text += f"| {fault} | {line.tried:,} | {told} | {line.lost} |\n"
            text += "\n"
        machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
        return text + f"Made in {seconds / 60:.0f} minutes on {machine}, {versions}.\n"

    def write(self, path: Path, seconds: float, versions: str) -> None:
        path.write_text(self.render(seconds, versions), encoding="utf-8", newline="\n")

"""The results of a comparison: rows with medians, spreads and ratios, as Markdown and JSON."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """One engine's results. The ratio is the median over rounds of our speed divided by theirs."""

    engine: str
    version: str | None
    figures: dict[str, float | str]
    against: str | None = None
    ratio: float | None = None  # speed of `against` divided by that of `engine`
    spread: tuple[float, float] | None = None  # the smallest and the largest ratio of a round
    refused: str | None = None  # why the ratio is not valid


@dataclass(frozen=True)
class Table:
    """The results of a comparison on one machine in one run."""

    title: str
    command: str
    machine: str
    conditions: dict[str, Any]
    ceilings: dict[str, float]
    rows: list[Row] = field(default_factory=list)
    columns: dict[str, str] = field(default_factory=dict)  # key of a result -> heading|format

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def to_markdown(self) -> str:
        said = ", ".join(f"{name} {_tell(value)}" for name, value in self.conditions.items())
        tops = ", ".join(f"{name} {value:,.2f}" for name, value in self.ceilings.items())
        heads = ["engine", *(head.partition("|")[0] for head in self.columns.values()), "ours"]
        lines = [
            f"**{self.title}.** {said}.",
            f"On {self.machine}. Measured in the same run: {tops}.",
            f"`{self.command}`",
            "",
            "| " + " | ".join(heads) + " |",
            "|" + "---|" * len(heads),
        ]
        return "\n".join([*lines, *(self._line(row) for row in self.rows)]) + "\n"

    def _line(self, row: Row) -> str:
        cells = [f"{row.engine} {row.version}" if row.version else row.engine]
        for name, head in self.columns.items():
            value = row.figures.get(name, "")
            cells.append(f"{value:{head.partition('|')[2]}}" if value != "" else "")
        cells.append(_tell_ratio(row))
        return "| " + " | ".join(cells) + " |"


def compare(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Return the median and the range, over rounds, of our speed divided by theirs."""
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    return statistics.median(ratios), (min(ratios), max(ratios))


def middle(answers: Sequence[dict[str, Any]], name: str) -> float:
    return statistics.median(float(answer[name]) for answer in answers)


def _tell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _tell_ratio(row: Row) -> str:
    if row.refused:
        return f"not compared: {row.refused}"
    if row.ratio is None or row.spread is None:
        return ""
    return f"{row.ratio:.2f}x ({row.spread[0]:.2f}-{row.spread[1]:.2f})"

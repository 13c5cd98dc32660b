"""Tables of results as Markdown and JSON, and the machine that they are from."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from glassformer.foundation.machine.properties import look_at_machine


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
        lines = (
            f"**{self.title}.** {said}.",
            f"On {self.machine}. Measured in the same run: {tops}.",
            f"`{self.command}`",
            "",
            tell_table(heads, map(self._cells, self.rows)),
        )
        return "\n".join(lines)

    def _cells(self, row: Row) -> list[str]:
        cells = [f"{row.engine} {row.version}" if row.version else row.engine]
        for name, head in self.columns.items():
            value = row.figures.get(name, "")
            cells.append(f"{value:{head.partition('|')[2]}}" if value != "" else "")
        return [*cells, _tell_ratio(row)]


def tell_table(heads: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """Return a Markdown table; its first columns are `texts`, the others numbers."""
    marks = ["---" if place < texts else "--:" for place in range(len(heads))]
    lines = [f"| {' | '.join(cells)} |" for cells in (heads, *rows)]
    return "\n".join([lines[0], f"|{'|'.join(marks)}|", *lines[1:]]) + "\n"


def compare(ours: Sequence[float], theirs: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Return the median and the range, over rounds, of our speed divided by theirs."""
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    return statistics.median(ratios), (min(ratios), max(ratios))


def middle(answers: Sequence[dict[str, Any]], name: str) -> float:
    return statistics.median(float(answer[name]) for answer in answers)


def tell_machine(environment: Mapping[str, str] | None = None) -> str:
    """Return a description of the machine, with the limits set for a comparison."""
    machine = look_at_machine()
    held = f" ({' '.join(f'{k}={v}' for k, v in environment.items())})" if environment else ""
    gib = f", {machine.memory:.0f} GiB" if machine.memory else ""
    amx = " with AMX" if machine.has_amx else ""
    gpus = f", {' and '.join(machine.gpus)}" if machine.gpus else ""
    return f"{machine.cores} cores of {machine.processor}, {machine.vectors}{amx}{gib}{gpus}{held}"


def _tell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _tell_ratio(row: Row) -> str:
    if row.refused:
        return f"not compared: {row.refused}"
    if row.ratio is None or row.spread is None:
        return ""
    return f"{row.ratio:.2f}x ({row.spread[0]:.2f}-{row.spread[1]:.2f})"

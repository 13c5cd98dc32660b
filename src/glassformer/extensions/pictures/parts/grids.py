"""A matrix with the names of its rows and columns, as attention is shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from . import style
from .nodes import Down, Label, Node, Numeral, Sheet, Slot
from .quantity import Array, Quantity
from .scene import Area

BETWEEN, LEAST = 5.0, 6.0  # between a name and its row; the smallest type
REASONS = {  # why a cell is hidden: hatch, fill, edge
    "seen": ("", style.role("weights").fill, ""),
    "padding": ("/", style.PAPER, "#aeb4bd"),
    "later": ("x", "#fff4e6", "#e0a060"),
}


class CellGrid(Protocol):
    """A node of equal cells."""

    width: float
    height: float

    @property
    def cell(self) -> tuple[float, float]: ...

    def place(self, sheet: Sheet, x: float, y: float) -> None: ...


class Matrix(Node):
    """CellGrid with a name for each row and column; names of narrow columns stand upright.

    head: what stands above the middle of the cells. sums: one number for each row, written at its
    right end. lit: rows whose names are lit and whose cells are framed. Each row is a place for
    links and callouts: that of `find_row`.
    """

    def __init__(
        self,
        cells: CellGrid,
        *,
        rows: Sequence[str] = (),
        columns: Sequence[str] = (),
        head: Node | None = None,
        sums: Sequence[Quantity | Node] = (),
        fit: float = 90.0,
        lit: Sequence[int] = (),
    ):
        self.cells, self.lit, (wide, high) = cells, lit, cells.cell
        self.sums = [
            each if isinstance(each, Node) else Numeral(each, style.TINY, style.SOFT)
            for each in sums
        ]
        size = min(style.SMALL, max(LEAST, high * 0.72))
        self.rows = [
            Label(text, size, style.LIT if n in lit else style.INK, bold=n in lit, fit=fit)
            for n, text in enumerate(rows)
        ]
        size = min(style.SMALL, max(LEAST, wide * 0.72))
        names = [Label(text, size, fit=fit) for text in columns]
        if any(label.width > wide - 2 for label in names):
            names = [Label(text, size, fit=fit, upright=True) for text in columns]
        self.columns = names
        self.left = max((label.width + BETWEEN for label in self.rows), default=0.0)
        self.head, self.names = head, max((label.height + 3 for label in names), default=0.0)
        self.top = self.names + (head.height + 4 if head else 0.0)
        right = max((number.width + BETWEEN for number in self.sums), default=0.0)
        self.width, self.height = self.left + cells.width + right, self.top + cells.height

    @property
    def axis(self) -> float:
        return self.top + self.cells.height / 2

    def find_row(self, n: int) -> str:
        """Return the name of the place of a row: of its name, its cells and its sum."""
        return f"{self.name}, row {n}"

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        (wide, high), left, top = self.cells.cell, x + self.left, y + self.top
        self.cells.place(sheet, left, top)
        wide_row = self.width + (BETWEEN if self.sums else 0.0)
        for n in range(len(self.rows)):
            sheet.places[self.find_row(n)] = Area(x, top + n * high, wide_row, high)
        for n in self.lit:
            sheet.box(
                left, top + n * high, self.cells.width, high, edge=style.LIT, line=1.4, layer=5
            )
        if self.head:
            middle = left + (self.cells.width - self.head.width) / 2
            self.head.place(sheet, middle, top - self.top)
        for n, label in enumerate(self.rows):
            middle = top + (n + 0.5) * high
            label.place(sheet, left - BETWEEN - label.width, middle - label.height / 2)
        for n, label in enumerate(self.columns):
            label.place(sheet, left + (n + 0.5) * wide - label.width / 2, top - 3 - label.height)
        for n, number in enumerate(self.sums):
            right, middle = left + self.cells.width + BETWEEN, top + (n + 0.5) * high
            number.place(sheet, right, middle - number.height / 2)


class RowStack(Down):
    """Rows of cells below each other, each a node of its own, such as one that arrives later."""

    def __init__(self, rows: Sequence[Node], cell: tuple[float, float]):
        super().__init__(*rows, gap=0)
        self.cell = cell


class Reasons(Node):
    """CellGrid that are seen, or hidden for a reason; `why` has the index of each in `REASONS`."""

    def __init__(self, why: Array, cell: tuple[float, float]):
        self.why, self.cell = why, cell
        self.width, self.height = cell[0] * why.shape[1], cell[1] * why.shape[0]

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        wide, high = self.cell
        for n, row in enumerate(self.why.astype(int)):
            starts = np.flatnonzero(np.diff(row, prepend=-1)).tolist()
            for start, end in zip(starts, [*starts[1:], len(row)], strict=True):
                hatch, fill, edge = REASONS[list(REASONS)[row[start]]]
                sheet.box(
                    x + start * wide,
                    y + n * high,
                    (end - start) * wide,
                    high,
                    fill=fill,
                    hatch=hatch,
                    edge=edge,
                    line=0.4,
                )
        sheet.box(x, y, self.width, self.height, edge=style.SOFT, layer=4)


class Struck(Slot):
    """A node with a line through it."""

    def __init__(self, node: Node, width: float = 0.0, ink: str = style.LIT):
        super().__init__(node, width)
        self.ink = ink

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        super().draw(sheet, x, y)
        left, middle = x + (self.width - self.node.width) / 2, y + self.height / 2
        ends = ((left - 2, middle), (left + self.node.width + 2, middle))
        sheet.line(*ends, ink=self.ink, line=1.3, layer=7)

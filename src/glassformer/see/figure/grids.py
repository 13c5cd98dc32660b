"""A matrix with the names of its rows and columns, as attention is shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import style
from .nodes import Label, Node, Numeral, Panel, Sheet
from .quantity import Array, Quantity

BETWEEN = 5.0  # a name and its row


class Matrix(Node):
    """A panel with a name for each row and column; names of narrow columns stand upright.

    sums: one number for each row, written at its right end. lit: rows whose names are lit.
    """

    def __init__(
        self,
        quantity: Quantity | Array,
        *,
        rows: Sequence[str] = (),
        columns: Sequence[str] = (),
        cell: tuple[float, float],
        scale: str = "share",
        limit: float | None = 1.0,
        hidden: Array | None = None,
        digits: int | None = None,
        size: float = style.TINY,
        sums: Sequence[Quantity] = (),
        edge: str = "",
        fit: float = 90.0,
        lit: Sequence[int] = (),
    ):
        shape = quantity.shape if isinstance(quantity, Quantity) else np.shape(quantity)
        wide, high = cell
        self.cell, self.sums = cell, [Numeral(each, size, style.SOFT) for each in sums]
        self.panel = Panel(
            quantity,
            width=wide * shape[1],
            height=high * shape[0],
            scale=scale,
            limit=limit,
            hidden=hidden,
            digits=digits,
            size=size,
            edge=edge,
        )
        type = min(style.SMALL, max(6.0, high * 0.72))
        self.rows = [
            Label(text, type, style.LIT if n in lit else style.INK, bold=n in lit, fit=fit)
            for n, text in enumerate(rows)
        ]
        narrow = [Label(text, style.TINY, fit=fit) for text in columns]
        self.is_upright = any(label.width > wide - 2 for label in narrow)
        type = min(style.SMALL, max(6.0, wide * 0.72))
        self.columns = [Label(t, type, fit=fit, upright=self.is_upright) for t in columns]
        self.left = max((label.width + BETWEEN for label in self.rows), default=0.0)
        self.top = max((label.height + 3 for label in self.columns), default=0.0)
        sums_wide = max((number.width + BETWEEN for number in self.sums), default=0.0)
        self.width = self.left + self.panel.width + sums_wide
        self.height = self.top + self.panel.height

    @property
    def axis(self) -> float:
        return self.top + self.panel.height / 2

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        wide, high = self.cell
        left, top = x + self.left, y + self.top
        self.panel.place(sheet, left, top)
        for n, label in enumerate(self.rows):
            label.place(
                sheet, left - BETWEEN - label.width, top + (n + 0.5) * high - label.height / 2
            )
        for n, label in enumerate(self.columns):
            label.place(sheet, left + (n + 0.5) * wide - label.width / 2, top - 3 - label.height)
        for n, number in enumerate(self.sums):
            right = left + self.panel.width + BETWEEN
            number.place(sheet, right, top + (n + 0.5) * high - number.height / 2)

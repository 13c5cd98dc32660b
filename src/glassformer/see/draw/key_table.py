"""A table of one query and all keys, with a column for each step of attention (V33-V37)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import theme
from .canvas import Page
from .cells import strip
from .selection import Look

Array = NDArray[Any]
ROW = 32.0  # height of a row


class KeyTable:
    """A table with a row for each key and a column for each step of attention."""

    def __init__(self, page: Page, trace: Any, look: Look):
        self.page, self.trace, self.look = page, trace, look
        self.width = trace.settings.width
        self.cells = min(4, self.width)
        self.x = 96.0
        page.text(84, -10, page.say("key", "键"), size=theme.SMALL, color=theme.SOFT, ha="right")

    def y(self, row: int) -> float:
        return 16 + row * ROW

    def cell(self, window: str, place: int) -> str:
        look = self.look
        return f"trace['{look.name}.{window}'][{look.head},{look.query},{place}]"

    def head(self, x: float, en: str, zh: str, tex: str, role: str) -> None:
        """Write the name and the formula of a column above it."""
        ink = theme.role(role).ink
        self.page.text(x, -26, self.page.say(en, zh), size=theme.SMALL, color=ink, ha="center")
        self.page.formula(x, -10, tex, size=9.5, color=ink)

    def draw_keys(self) -> None:
        """Draw the names of the keys and the key vectors."""
        page, trace, look = self.page, self.trace, self.look
        for row, i in enumerate(look.shown):
            lit = i == look.query
            page.text(84, self.y(row), look.keys[i], mono=True, ha="right", width=84, bold=lit)
            strip(
                page,
                self.x,
                self.y(row) - 10,
                trace[f"{look.name}.key"][look.head, i],
                "key",
                (f"{look.name}.key", (look.head, i)),
                shown=self.cells,
            )
        if look.rest:
            page.text(
                84,
                self.y(len(look.shown)),
                page.say(f"{len(look.rest)} others", f"其余 {len(look.rest)} 个"),
                size=theme.SMALL,
                color=theme.SOFT,
                ha="right",
            )
        wide = self.cells * 30
        self.head(self.x + wide / 2, "keys", "键", r"k_j = x_j W^K", "key")
        self.x += wide + 34

    def draw_query(self) -> None:
        page, look = self.page, self.look
        ink = theme.role("query").ink
        page.text(84, -62, look.keys[look.query], mono=True, ha="right", bold=True, width=84)
        rect = strip(
            page,
            96,
            -72,
            self.trace[f"{look.name}.query"][look.head, look.query],
            "query",
            (f"{look.name}.query", (look.head, look.query)),
            shown=self.cells,
        )
        page.formula(rect.right + 30, -62, r"q_i = x_i W^Q", size=9.5, color=ink, ha="left")
        page.text(
            rect.right + 108,
            -62,
            page.say("asks every key", "询问每一个键"),
            size=theme.SMALL,
            color=ink,
        )

    def column(
        self,
        values: list[tuple[float, Any]],
        role: str,
        en: str,
        zh: str,
        tex: str,
        *,
        digits: int = 2,
        tell: Callable[[str], tuple[str, str]] | None = None,
    ) -> None:
        """Draw a column of single numbers, each tagged with its source."""
        fill, ink, _ = theme.role(role)
        middle = self.x + 25
        self.head(middle, en, zh, tex, role)
        for row, (value, of) in enumerate(values):
            if tell and row < len(self.look.shown):
                self.page.step(*tell(self.look.keys[self.look.shown[row]]))
            y = self.y(row)
            self.page.box(self.x + 3, y - 10, 44, 20, fill=fill, edge=ink, line=0.8, round=3)
            self.page.number(middle, y, value, of, digits=digits)
        self.x += 66

    def draw_scores(self, told: bool) -> None:
        look, root = self.look, float(np.sqrt(self.width))
        scores = self.trace[f"{look.name}.scores"][look.head, look.query]
        values = [
            (float(scores[i]) * root, f"derived:{self.cell('scores', i)}*np.sqrt({self.width})")
            for i in look.shown
        ]

        def tell(key: str) -> tuple[str, str]:
            return (
                f"The query meets the key of “{key}”: their {self.width} products, added.",
                f"查询遇到“{key}”的键：{self.width} 个乘积之和。",
            )

        how = tell if told else None
        self.column(values, "scores", "score", "得分", r"q_i \cdot k_j", tell=how)

    def draw_scaled(self, told: bool) -> None:
        look = self.look
        scores = self.trace[f"{look.name}.scores"][look.head, look.query]
        root = f"{np.sqrt(self.width):.2f}".rstrip("0").rstrip(".")
        if told:
            self.page.step(
                f"Every score is divided by √d_k = √{self.width} = {root}.",
                f"每个得分都除以 √d_k = √{self.width} = {root}。",
            )
        values = [
            (float(scores[i]), (f"{look.name}.scores", (look.head, look.query, i)))
            for i in look.shown
        ]
        self.column(values, "scores", "scaled", "缩放", r"\div\sqrt{d_k}" + f"={root}")

    def draw_weights(self, told: bool) -> None:
        look = self.look
        weights = self.trace[f"{look.name}.weights"][look.head, look.query]
        values: list[tuple[float, Any]] = [
            (float(weights[i]), (f"{look.name}.weights", (look.head, look.query, i)))
            for i in look.shown
        ]
        if look.rest:
            values.append(
                (
                    float(weights[look.rest].sum()),
                    f"derived:trace['{look.name}.weights'][{look.head},{look.query},{look.rest}"
                    "].sum()",
                )
            )
        if told:
            self.page.step(
                "The softmax makes shares of them: all positive, together 1.",
                "softmax 把它们变成份额：全为正，合计为 1。",
            )
        x = self.x
        self.column(values, "weights", "softmax", "softmax", r"\alpha_{ij}")
        y = self.y(len(values))
        self.page.number(
            x + 25,
            y - 4,
            float(weights.sum()),
            f"derived:trace['{look.name}.weights'][{look.head},{look.query}].sum()",
            before="Σ ",
            color=theme.role("weights").ink,
            bold=True,
        )

    def draw_weighted(self, told: bool) -> None:
        """Draw each value and its product with its weight, paler for a smaller weight."""
        page, look = self.page, self.look
        weights = self.trace[f"{look.name}.weights"][look.head, look.query]
        values = self.trace[f"{look.name}.value"][look.head]
        wide = self.cells * 30
        start = self.x
        for row, i in enumerate(look.shown):
            if told:
                page.step(
                    f"The value of “{look.keys[i]}”, times its weight: the less it counts, the "
                    "paler.",
                    f"“{look.keys[i]}”的值乘以它的权重：份量越小，颜色越淡。",
                )
            y = self.y(row)
            strip(
                page,
                start,
                y - 10,
                values[i],
                "value",
                (f"{look.name}.value", (look.head, i)),
                shown=self.cells,
            )
            page.text(start - 8, y, "×", color=theme.SOFT, ha="center")
            self._draw_product(
                start + wide + 42,
                row,
                weights[i] * values[i],
                float(weights[i]),
                f"trace['{look.name}.weights'][{look.head},{look.query},{i}]*trace['{look.name}"
                f".value'][{look.head},{i}]",
            )
        if look.rest:
            expression = (
                f"(trace['{look.name}.weights'][{look.head},{look.query},{look.rest}]"
                f"@trace['{look.name}.value'][{look.head},{look.rest}])"
            )
            product = weights[look.rest] @ values[look.rest]
            self._draw_product(
                start + wide + 42,
                len(look.shown),
                product,
                float(weights[look.rest].sum()),
                expression,
            )
        self.head(start + wide / 2, "values", "值", r"v_j = x_j W^V", "value")
        self.head(
            start + wide * 1.5 + 42, "weighted values", "加权后的值", r"\alpha_{ij}\,v_j", "value"
        )
        self.x = start + wide + 42

    def _draw_product(
        self, x: float, row: int, product: Array, weight: float, expression: str
    ) -> None:
        fill, ink, _ = theme.role("value")
        y = self.y(row)
        self.page.text(x - 12, y, "=", color=theme.SOFT, ha="center")
        for d in range(self.cells):
            strength = 0.12 + 0.88 * min(1.0, weight * 1.5)
            self.page.box(
                x + d * 30, y - 10, 30, 20, fill=fill, edge=ink, line=0.8, round=0, alpha=strength
            )
            self.page.number(
                x + d * 30 + 15,
                y,
                float(product[d]),
                f"derived:{expression}[{d}]",
                alpha=0.45 + 0.55 * min(1.0, weight * 1.5),
            )

    def draw_sum(self) -> None:
        page, look = self.page, self.look
        page.step(
            "and added up, they are what this head has read for this token.",
            "相加之后，就是这个头为该词元读到的内容。",
        )
        rows = len(look.shown) + bool(look.rest)
        y = self.y(rows) + 6
        page.line([(self.x - 20, y - 12), (self.x + self.cells * 30 + 4, y - 12)], color=theme.INK)
        z = self.trace[f"{look.name}.context"][look.head, look.query]
        strip(
            page,
            self.x,
            y - 4,
            z,
            "heads",
            (f"{look.name}.context", (look.head, look.query)),
            shown=self.cells,
        )
        page.formula(
            self.x - 8,
            y + 6,
            r"z_i = \sum_j \alpha_{ij} v_j =",
            size=10,
            color=theme.role("heads").ink,
            ha="right",
        )

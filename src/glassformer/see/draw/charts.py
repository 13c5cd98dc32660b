"""Curves over axes, drawn on a page beside other things."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from matplotlib.collections import EllipseCollection

from . import theme
from .canvas import Colour, Page, Point, Rect
from .selection import Array

Span = tuple[float, float]
FEW = 2000  # dots drawn as vectors at most; more become pixels


def spell_rounded(value: float, figures: int = 2) -> str:
    """Return a number to so many significant digits, without exponent: 104 to two is 100."""
    text = np.format_float_positional(
        value, precision=figures, unique=False, fractional=False, trim="-"
    )
    return text.replace("-", "−")


def choose_ticks(span: Span, most: int = 5) -> list[float]:
    """Return round numbers inside a span: 1, 2 or 5 times a power of ten apart."""
    low, high = span
    rough = max(high - low, 1e-12) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


class Chart:
    """Axes with ticks; with `log`, the x axis shows log2(1 + x), so that it can begin at 0."""

    def __init__(
        self,
        page: Page,
        rect: Rect,
        x: Span,
        y: Span,
        *,
        across: str = "",
        up: str = "",
        log: bool = False,
        x_ticks: Sequence[float] | None = None,
    ):
        self.page, self.rect, self.log = page, rect, log
        self.x, self.y = (self._bend(x[0]), self._bend(x[1])), y
        page.box(*rect, fill=theme.PAPER, edge=None, layer=0.5)
        page.line([rect.at(0, 0), rect.at(0, 1), rect.at(1, 1)], color=theme.SOFT, width=0.8)
        for tick in choose_ticks(y):
            place = self.at(x[0], tick)
            page.line([place, (rect.right, place[1])], color=theme.FAINT, width=0.5, layer=1)
            self._write(tick, place[0] - 5, place[1], "right")
        for tick in choose_ticks(x) if x_ticks is None else x_ticks:
            self._write(tick, self.at(tick, y[0])[0], rect.bottom + 9, "center")
        if across:
            page.text(
                rect.centre[0],
                rect.bottom + 23,
                across,
                size=theme.SMALL,
                ha="center",
                color=theme.SOFT,
            )
        if up:
            page.text(rect.x - 4, rect.y - 12, up, size=theme.SMALL, color=theme.SOFT)

    def _bend(self, x: float) -> float:
        return math.log2(1 + x) if self.log else x

    def _write(self, tick: float, x: float, y: float, ha: str) -> None:
        text = spell_rounded(tick, 6)
        self.page.text(x, y, text, size=theme.TINY, color=theme.SOFT, ha=ha, gid="scale")

    def at(self, x: float, y: float) -> Point:
        """Return the point of the page at which a point of the data lies."""
        across = (self._bend(x) - self.x[0]) / ((self.x[1] - self.x[0]) or 1)
        down = 1 - (y - self.y[0]) / ((self.y[1] - self.y[0]) or 1)
        return self.rect.at(across, down)

    def curve(
        self,
        x: Sequence[float],
        y: Sequence[float],
        color: str,
        *,
        width: float = 1.5,
        dots: bool = False,
        dashed: bool = False,
        label: str = "",
        alpha: float = 1,
    ) -> None:
        """Draw a line through the data, with its label at the end."""
        points = [self.at(a, b) for a, b in zip(x, y, strict=True)]
        self.page.line(points, color=color, width=width, dashed=dashed, alpha=alpha)
        for a, b in points if dots else ():
            self.page.box(a - 2, b - 2, 4, 4, fill=color, edge=None, round=2, layer=4, alpha=alpha)
        if label:
            self.page.text(points[-1][0] + 5, points[-1][1], label, size=theme.SMALL, color=color)


def dots(
    page: Page, points: Array, wide: float, color: Colour, *, layer: float = 2, alpha: float = 1
) -> None:
    """Draw many points as dots of diameter `wide`; more than `FEW` are stored as pixels."""
    found = EllipseCollection(
        [wide],
        [wide],
        [0],
        units="xy",
        offsets=points,
        offset_transform=page.ax.transData,
        facecolors=color,
        linewidths=0,
        zorder=layer,
        alpha=alpha,
        rasterized=len(points) > FEW,
    )
    page.ax.add_collection(found, autolim=False)
    page.keep(found)

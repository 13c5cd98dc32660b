"""Curves and dots over axes, named at their ends instead of in a legend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Required, TypedDict

from . import style
from .nodes import Label, Node, Sheet, spell
from .quantity import Array, Quantity
from .scene import Area, Point

Span = tuple[float, float]
LEADER = 20.0  # from an end to its name, if a line joins them


@dataclass(frozen=True)
class Curve:
    """A line through points, or dots; with a name at its end."""

    xs: Sequence[float]
    ys: Sequence[float]
    ink: str = style.FAINT
    line: float = 1.0
    label: str = ""
    dots: bool = False
    alpha: float = 1.0  # of its dots
    name: str = ""  # of its last point, for callouts
    of: Quantity | None = None  # the number at the end of its label
    dashed: bool = False
    step: int = 0  # of an animation, at which it appears


class PlotLook(TypedDict, total=False):
    """How a plot looks, besides its curves and the names of its axes."""

    x: Required[Span]
    y: Required[Span]
    width: float
    height: float
    x_ticks: Sequence[float] | None
    y_ticks: Sequence[float] | None
    log: bool
    log_x: bool
    beside: float


class Plot(Node):
    """Axes with curves. Its labels stand at the ends of the curves, none upon another."""

    def __init__(
        self,
        curves: Sequence[Curve],
        *,
        width: float = 260.0,
        height: float = 190.0,
        x: Span,
        y: Span,
        across: str = "",
        up: str = "",
        x_ticks: Sequence[float] | None = None,
        y_ticks: Sequence[float] | None = None,
        log: bool = False,
        log_x: bool = False,
        beside: float = 64.0,
    ):
        self.curves, self.x, self.y, self.log, self.log_x = curves, x, y, log, log_x
        self.x_ticks = round_ticks(x) if x_ticks is None else x_ticks
        self.y_ticks = round_ticks(y) if y_ticks is None else y_ticks
        self.marks = [label_tick(tick) for tick in self.y_ticks]
        self.up = Label(up, style.SMALL, style.SOFT) if up else None
        self.across = Label(across, style.SMALL, style.SOFT) if across else None
        self.inset = max((label.width for label in self.marks), default=0.0) + 6
        self.top = (self.up.height + 4 if self.up else 0.0) + 4
        self.wide, self.high, self.beside = width, height, beside
        self.width = self.inset + width + (beside if any(c.label for c in curves) else 6.0)
        self.height = self.top + height + 18 + (self.across.height if self.across else 0.0)

    def find(self, x: float, y: float) -> Point:
        """Return where a point of the data lies, relative to the upper left corner."""
        scale = (math.log10(v) if self.log else v for v in (y, *self.y))
        here, low, high = scale
        place, first, last = (math.log(v) if self.log_x else v for v in (x, *self.x))
        across = (place - first) / ((last - first) or 1)
        return self.inset + across * self.wide, self.top + self.high * (
            1 - (here - low) / ((high - low) or 1)
        )

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        for tick, label in zip(self.y_ticks, self.marks, strict=True):
            _, down = self.find(self.x[0], tick)
            ends = ((x + self.inset, y + down), (x + self.inset + self.wide, y + down))
            sheet.line(*ends, ink=style.HAIR, line=0.8, layer=1)
            label.place(sheet, x + self.inset - 6 - label.width, y + down - label.height / 2)
        for tick in self.x_ticks:
            across, _ = self.find(tick, self.y[0])
            label = label_tick(tick)
            label.place(sheet, x + across - label.width / 2, y + self.top + self.high + 4)
        if self.up:
            self.up.place(sheet, x, y)
        if self.across:
            left = x + self.inset + (self.wide - self.across.width) / 2
            self.across.place(sheet, left, y + self.top + self.high + 17)
        for curve in self.curves:
            self._trace(sheet, x, y, curve)
        self._name(sheet, x, y)

    def _trace(self, sheet: Sheet, x: float, y: float, curve: Curve) -> None:
        results = [self.find(a, b) for a, b in zip(curve.xs, curve.ys, strict=True)]
        points = tuple((x + a, y + b) for a, b in results)
        if len(points) > 1:
            sheet.line(
                *points,
                ink=curve.ink,
                step=curve.step,
                line=curve.line,
                dashed=curve.dashed,
                layer=3,
            )
        for a, b in points if curve.dots else ():
            sheet.dot(a, b, 2.4, curve.ink, alpha=curve.alpha, step=curve.step, layer=4)

    def _name(self, sheet: Sheet, x: float, y: float) -> None:
        """Write the names beside the ends; one that is not level with its end gets a line to it."""
        for curve in (each for each in self.curves if each.name):
            a, b = self.find(curve.xs[-1], curve.ys[-1])
            sheet.places[curve.name] = Area(x + a - 3, y + b - 3, 6, 6)
        ends = [(self.find(c.xs[-1], c.ys[-1]), c) for c in self.curves if c.label]
        ends.sort(key=lambda end: end[0][1])
        levels = spread([down for (_, down), _ in ends], style.SMALL * style.LEADING)
        moved = any(abs(end[0][1] - level) > 1 for end, level in zip(ends, levels, strict=True))
        gap = LEADER if moved else 6.0
        for ((across, down), curve), level in zip(ends, levels, strict=True):
            left, fit = x + across + gap, self.beside - gap - 2
            label = Label(
                curve.label, style.SMALL, curve.ink, bold=True, fit=fit, of=curve.of
            ).named(f"{curve.name} label")
            label.place(sheet, left, y + level - label.height / 2)
            if moved:
                points = ((left - gap + 4, y + down), (left - 3, y + level))
                sheet.line(*points, ink=curve.ink, line=0.8, step=curve.step, layer=3)


def spread(requested: Sequence[float], apart: float) -> list[float]:
    """Return places that are at least `apart`, in the same order, and near to those requested.

    requested: in rising order. Places that are too near form a group, around the middle of its own.
    """
    groups: list[list[float]] = []  # of each place: where the first of its group wants to be
    for place in requested:
        groups.append([place])
        while len(groups) > 1 and _mean(groups[-1]) < _mean(groups[-2]) + apart * len(groups[-2]):
            late = groups.pop()
            groups[-1] += [each - apart * len(groups[-1]) for each in late]
    return [_mean(group) + apart * n for group in groups for n in range(len(group))]


def _mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def round_ticks(span: Span, most: int = 5) -> list[float]:
    """Return round numbers inside a span: 1, 2 or 5 times a power of ten apart."""
    rough = max(span[1] - span[0], 1e-12) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough * 0.999)
    first, last = math.ceil(span[0] / step - 1e-9), math.floor(span[1] / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


def label_tick(value: float) -> Label:
    """Return a number on an axis, with no more digits than it has."""
    digits = next((n for n in range(7) if abs(round(value, n) - value) < 1e-9), 7)
    of = Quantity(f"{value:.9f}", NOWHERE.__getitem__)
    return Label(spell(value, digits), style.TINY, style.SOFT, of=of)


NOWHERE: dict[str, Array] = {}  # a tick is a number of its own, and no cell

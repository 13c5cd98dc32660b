"""Lines between named things, and callouts that point at them. Their ways are found here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import atan2, cos, sin
from typing import Literal

from . import style
from .nodes import Align, Label, Sheet
from .quantity import Quantity
from .scene import Area, BoxMark, GridMark, MarkLook, PathMark, Point, TextMark, bound

Way = Literal["straight", "elbow", "around", "ribbon", "arc"]
Side = Literal["above", "below", "left", "right"]
AROUND = 26.0  # how far a line goes out that goes around
OPPOSITE: dict[Side, Side] = {"above": "below", "below": "above", "left": "right", "right": "left"}


@dataclass(frozen=True)
class Link:
    """An arrow from one named thing to another.

    way: "straight"; "elbow", with right angles; "around", out to one side and back in; "ribbon",
    an S-curve; "arc", a bow above a line of words, or below it. A line that goes around and
    arrives from above or below crosses over between the two. `lane` moves the bend of an elbow, or
    that crossing, as a share of the way. `badge` is written in the middle of a curve.
    """

    start: str
    end: str
    way: Way = "straight"
    ink: str = style.SOFT
    line: float = 1.3
    head: bool = True
    dashed: bool = False
    alpha: float = 1.0
    step: int = 0
    sides: tuple[Side, Side] | None = None  # where it leaves and where it arrives
    lane: float = 0.5
    gap: float = 3.0
    layer: int = 3
    badge: Label | None = None

    def draw(self, sheet: Sheet) -> None:
        """Add the line and its head to the sheet."""
        one, two = sheet.places[self.start], sheet.places[self.end]
        facing: tuple[Side, Side] = ("above", "above") if self.way == "arc" else _face(one, two)
        leaves, arrives = self.sides or facing
        start, end = _leave(one, leaves, self.gap), _leave(two, arrives, self.gap)
        if self.way == "straight":
            start, end = _level(one, two, start, end, leaves)
        points, curved = self._run(start, end, leaves, arrives)
        if self.badge:
            self._place_badge(sheet, points)
        if self.head:
            points = self._add_head(sheet, points, curved)
        sheet.line(
            *points,
            ink=self.ink,
            line=self.line,
            curved=curved,
            dashed=self.dashed,
            **self._common,
        )

    @property
    def _common(self) -> MarkLook:
        """Return what the line and its head have in common."""
        return {"alpha": self.alpha, "step": self.step, "layer": self.layer}

    def _place_badge(self, sheet: Sheet, points: Sequence[Point]) -> None:
        """Write the badge on a ground of its own, in the middle of a curve."""
        assert self.badge is not None and len(points) == 4, "of one curve"
        x, y = (
            sum(w * p[n] for w, p in zip((1, 3, 3, 1), points, strict=True)) / 8 for n in (0, 1)
        )
        wide, high = self.badge.width + 10, self.badge.height + 3
        sheet.box(
            x - wide / 2,
            y - high / 2,
            wide,
            high,
            layer=5,
            step=self.step,
            fill=style.PAPER,
            edge=self.ink,
            round=high / 2,
        )
        self.badge.at(self.step).place(sheet, x - wide / 2 + 5, y - high / 2 + 1.5)

    def _run(
        self, start: Point, end: Point, leaves: Side, arrives: Side
    ) -> tuple[tuple[Point, ...], bool]:
        (x, y), (a, b) = start, end
        if self.way == "straight":
            return (start, end), False
        if self.way == "arc":
            rise = (14 + 0.16 * abs(a - x)) * (-1 if leaves == "below" else 1)
            return (start, (x, y - rise), (a, b - rise), end), True
        if self.way == "around":
            turn = min(x, a) - AROUND if leaves == "left" else max(x, a) + AROUND
            if arrives in ("above", "below"):
                across = y + (b - y) * self.lane
                return (start, (turn, y), (turn, across), (a, across), end), False
            return (start, (turn, y), (turn, b), end), False
        upright = leaves in ("above", "below")
        if self.way == "ribbon":
            bend = ((x, y + (b - y) / 2), (a, y + (b - y) / 2))
            flat = ((x + (a - x) / 2, y), (x + (a - x) / 2, b))
            return (start, *(bend if upright else flat), end), True
        if upright:
            turn = y + (b - y) * self.lane
            return (start, (x, turn), (a, turn), end), False
        turn = x + (a - x) * self.lane
        return (start, (turn, y), (turn, b), end), False

    def _add_head(self, sheet: Sheet, points: tuple[Point, ...], curved: bool) -> tuple[Point, ...]:
        """Add an arrow head, and return the points with the line ending inside it."""
        size = 3.0 + 1.7 * self.line
        (x0, y0), (x, y) = (
            next((p for p in points[-2::-1] if p != points[-1]), points[0]),
            points[-1],
        )
        turn = atan2(y - y0, x - x0)
        wing = [
            (
                x - size * cos(turn) + s * size * 0.52 * sin(turn),
                y - size * sin(turn) - s * size * 0.52 * cos(turn),
            )
            for s in (1, -1)
        ]
        sheet.line((x, y), *wing, (x, y), fill=self.ink, line=0, **self._common)
        short = (x - 0.8 * size * cos(turn), y - 0.8 * size * sin(turn))
        return (*points[:-1], short)


def _face(one: Area, two: Area) -> tuple[Side, Side]:
    """Return the sides of two things that face each other."""
    across = max(two.x - one.right, one.x - two.right)
    down = max(two.y - one.bottom, one.y - two.bottom)
    side: Side
    if across >= down:
        side = "right" if two.middle[0] >= one.middle[0] else "left"
    else:
        side = "below" if two.middle[1] >= one.middle[1] else "above"
    return side, OPPOSITE[side]


def _level(one: Area, two: Area, start: Point, end: Point, leaves: Side) -> tuple[Point, Point]:
    """Return the ends moved so that the line is level or upright, where both things allow that."""
    if leaves in ("left", "right"):
        low, high = max(one.y, two.y), min(one.bottom, two.bottom)
        if low < high:
            return (start[0], (low + high) / 2), (end[0], (low + high) / 2)
        return start, end
    low, high = max(one.x, two.x), min(one.right, two.right)
    if low < high:
        return ((low + high) / 2, start[1]), ((low + high) / 2, end[1])
    return start, end


def _leave(area: Area, side: Side, gap: float) -> Point:
    x, y = area.middle
    return {
        "above": (x, area.y - gap),
        "below": (x, area.bottom + gap),
        "left": (area.x - gap, y),
        "right": (area.right + gap, y),
    }[side]


@dataclass(frozen=True)
class Callout:
    """A sentence that points at a named thing, and says what to see there."""

    at: str
    text: str
    side: Side = "right"
    width: float = 150.0
    step: int = 0
    of: Quantity | None = None  # of the number at its end

    def draw(self, sheet: Sheet) -> None:
        """Add it where it covers nothing, on the side that is asked for if there is room."""
        target = sheet.find(self.at)
        turned: Align = "end" if self.side == "left" else "start"
        turned = "middle" if self.side in ("above", "below") else turned
        look = {"width": self.width, "align": turned, "of": self.of, "balanced": True}
        label = Label(self.text, style.SMALL, style.LIT, **look)  # type: ignore[arg-type]
        taken = [
            mark.area
            for mark in sheet.marks
            if isinstance(mark, TextMark | GridMark | BoxMark)
            and not (isinstance(mark, BoxMark) and mark.layer < 2)
        ]
        for mark in sheet.marks:
            if isinstance(mark, PathMark) and mark.layer > 1 and not mark.curved:
                taken += [_span(ends) for ends in pairwise(mark.points)]
        frames = [
            mark.area
            for mark in sheet.marks
            if isinstance(mark, BoxMark) and mark.layer < 2 and mark.area.grow(1).holds(target)
        ]
        around = max(frames, key=lambda frame: frame.width, default=target)
        texts = [mark.area for mark in sheet.marks if isinstance(mark, TextMark)]
        places = _list_places(around, target.middle, label, self.side)
        free = (place for place in places if not _meets_any(place.grow(3), taken))
        place = first = next(free)
        while _meets_any(_span(_connect(place, target, self.side)), texts):
            place = next(free, first)
            if place is first:  # a line through text, rather than no line
                break
        sheet.step = self.step
        sheet.turn = max((mark.last for mark in sheet.marks if mark.step == self.step), default=0)
        label.place(sheet, place.x, place.y)
        ends = _connect(place, target, self.side)
        sheet.line(*ends, ink=style.LIT, line=1.0, layer=7)
        sheet.dot(*ends[1], 2.0, style.LIT, layer=7)
        sheet.step = sheet.turn = 0


def _span(ends: Sequence[Point]) -> Area:
    return bound([Area(*end, 0, 0) for end in ends])


def _meets_any(area: Area, others: Sequence[Area]) -> bool:
    return any(area.meets(other) for other in others)


def _list_places(target: Area, middle: Point, label: Label, side: Side) -> Iterator[Area]:
    """Yield places for a label on one side of a target, the nearest first."""
    (x, y), width, height = middle, label.width, label.height
    for far in range(14, 420, 6):
        for shift in (0, -12, 12, -24, 24, -40, 40):
            yield {
                "right": Area(target.right + far, y - height / 2 + shift, width, height),
                "left": Area(target.x - far - width, y - height / 2 + shift, width, height),
                "above": Area(x - width / 2 + shift, target.y - far - height, width, height),
                "below": Area(x - width / 2 + shift, target.bottom + far, width, height),
            }[side]


def _connect(place: Area, target: Area, side: Side) -> tuple[Point, Point]:
    x, y = target.middle
    if side in ("right", "left"):
        near = place.x - 4 if side == "right" else place.right + 4
        edge = target.right + 4 if side == "right" else target.x - 4
        return (near, min(max(y, place.y + 6), place.bottom - 6)), (edge, y)
    near = place.bottom + 2 if side == "above" else place.y - 2
    edge = target.y - 2 if side == "above" else target.bottom + 2
    return (min(max(x, place.x + 6), place.right - 6), near), (x, edge)

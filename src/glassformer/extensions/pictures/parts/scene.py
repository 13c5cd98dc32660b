"""A scene: everything that is on a picture, where it is, and where its numbers come from.

A scene is plain data, and JSON: `docs/figures.md` describes the format. `render` draws it with
matplotlib for papers; a browser can draw it too. Lengths are points; y runs downwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, ClassVar, NamedTuple, Self, TypedDict

VERSION = 1
Point = tuple[float, float]


class Area(NamedTuple):
    """A rectangle on the page; y is its upper edge."""

    x: float
    y: float
    width: float
    height: float

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def bottom(self) -> float:
        return self.y + self.height

    @property
    def middle(self) -> Point:
        return self.x + self.width / 2, self.y + self.height / 2

    def grow(self, by: float) -> Area:
        return Area(self.x - by, self.y - by, self.width + 2 * by, self.height + 2 * by)

    def holds(self, other: Area) -> bool:
        """Return whether the other lies inside."""
        across = self.x <= other.x and other.right <= self.right
        return across and self.y <= other.y and other.bottom <= self.bottom

    def meets(self, other: Area) -> bool:
        """Return whether the two overlap."""
        across = self.x < other.right and other.x < self.right
        return across and self.y < other.bottom and other.y < self.bottom


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One thing on a page. A mark with a step appears at that step of an animation."""

    kind: ClassVar[str] = ""
    id: str = ""  # its name within the scene
    of: str = ""  # the expression of which it shows the value
    step: int = 0  # 0: it is always there
    layer: int = 2  # a mark with a higher layer covers others
    alpha: float = 1.0
    start: Point | None = None  # where it comes from, relative to its place, when it appears
    turn: int = 0  # within its step: what has a later turn arrives later
    until: int = 0  # the step at which it is gone again; 0: it stays in the finished picture

    @property
    def area(self) -> Area:
        raise NotImplementedError

    @property
    def last(self) -> int:
        """Return the last turn of its step in which something of it arrives."""
        return self.turn

    def shift(self, x: float, y: float, factor: float) -> Mark:
        """Return the mark scaled by `factor`, then moved."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        """Return the mark as JSON, without what is at its default."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        defaults = {
            each.name: each.default if each.default_factory is MISSING else each.default_factory()
            for each in fields(self)
        }
        changed = {name: _round(x) for name, x in values.items() if x != defaults[name]}
        return {"mark": self.kind, **changed}


class MarkLook(TypedDict, total=False):
    """The fields that any mark may have: see `Mark`."""

    layer: int
    alpha: float
    step: int
    turn: int
    until: int
    start: Point | None


class DotLook(MarkLook, total=False):
    """How a dot looks."""

    edge: str
    line: float


class BoxLook(DotLook, total=False):
    """How a rectangle looks."""

    fill: str
    round: float
    dashed: bool
    hatch: str


class LineLook(MarkLook, total=False):
    """How a line looks."""

    ink: str
    line: float
    fill: str
    curved: bool
    dashed: bool


@dataclass(frozen=True, kw_only=True)
class RectangularMark(Mark):
    """A mark that fills a rectangle, of which (x, y) is the upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def area(self) -> Area:
        return Area(self.x, self.y, self.width, self.height)

    def shift(self, x: float, y: float, factor: float) -> Self:
        return replace(
            self,
            x=self.x * factor + x,
            y=self.y * factor + y,
            width=self.width * factor,
            height=self.height * factor,
        )


@dataclass(frozen=True, kw_only=True)
class BoxMark(RectangularMark):
    """A rectangle."""

    kind: ClassVar[str] = "box"
    fill: str = ""
    edge: str = ""
    line: float = 1.0
    round: float = 0.0
    dashed: bool = False
    hatch: str = ""  # "/" or "x"; in the ink of the edge if there is one

    def shift(self, x: float, y: float, factor: float) -> Self:
        return replace(super().shift(x, y, factor), round=self.round * factor)


@dataclass(frozen=True, kw_only=True)
class TextMark(Mark):
    """A line of text in one style; (x, y) is the end of its baseline that `anchor` names."""

    kind: ClassVar[str] = "text"
    x: float
    y: float
    text: str
    size: float
    ink: str
    width: float  # as measured
    anchor: str = "start"  # or middle, end
    bold: bool = False
    italic: bool = False
    mono: bool = False
    upright: bool = False  # read from the bottom to the top
    value: float | None = None  # the number that is printed, unrounded
    terms: tuple[float, ...] = ()  # of a sum that grows: it shows one term more in each turn

    @property
    def last(self) -> int:
        return self.turn + max(0, len(self.terms) - 1)

    @property
    def area(self) -> Area:
        before = self.width * {"start": 0.0, "middle": 0.5, "end": 1.0}[self.anchor]
        if self.upright:
            top = self.y - self.width + before
            return Area(self.x - 0.74 * self.size, top, 0.94 * self.size, self.width)
        left = self.x - before
        return Area(left, self.y - 0.74 * self.size, self.width, 0.94 * self.size)

    def shift(self, x: float, y: float, factor: float) -> TextMark:
        return replace(
            self,
            x=self.x * factor + x,
            y=self.y * factor + y,
            size=self.size * factor,
            width=self.width * factor,
        )


@dataclass(frozen=True, kw_only=True)
class PathMark(Mark):
    """A line through points; if curved, they are start, two controls, end, and so on."""

    kind: ClassVar[str] = "path"
    points: tuple[Point, ...]
    ink: str = ""
    fill: str = ""
    line: float = 1.2
    curved: bool = False
    dashed: bool = False

    @property
    def area(self) -> Area:
        xs, ys = zip(*self.points, strict=True)
        return Area(min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys))

    def shift(self, x: float, y: float, factor: float) -> PathMark:
        return replace(self, points=tuple((a * factor + x, b * factor + y) for a, b in self.points))


@dataclass(frozen=True, kw_only=True)
class GridMark(RectangularMark):
    """A matrix as colours. `hidden` lists the cells that are hatched, as row and column."""

    kind: ClassVar[str] = "grid"
    values: tuple[tuple[float, ...], ...]
    scale: str = "signed"  # or "wave": both symmetric about 0; "share": from 0
    limit: float = 1.0  # the value of the last colour
    hidden: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Scene:
    """A finished picture, before anything has drawn it."""

    id: str
    lang: str
    title: str
    description: str
    width: float
    height: float
    marks: tuple[Mark, ...]
    captions: tuple[str, ...] = ()  # one for each step, shown in the place of the note
    caption_at: Point = (0.0, 0.0)  # its upper left corner
    data: Mapping[str, Any] = field(default_factory=dict)  # arrays that are not in the recording

    @property
    def texts(self) -> list[TextMark]:
        """Return the texts of the finished picture, without those of the scales of colours."""
        texts = (mark for mark in self.marks if isinstance(mark, TextMark) and not mark.until)
        return [mark for mark in texts if mark.id != "scale"]

    def to_json(self) -> dict[str, Any]:
        """Return the scene as JSON."""
        return {
            "version": VERSION,
            "id": self.id,
            "lang": self.lang,
            "title": self.title,
            "description": self.description,
            "width": round(self.width, 2),
            "height": round(self.height, 2),
            "captions": list(self.captions),
            "caption_at": _round(self.caption_at),
            "data": {name: _round(array.tolist()) for name, array in self.data.items()},
            "marks": [mark.to_json() for mark in self.marks],
        }


def bound(areas: Sequence[Area]) -> Area:
    """Return the smallest rectangle around all."""
    left, top = min(area.x for area in areas), min(area.y for area in areas)
    right, bottom = max(area.right for area in areas), max(area.bottom for area in areas)
    return Area(left, top, right - left, bottom - top)


def _round(value: Any) -> Any:
    """Return the value with each number to 6 significant digits."""
    if isinstance(value, float):
        return float(f"{value:.6g}") if abs(value) != float("inf") else None
    return [_round(each) for each in value] if isinstance(value, tuple | list) else value

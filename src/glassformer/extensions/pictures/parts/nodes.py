"""The parts of figures. Each node knows its size before it is placed; a parent places it.

A figure says what stands beside or above what: `Down(Label("q"), Across(strip, strip))`. It names
no coordinates. Things with a name can be joined by links, see `links`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Literal, Self, TypedDict, Unpack

import numpy as np

from . import style
from .quantity import Array, Quantity
from .scene import (
    Area,
    BoxLook,
    BoxMark,
    DotLook,
    GridMark,
    LineLook,
    Mark,
    PathMark,
    Point,
    TextMark,
)
from .typesetting import TypeStyle, balance_width, fit_text, set_lines, width_of

Align = Literal["start", "middle", "end"]
SHARES = {"start": 0.0, "middle": 0.5, "end": 1.0}
ALIGN: dict[str, Align] = {"l": "start", "m": "middle", "r": "end"}


class Sheet:
    """The marks of a figure that is being placed, and where its named nodes are."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self.places: dict[str, Area] = {}
        self.cells: dict[str, Point] = {}  # width and height of a cell of each panel
        self.scales: list[tuple[str, float]] = []  # of colours without numbers: name and limit
        self.step, self.turn, self.alpha = 0, 0, 1.0
        self.start: Point | None = None

    def add(self, mark: Mark) -> None:
        """Add a mark; where it names a role instead of a colour, it gets the ink of that role."""
        start = mark.start or self.start
        when = {"step": mark.step or self.step, "turn": mark.turn or self.turn}
        alpha = mark.alpha * self.alpha
        looks = ((name, getattr(mark, name, "")) for name in ("ink", "fill", "edge"))
        inks = {name: style.role(look).ink for name, look in looks if look in style.ROLES}
        self.marks.append(replace(mark, **when, alpha=alpha, start=start, **inks))  # type: ignore[arg-type]

    def box(
        self, x: float, y: float, width: float, height: float, **look: Unpack[BoxLook]
    ) -> BoxMark:
        """Add a rectangle and return it."""
        mark = BoxMark(x=x, y=y, width=width, height=height, **look)
        self.add(mark)
        return mark

    def dot(self, x: float, y: float, radius: float, fill: str, **look: Unpack[DotLook]) -> BoxMark:
        """Add a disc around (x, y) and return it."""
        side = 2 * radius
        return self.box(x - radius, y - radius, side, side, fill=fill, round=radius, **look)

    def line(self, *points: Point, **look: Unpack[LineLook]) -> None:
        """Add a line through points."""
        self.add(PathMark(points=points, **look))

    def find(self, name: str) -> Area:
        """Return the place of a node by its name, or that of a cell of a panel, as weights[0,2]."""
        if name in self.places:
            return self.places[name]
        name, _, index = name.removesuffix("]").rpartition("[")
        area, (wide, high) = self.places[name], self.cells[name]
        row, column = map(int, index.split(","))
        return Area(area.x + column * wide, area.y + row * high, wide, high)

    @contextmanager
    def within(self, node: Node) -> Iterator[None]:
        """Give what is added inside the step and the transparency of a node."""
        before = self.step, self.turn, self.alpha, self.start
        self.step, self.turn = node.step or self.step, node.turn or self.turn
        self.alpha, self.start = self.alpha * node.alpha, node.start or self.start
        yield
        self.step, self.turn, self.alpha, self.start = before


class Node:
    """Something with a size."""

    width = height = 0.0
    name, step, turn, alpha = "", 0, 0, 1.0
    start: Point | None = None

    @property
    def axis(self) -> float:
        """Return the height from the top of the line on which it stands beside others."""
        return self.height / 2

    def named(self, name: str) -> Self:
        """Give it a name, by which links find it."""
        self.name = name
        return self

    def at(self, step: int, start: Point | None = None, turn: int = 0) -> Self:
        """Let it appear at a step of the animation, coming from `start`, relative to its place.

        What comes from nowhere waits until the rest of its step has come; from (0, 0), it does not.
        A later `turn` of a step follows an earlier one.
        """
        self.step, self.start, self.turn = step, start, turn
        return self

    def faded(self, alpha: float) -> Self:
        self.alpha = alpha
        return self

    def place(self, sheet: Sheet, x: float, y: float) -> None:
        """Put it on a sheet, with its upper left corner at (x, y)."""
        with sheet.within(self):
            self.draw(sheet, x, y)
        if self.name:
            sheet.places[self.name] = self.bound(x, y)

    def bound(self, x: float, y: float) -> Area:
        """Return the place at which links and callouts find it."""
        return Area(x, y, self.width, self.height)

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        """Add its marks."""


class Spacer(Node):
    """Empty space."""

    def __init__(self, width: float = 0.0, height: float = 0.0):
        self.width, self.height = width, height


Part = Node | Quantity | str | None  # a text, a number, or anything with a size


def as_node(part: Part) -> Node:
    """Return a text as a label and a number as a numeral; a node is one already."""
    if isinstance(part, str):
        return Label(part)
    return Numeral(part) if isinstance(part, Quantity) else part or Spacer()


class Across(Node):
    """Nodes beside each other, on one line."""

    def __init__(
        self,
        *nodes: Part,
        gap: float = style.CLOSE,
        align: Literal["axis", "top", "bottom"] = "axis",
    ):
        self.nodes = [as_node(node) for node in nodes if node is not None]
        self.gap, self.align = gap, align
        self.width = sum(node.width for node in self.nodes) + gap * max(0, len(self.nodes) - 1)
        tops = [self._find_top(node) for node in self.nodes]
        self._above = max(tops, default=0.0)
        rest = [node.height - top for node, top in zip(self.nodes, tops, strict=True)]
        self.height = self._above + max(rest, default=0.0)

    def _find_top(self, node: Node) -> float:
        return {"axis": node.axis, "top": 0.0, "bottom": node.height}[self.align]

    @property
    def axis(self) -> float:
        return self._above if self.align == "axis" else self.height / 2

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        for node in self.nodes:
            node.place(sheet, x, y + self._above - self._find_top(node))
            x += node.width + self.gap


class Down(Node):
    """Nodes below each other. `stands_on` is the one that is level with what stands beside."""

    def __init__(
        self,
        *nodes: Part,
        gap: float = style.CLOSE,
        align: Align = "start",
        stands_on: int | None = None,
    ):
        self.nodes = [as_node(node) for node in nodes if node is not None]
        self.gap, self.align, self.stands_on = gap, align, stands_on
        self.width = max((node.width for node in self.nodes), default=0.0)
        heights = [node.height for node in self.nodes]
        self.height = sum(heights) + gap * max(0, len(heights) - 1)

    @property
    def axis(self) -> float:
        if self.stands_on is None:
            return self.height / 2
        above = sum(node.height + self.gap for node in self.nodes[: self.stands_on])
        return above + self.nodes[self.stands_on].axis

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        for node in self.nodes:
            node.place(sheet, x + SHARES[self.align] * (self.width - node.width), y)
            y += node.height + self.gap


class Columns(Node):
    """Rows and columns of parts; of the rows, those that are None are left out.

    align: a letter for each column, l, m or r; the last one stands for all that follow.
    """

    def __init__(
        self,
        rows: Iterable[Sequence[Part] | None],
        *,
        gap: tuple[float, float] = (style.NEAR, style.CLOSE),
        align: str = "l",
    ):
        self.rows = [
            Across(*(Spacer() if part is None else part for part in row)) for row in rows if row
        ]
        count = max((len(row.nodes) for row in self.rows), default=0)
        self.align: list[Align] = [ALIGN[letter] for letter in align.ljust(count, align[-1])]
        self.gap = gap
        self.widths = [
            max((row.nodes[n].width for row in self.rows if n < len(row.nodes)), default=0.0)
            for n in range(count)
        ]
        self.width = sum(self.widths) + gap[0] * max(0, count - 1)
        self.height = sum(row.height for row in self.rows) + gap[1] * max(0, len(self.rows) - 1)

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        for row in self.rows:
            left = x
            for node, width, align in zip(row.nodes, self.widths, self.align, strict=False):
                room = SHARES[align] * (width - node.width)
                node.place(sheet, left + room, y + row.axis - node.axis)
                left += width + self.gap[0]
            y += row.height + self.gap[1]


def middle(*parts: Part, gap: float = style.CLOSE, stands_on: int | None = None) -> Down:
    """Return parts below each other, each in the middle."""
    return Down(*parts, gap=gap, align="middle", stands_on=stands_on)


def equation(*parts: Part, gap: float = 10.0) -> Across:
    """Return parts beside each other; the texts between them are signs, such as × and =."""
    signs = (Label(p, style.TITLE, style.SOFT) if isinstance(p, str) else p for p in parts)
    return Across(*signs, gap=gap)


def wrap_across(nodes: Sequence[Node], width: float, gap: float, between: float) -> Down:
    """Return nodes beside each other, in as many lines as a width asks for."""
    lines: list[list[Node]] = [[]]
    left = width
    for node in nodes:
        if lines[-1] and node.width > left:
            lines.append([])
            left = width
        lines[-1].append(node)
        left -= node.width + gap
    return Down(*(Across(*line, gap=gap, align="top") for line in lines), gap=between)


class Slot(Node):
    """A node in the middle of a given width, or at one of its ends; in the middle of a height."""

    def __init__(self, part: Part, width: float, align: Align = "middle", height: float = 0.0):
        self.node, self.align = as_node(part), align
        self.width, self.height = max(width, self.node.width), height or self.node.height

    @property
    def axis(self) -> float:
        return self.node.axis + (self.height - self.node.height) / 2

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        left = x + SHARES[self.align] * (self.width - self.node.width)
        self.node.place(sheet, left, y + (self.height - self.node.height) / 2)


class Card(Node):
    """A node on a ground of its own, with room around it, and a heading if there is one."""

    def __init__(
        self,
        node: Node,
        *,
        fill: str = style.GROUND,
        edge: str = "",
        pad: float = style.NEAR,
        round: float = 8.0,
        dashed: bool = False,
        line: float = 1.2,
    ):
        self.node, self.pad = node, pad
        self.look: BoxLook = {
            "fill": fill,
            "edge": edge,
            "round": round,
            "dashed": dashed,
            "line": line,
            "layer": 1,
        }
        self.width, self.height = node.width + 2 * pad, node.height + 2 * pad

    @property
    def axis(self) -> float:
        return self.pad + self.node.axis

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        sheet.box(x, y, self.width, self.height, **self.look)
        self.node.place(sheet, x + self.pad, y + self.pad)


class Label(Node):
    """Text, in as many lines as `width` asks for; if `balanced`, these are about equally long.

    Formulas stand between dollar signs.
    """

    def __init__(
        self,
        text: str,
        size: float = style.BODY,
        ink: str = style.INK,
        *,
        bold: bool = False,
        mono: bool = False,
        width: float | None = None,
        fit: float | None = None,
        align: Align = "start",
        of: Quantity | None = None,
        upright: bool = False,
        balanced: bool = False,
    ):
        type = TypeStyle(size, bold, mono)
        text = fit_text(text, type, fit) if fit else text
        width = balance_width(text, type, width) if balanced and width else width
        self.lines = set_lines(text, type, width)
        self.type, self.ink, self.align, self.of = type, ink, align, of
        self.width = max(width_of(line) for line in self.lines)
        self.leading = size * style.LEADING
        self.height = self.leading * len(self.lines)
        self.terms: tuple[float, ...] = ()
        self.upright = upright  # one line, read from the bottom to the top
        if upright:
            self.width, self.height = self.height, self.width

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        base = self.leading / 2 + style.RISE * self.type.size
        make = partial(TextMark, ink=self.ink, bold=self.type.bold, mono=self.type.mono, layer=6)
        if self.upright:
            ((text, size, width, *_),) = self.lines[0]
            left, low = x + base, y + self.height
            sheet.add(make(x=left, y=low, text=text, size=size, width=width, upright=True))
            return
        for line in self.lines:
            left, lone = x + SHARES[self.align] * self.width, len(line) == 1
            left -= 0 if lone else SHARES[self.align] * width_of(line)
            for run in line:
                mark = make(
                    x=left,
                    y=y + base + run.drop,
                    width=run.width,
                    text=run.text,
                    size=run.size,
                    italic=run.italic,
                    anchor=self.align if lone else "start",
                )
                if self.of is not None and run is line[-1] and line is self.lines[-1]:
                    of, value = self.of.source, float(self.of)
                    mark = replace(mark, of=of, value=value, terms=self.terms)
                sheet.add(mark)
                left += run.width
            y += self.leading


class LabelLook(TypedDict, total=False):
    """How a label looks, besides its size and ink."""

    bold: bool
    mono: bool
    width: float | None
    fit: float | None
    align: Align
    of: Quantity | None
    upright: bool
    balanced: bool


def small(text: str, ink: str = style.SOFT, **look: Unpack[LabelLook]) -> Label:
    """Return small text, which is grey unless it is told otherwise."""
    return Label(text, style.SMALL, ink, **look)


def tiny(text: str, ink: str = style.SOFT, **look: Unpack[LabelLook]) -> Label:
    """Return text of the smallest size, which is grey unless it is told otherwise."""
    return Label(text, style.TINY, ink, **look)


def spell(value: float, digits: int = 2) -> str:
    """Return a number with a true minus sign; zero is never negative."""
    if abs(value) == float("inf"):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.{digits}f}".replace(",", "\u202f")
    return text.lstrip("-") if float(f"{value:.{digits}f}") == 0 else text.replace("-", "−")


def percent(value: float, digits: int = 0) -> str:
    return f"{spell(100 * value, digits)} %"


class Numeral(Label):
    """A number that is printed, with its expression behind it; `before` is text before it."""

    def __init__(
        self,
        quantity: Quantity,
        size: float = style.SMALL,
        ink: str = style.INK,
        *,
        digits: int = 2,
        before: str = "",
        bold: bool = False,
        align: Align = "start",
        terms: Sequence[float] = (),
    ):
        """Make the number; of a sum that is to grow, `terms` are what is added."""
        text = before + spell(float(quantity), digits)
        super().__init__(text, size, ink, bold=bold, align=align, of=quantity)
        self.terms = tuple(map(float, terms))


class Component(Node):
    """A part of the network, as a box with its name, and what is to be told under it."""

    def __init__(
        self,
        text: str,
        role: str,
        *,
        width: float = 150.0,
        height: float = 34.0,
        size: float = style.BODY,
        strong: bool = True,
        under: Sequence[Node] = (),
    ):
        look = style.role(role)
        self.role = look
        label = Label(text, size, look.ink, bold=strong, width=width - 8, align="middle")
        self.label: Node = Down(label, *under, gap=0, align="middle") if under else label
        self.width, self.height = width, max(height, self.label.height + 8)

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        sheet.box(
            x,
            y,
            self.width,
            self.height,
            line=1.3,
            round=6,
            fill=self.role.fill,
            edge=self.role.ink,
        )
        across, down = self.width - self.label.width, self.height - self.label.height
        self.label.place(sheet, x + across / 2, y + down / 2)


class Chip(Node):
    """A token."""

    def __init__(
        self,
        text: str,
        role: str = "",
        *,
        size: float = style.BODY,
        fit: float = 110.0,
        lit: bool = False,
        width: float = 0.0,
        hatch: str = "",
    ):
        look = style.role(role) if role else None
        self.fill, self.hatch = look.fill if look else style.GROUND, hatch
        self.edge = look.ink if look and lit else ""
        self.label = Label(text, size, look.ink if look else style.INK, bold=lit, fit=fit)
        self.width = max(width, self.label.width + 12)
        self.height = self.label.height + 6

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        sheet.box(
            x,
            y,
            self.width,
            self.height,
            fill=self.fill,
            edge=self.edge,
            hatch=self.hatch,
            round=4,
            line=1.4,
        )
        self.label.place(sheet, x + (self.width - self.label.width) / 2, y + 3)


def find_largest(quantities: Sequence[Quantity | Array]) -> float:
    """Return the largest finite magnitude of all, or 1 if there is none."""
    arrays = [q.values if isinstance(q, Quantity) else np.asarray(q) for q in quantities]
    sizes = [np.abs(a[np.isfinite(a)]).max(initial=0.0) for a in arrays]
    return float(max(sizes, default=0.0)) or 1.0


def colour_of(value: float, scale: str, limit: float) -> tuple[float, ...]:
    """Return the colour of a value, as red, green and blue."""
    low = 0.0 if scale == "share" else -limit
    share = min(1.0, max(0.0, (value - low) / (limit - low)))
    return tuple(float(part) for part in style.SCALES[scale](share)[:3])


def to_hex(colour: tuple[float, ...]) -> str:
    return "#" + "".join(f"{round(255 * part):02x}" for part in colour)


class Strip(Node):
    """A vector: its first numbers in cells, then how many more there are."""

    def __init__(
        self,
        quantity: Quantity,
        role: str,
        *,
        shown: int = 4,
        cell: tuple[float, float] = style.CELL,
        digits: int = 2,
        size: float = style.SMALL,
        learned: bool = False,
        lit: Sequence[int] = (),
        terms: Array | None = None,
        sparse: bool = False,
        only: Sequence[int] = (),
    ):
        """Make the vector; of one that is to grow as a sum, `terms` are vectors that are added.

        sparse: the cells of zeros are grey. only: the numbers to show, by default the first ones.
        """
        self.sparse = sparse
        self.terms = np.empty((0, len(quantity))) if terms is None else terms
        self.numbers = [quantity[n] for n in only or range(min(shown, len(quantity)))]
        self.cell, self.digits, self.size, self.lit = cell, digits, size, lit
        self.role, self.learned = style.role(role), learned
        rest = len(quantity) - len(self.numbers)
        self.more = Label(f"+{rest}", style.TINY, self.role.ink) if rest else None
        self.body = cell[0] * len(self.numbers)
        self.width = self.body + (3 + self.more.width if self.more else 0.0)
        self.height = cell[1]

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        wide, high = self.cell
        edge, line = (self.role.ink, 1.6) if self.learned else ("", 0.0)
        sheet.box(x, y, self.body, high, fill=self.role.fill, round=4, edge=edge, line=line)
        for n, number in enumerate(self.numbers):
            left = x + n * wide
            if self.sparse and not float(number):
                sheet.box(left, y, wide, high, fill=style.GROUND)
            if n in self.lit:
                box = sheet.box(left, y, wide, high, edge=style.LIT, line=1.8, round=4, layer=5)
                sheet.places[f"{self.name}, lit"] = box.area
            if n:
                sheet.line((left, y), (left, y + high), ink=style.PAPER, line=1.4, layer=3)
            terms = self.terms[:, n].tolist()
            figure = Numeral(number, self.size, align="middle", digits=self.digits, terms=terms)
            figure.place(sheet, left + (wide - figure.width) / 2, y + (high - figure.height) / 2)
        if self.more:
            self.more.place(sheet, x + self.body + 3, y + (high - self.more.height) / 2)


class Panel(Node):
    """A matrix, or a vector as one row, as colours; with numbers in its cells if asked for."""

    def __init__(
        self,
        quantity: Quantity | Array,
        *,
        width: float,
        height: float,
        scale: str = "signed",
        limit: float | None = None,
        hidden: Array | None = None,
        edge: str = "",
        digits: int | None = None,
        size: float = style.SMALL,
        shown: int | None = None,
        only: tuple[Sequence[int], Sequence[int]] | None = None,
        lit: Sequence[tuple[int | None, int | None]] = (),
        gray: Sequence[tuple[int | None, int | None]] = (),
    ):
        """Make the panel; `only` names the rows and columns that are drawn, by default all.

        lit: cells that are framed, by row and column of what is drawn; None for all of these. gray:
        cells whose frame is gray.
        """
        self.framed = [*((each, style.LIT) for each in lit), *((each, style.SOFT) for each in gray)]
        self.quantity = quantity if isinstance(quantity, Quantity) else None
        values = quantity.values if isinstance(quantity, Quantity) else np.asarray(quantity, float)
        self.values = np.atleast_2d(values)[:, :shown]
        self.only = only or tuple(map(range, self.values.shape))
        self.values = self.values[np.ix_(*self.only)]
        self.hidden = np.zeros(self.values.shape, bool) if hidden is None else hidden
        self.width, self.height, self.scale, self.edge = width, height, scale, edge
        self.limit = limit or find_largest([np.where(self.hidden, 0, self.values)])
        self.digits, self.size = digits, size

    @property
    def cell(self) -> tuple[float, float]:
        rows, columns = self.values.shape
        return self.width / columns, self.height / rows

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        clean = np.where(np.isfinite(self.values), self.values, 0.0)
        cells = tuple(tuple(map(float, row)) for row in clean)
        hidden = tuple((int(i), int(j)) for i, j in np.argwhere(self.hidden))
        of = self.quantity.source if self.quantity is not None else ""
        sheet.add(
            GridMark(
                values=cells,
                of=of,
                x=x,
                y=y,
                width=self.width,
                height=self.height,
                scale=self.scale,
                limit=self.limit,
                hidden=hidden,
            )
        )
        sheet.cells[self.name] = self.cell
        if self.edge:
            sheet.box(x, y, self.width, self.height, edge=self.edge, layer=4, line=1.2)
        wide, high = self.cell
        for (i, j), ink in self.framed:
            left, long = (x, self.width) if j is None else (x + j * wide, wide)
            top, tall = (y, self.height) if i is None else (y + i * high, high)
            sheet.box(left, top, long, tall, edge=ink, layer=5, line=1.6)
        if self.digits is not None and self.quantity is not None:
            self._print(sheet, x, y)
        elif np.ptp(clean):
            sheet.scales.append((self.scale, self.limit))

    def _print(self, sheet: Sheet, x: float, y: float) -> None:
        wide, high = self.cell
        assert self.quantity is not None
        for i, j in np.ndindex(self.values.shape):
            where = self.only[0][i], self.only[1][j]
            number = self.quantity[where[-len(self.quantity.letters) :]]
            colour = colour_of(float(number), self.scale, self.limit)
            ink = style.SOFT if self.hidden[i, j] else style.ink_on(colour)
            label = Numeral(number, self.size, ink, digits=self.digits or 0, align="middle")
            left, top = x + (j + 0.5) * wide - label.width / 2, y + (i + 0.5) * high
            if self.hidden[i, j]:  # no hatch through a number
                plate = (left - 1, top - label.height / 2 + 2, label.width + 2, label.height - 4)
                sheet.box(*plate, fill=style.PAPER, round=2, layer=4)
            label.place(sheet, left, top - label.height / 2)


def tensor(
    values: Quantity | Array,
    name: str,
    role: str,
    *,
    unit: float = 2.0,
    most: float = 130.0,
    scale: str = "signed",
    limit: float | None = None,
    hidden: Array | None = None,
    shape: bool = True,
) -> Node:
    """Return a matrix as colours in its true proportions, with its name above and its shape below.

    unit: points of a row or column; no side is longer than `most`.
    """
    rows, columns = values.shape
    ink = role
    wide, high = (min(most, max(12.0, unit * n)) for n in (columns, rows))
    panel = Panel(
        values, width=wide, height=high, scale=scale, limit=limit, hidden=hidden, edge=ink
    )
    title = Label(name, style.HEADING, ink).named(f"name of {name}")
    size = [tiny(f"{rows} × {columns}")] if shape else []
    return Down(title, panel.named(name), *size, gap=3, align="middle", stands_on=1)


BEHIND, CLEAR = 5.0, 7.0  # a bar, before its number; from a guide to a number on its right


class Bar(Node):
    """A number as a bar; negative ones run to the left of a common zero."""

    def __init__(
        self,
        quantity: Quantity,
        limit: float,
        ink: str,
        *,
        width: float = 160.0,
        height: float = 14.0,
        digits: int | None = 2,
        signed: bool = False,
        track: bool = False,
        size: float = style.SMALL,
        show: Callable[[float], str] | None = None,
        guide: float | None = None,
    ):
        """Make the bar; `guide` is a value that a broken line across it marks."""
        self.guide = guide
        self.value, self.limit, self.ink, self.length = float(quantity), limit, ink, width
        self.signed, self.track, self.thick = signed, track, height
        text = show(self.value) if show else spell(self.value, digits or 0)
        silent = digits is None and show is None
        self.number = None if silent else Label(text, size, of=quantity)
        self.zero = self._room() if signed else 0.0
        self.width = self.zero + width + (0.0 if silent else self._room())
        self.height = max(height, self.number.height if self.number else 0.0)
        if signed:
            self.width += width

    def _room(self) -> float:
        """Return the room for a number at the end of a bar."""
        return 34.0 if self.number else 0.0

    def bound(self, x: float, y: float) -> Area:
        """Return the place of what is drawn, without the empty room behind the number."""
        whole = super().bound(x, y)
        if self.signed or not self.number:
            return whole
        long = max(0.0, self.length * self.value / self.limit)
        return whole._replace(width=long + BEHIND + self.number.width)

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        zero = x + self.zero + (self.length if self.signed else 0.0)
        top, long = y + (self.height - self.thick) / 2, self.length * self.value / self.limit
        long = long if self.signed else max(0.0, long)
        if self.track:
            sheet.box(zero, top, self.length, self.thick, fill=style.GROUND, layer=1, round=2)
        sheet.box(min(zero, zero + long), top, abs(long), self.thick, fill=self.ink, round=2)
        low = y + self.height
        if self.signed:
            sheet.line((zero, y - 3), (zero, low + 3), ink=style.FAINT, line=1.0, layer=1)
        if self.guide is not None:
            at = zero + self.length * self.guide / self.limit
            sheet.line((at, y - 6), (at, low + 6), line=1.0, ink=style.INK, dashed=True, layer=4)
            sheet.places[f"{self.name}, guide"] = Area(at, y - 6, 0.0, self.height + 12)
        if self.number:
            down = y + (self.height - self.number.height) / 2
            left = zero + long - BEHIND - self.number.width
            right = zero + long + BEHIND
            if self.guide is not None:  # clear of the line
                right = max(right, zero + self.length * self.guide / self.limit + CLEAR)
            across = left if long < 0 else right
            self.number.place(sheet, across, down)


class Pillar(Node):
    """A number as an upright bar, with the number on it."""

    def __init__(
        self,
        quantity: Quantity,
        limit: float,
        ink: str,
        *,
        width: float = 20.0,
        height: float = 90.0,
        digits: int | None = 2,
        show: Callable[[float], str] | None = None,
    ):
        self.value, self.limit, self.ink = float(quantity), limit, ink
        self.number: Label | None = None
        if show or digits is not None:
            text = show(self.value) if show else spell(self.value, digits or 0)
            self.number = Label(text, style.SMALL, of=quantity, align="middle")
        self.thick, self.tall = width, height
        self.width = max(width, self.number.width if self.number else 0.0)
        self.height = height + (self.number.height if self.number else 0.0)

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        long = max(1.0, self.tall * min(1.0, self.value / self.limit))
        top, left = y + self.height - long, x + (self.width - self.thick) / 2
        sheet.box(left, top, self.thick, long, fill=self.ink, round=2)
        if self.number:
            across = x + (self.width - self.number.width) / 2
            self.number.place(sheet, across, top - self.number.height)


class Bundle(Node):
    """Two columns of tokens, and lines from those on the left to those on the right."""

    def __init__(
        self,
        left: Sequence[str],
        right: Sequence[str],
        lines: Sequence[tuple[int, int, str, float]],
        *,
        pitch: float = 11.0,
        reach: float = 60.0,
        fit: float = 52.0,
    ):
        self.left = [Label(text, style.TINY, fit=fit, align="end") for text in left]
        self.right = [Label(text, style.TINY, fit=fit) for text in right]
        self.lines, self.pitch, self.reach, self.side = lines, pitch, reach, fit + 2
        self.width = 2 * self.side + reach + 8
        self.height = pitch * max(len(left), len(right))

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        middle = x + self.side + 4
        for column, labels in enumerate((self.left, self.right)):
            for row, label in enumerate(labels):
                across = middle - 4 - label.width if column == 0 else middle + self.reach + 4
                label.place(sheet, across, y + (row + 0.5) * self.pitch - label.height / 2)
        for i, j, ink, weight in self.lines:
            tops = (y + (n + 0.5) * self.pitch for n in (i, j))
            ends = zip((middle, middle + self.reach), tops, strict=True)
            alpha = min(1.0, 0.15 + weight)
            sheet.line(*ends, ink=ink, line=0.4 + 2.4 * weight, alpha=alpha)


COLOURS = 9  # of a scale that is shown


class Ramp(Node):
    """The colours of a scale with the numbers at their ends, if all panels have the same."""

    def __init__(self, scale: str, limits: Sequence[float]):
        last, is_share = limits[0], scale == "share"
        digits = max(0, 1 - int(np.floor(np.log10(last)))) if last < 10 else 0
        ends = ("0", "max") if is_share else ("−", "+")
        if max(limits) < 1.001 * min(limits):
            ends = "0" if is_share else spell(-last, digits), spell(last, digits)
        self.ends, self.scale = [tiny(text) for text in ends], scale
        self.width = COLOURS * 6 + 8 + sum(end.width for end in self.ends)
        self.height = self.ends[0].height

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        self.ends[0].place(sheet, x, y)
        self.ends[1].place(sheet, x + self.width - self.ends[1].width, y)
        left, top = x + self.ends[0].width + 4, y + (self.height - 7) / 2
        low = 0.0 if self.scale == "share" else -1.0
        for n, value in enumerate(np.linspace(low, 1, COLOURS).tolist()):
            fill = to_hex(colour_of(value, self.scale, 1.0))
            sheet.box(left + 6 * n, top, 6, 7, fill=fill)


class Bracket(Node):
    """A bracket on the right of what is as high as it."""

    def __init__(self, height: float, ink: str = style.SOFT):
        self.width, self.height, self.ink = 10.0, height, ink

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        low, middle, right = y + self.height, y + self.height / 2, x + self.width / 2
        sheet.line((x, y), (right, y), (right, low), (x, low), ink=self.ink, line=1.4)
        sheet.line((right, middle), (x + self.width, middle), ink=self.ink, line=1.4)


class Line(Node):
    """A rule across."""

    def __init__(self, width: float, ink: str = style.HAIR, line: float = 1.0):
        self.width, self.height, self.ink, self.line = width, line, ink, line

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        sheet.line((x, y), (x + self.width, y), ink=self.ink, line=self.line)

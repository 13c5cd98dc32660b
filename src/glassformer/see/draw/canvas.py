"""A page to draw on, in points with y downwards, as large as its contents.

A picture makes a `Page`, draws on it, and calls `finish`. Sizes of type are points too, so that a
layout without overlap keeps none. Every printed number names its cell: `Page.number`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from math import cos, radians, sin
from typing import NamedTuple

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Patch, PathPatch
from matplotlib.path import Path
from matplotlib.text import Text

from . import theme
from .animate import Animation, AnimationStep, Drawing
from .fonts import check_language, choose_font, direct, make_writable, measure_width, shorten_text
from .layout import lay_out

Point = tuple[float, float]
Of = tuple[str, Sequence[int]] | str
Colour = str | tuple[float, ...]
MIDDLE = 0.36  # share of the type size from the middle of a line down to its baseline


class Rect(NamedTuple):
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
    def centre(self) -> Point:
        return self.x + self.width / 2, self.y + self.height / 2

    def at(self, across: float, down: float) -> Point:
        """Return a point of it: (0, 0) is the upper left corner, (1, 1) the lower right one."""
        return self.x + across * self.width, self.y + down * self.height


def name_cell(of: Of) -> str:
    """Return the tag of a number: `memory[3,0]`, or the string given in its place."""
    return of if isinstance(of, str) else f"{of[0]}[{','.join(str(int(i)) for i in of[1])}]"


def spell_number(value: float, digits: int = 2) -> str:
    """Return a number as pictures print it.

    It has a true minus sign; -inf is −∞, and zero is never negative.
    """
    if value == float("-inf"):
        return "−∞"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def _find_figure(ax: Axes | None) -> Figure:
    figure = Drawing(facecolor=theme.PAPER) if ax is None else ax.get_figure(root=True)
    assert isinstance(figure, Figure), "axes without a figure cannot be drawn on"
    return figure


class Page:
    """A picture that is being drawn, in any order; `layer` says what lies on top."""

    def __init__(self, lang: str = "en", ax: Axes | None = None):
        check_language(lang)
        self.lang, self.own = lang, ax is None
        self.figure = _find_figure(ax)
        self.ax = self.figure.add_axes((0, 0, 1, 1)) if ax is None else ax
        self.ax.set_axis_off()
        self.left = self.top = float("inf")
        self.right = self.bottom = float("-inf")
        self.cells: Counter[str] = Counter()
        self.steps: list[AnimationStep] = []
        self.resting = True

    def say(self, en: str, zh: str) -> str:
        """Return a text in the language of the picture."""
        return zh if self.lang == "zh" else en

    def join(self, *parts: str) -> str:
        """Return a sentence made of parts with commas between them."""
        text = self.say(", ", "，").join(parts) + self.say(".", "。")
        return text[0].upper() + text[1:]

    def step(self, en: str, zh: str) -> None:
        """Begin an animation step: what is drawn from here on appears with this sentence."""
        self.steps.append(AnimationStep(self.say(en, zh), []))
        self.resting = False

    def rest(self) -> None:
        """End the animation steps: what is drawn from here on is there from the start."""
        self.resting = True

    def keep(self, artist: Artist) -> None:
        """Put an artist on the page, to appear with the present step."""
        if artist.axes is None and isinstance(artist, Patch):
            self.ax.add_patch(artist)
        if not self.resting:
            self.steps[-1].artists.append(artist)

    def reach(self, x: float, y: float, width: float = 0, height: float = 0) -> Rect:
        """Make the page large enough for this rectangle, and return it."""
        self.left, self.right = min(self.left, x), max(self.right, x + width)
        self.top, self.bottom = min(self.top, y), max(self.bottom, y + height)
        return Rect(x, y, width, height)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float = theme.TEXT,
        color: Colour = theme.INK,
        ha: str = "left",
        va: str = "center",
        bold: bool = False,
        mono: bool = False,
        width: float | None = None,
        rotation: float = 0,
        layer: float = 5,
        alpha: float = 1,
        gid: str | None = None,
        math: bool = False,
    ) -> Text:
        """Write text, of one or several lines; a line wider than `width` ends in an ellipsis."""
        lines = [direct(line) for line in make_writable(text).split("\n")]
        if width is not None:
            lines = [shorten_text(line, width, size, bold, mono) for line in lines]
        shown = "\n".join(lines)
        lone = va == "center" and len(lines) == 1 and not (rotation or math)
        sits = "baseline" if lone else "center_baseline" if va == "center" else va
        artist = self.ax.text(
            x,
            y + lone * MIDDLE * size,
            shown,
            color=color,
            ha=ha,
            va=sits,
            rotation=rotation,
            rotation_mode="anchor",
            zorder=layer,
            alpha=alpha,
            gid=gid,
            linespacing=1.3,
            fontproperties=choose_font(shown, size, bold, mono),
            parse_math=math,
        )
        long = max(measure_width(line, size, bold, mono, math) for line in lines)
        high = size * 1.35 * len(lines)
        place = {"left": 0.0, "center": 0.5, "right": 1.0, "top": 0.0, "bottom": 1.0}
        left, top = -long * place[ha], -high * place.get(va, 0.5)
        sine, cosine = sin(radians(rotation)), cos(radians(rotation))
        for across, down in product((left, left + long), (top, top + high)):
            self.reach(x + across * cosine + down * sine, y - across * sine + down * cosine)
        self.keep(artist)
        return artist

    def number(
        self,
        x: float,
        y: float,
        value: float,
        of: Of,
        *,
        digits: int = 2,
        size: float = theme.SMALL,
        color: Colour = theme.INK,
        ha: str = "center",
        bold: bool = False,
        alpha: float = 1,
        layer: float = 6,
        before: str = "",
    ) -> Text:
        """Print a number, tagged with its source.

        of: (tensor, index), or "schematic", "worked", "derived:expression". The expression
        is Python over `trace` and `np`. The tag is the artist's gid, by which a test
        compares the printed number with its source. before: text before the number, such as
        "Σ = ".
        """
        tag = name_cell(of)
        self.cells[tag] += 1
        gid = tag if self.cells[tag] == 1 else f"{tag}#{self.cells[tag]}"
        return self.text(
            x,
            y,
            before + spell_number(value, digits),
            size=size,
            color=color,
            ha=ha,
            bold=bold,
            alpha=alpha,
            layer=layer,
            gid=gid,
        )

    def formula(
        self,
        x: float,
        y: float,
        tex: str,
        *,
        size: float = 12,
        color: Colour = theme.INK,
        ha: str = "center",
    ) -> Text:
        r"""Write a formula in TeX, such as `r"\frac{QK^\top}{\sqrt{d_k}}"`."""
        return self.text(x, y, f"${tex}$", size=size, color=color, ha=ha, math=True)

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: Colour = theme.PAPER,
        edge: Colour | None = theme.INK,
        line: float = 1.0,
        dashed: bool = False,
        round: float = 4,
        label: str = "",
        size: float = theme.TEXT,
        color: Colour | None = None,
        bold: bool = False,
        hatch: str | None = None,
        layer: float = 2,
        alpha: float = 1,
    ) -> Rect:
        """Draw a rectangle with its label in the middle; `edge=None` draws no frame."""
        round = min(round, width / 2, height / 2)
        patch = FancyBboxPatch(
            (x, y),
            width,
            height,
            boxstyle=f"round,pad=0,rounding_size={round}",
            facecolor=fill,
            edgecolor="none" if edge is None else edge,
            linewidth=line,
            zorder=layer,
            alpha=alpha,
            linestyle=(0, (3, 2)) if dashed else "solid",
            hatch=hatch,
            joinstyle="round",
            hatchcolor=theme.FAINT,
            hatch_linewidth=0.7,
        )
        self.keep(patch)
        if label:
            self.text(
                x + width / 2,
                y + height / 2,
                label,
                size=size,
                color=color or edge or theme.INK,
                ha="center",
                bold=bold,
                width=width - 4,
                layer=layer + 0.5,
            )
        return self.reach(x, y, width, height)

    def arrow(
        self,
        start: Point,
        end: Point,
        *,
        color: Colour = theme.SOFT,
        width: float = 1.2,
        bend: float = 0,
        dashed: bool = False,
        head: bool = True,
        layer: float = 3,
        alpha: float = 1,
    ) -> None:
        """Draw an arrow between points; `bend` is its curvature, as a share of its length."""
        size = 3.2 + 1.6 * width
        patch = FancyArrowPatch(
            start,
            end,
            arrowstyle=f"-|>,head_length={size / 2},head_width={size / 4}" if head else "-",
            connectionstyle=f"arc3,rad={bend}",
            shrinkA=0,
            shrinkB=0,
            mutation_scale=2,
            color=color,
            linewidth=width,
            zorder=layer,
            alpha=alpha,
            linestyle=(0, (3, 2)) if dashed else "solid",
            capstyle="butt",
            joinstyle="miter",
        )
        self.keep(patch)
        for x, y in (start, end):
            self.reach(x, y)

    def line(
        self,
        points: Sequence[Point],
        *,
        color: Colour = theme.SOFT,
        width: float = 1.2,
        dashed: bool = False,
        head: bool = False,
        layer: float = 3,
        alpha: float = 1,
    ) -> None:
        """Draw a line through points, with corners; `head` ends it in an arrow."""
        if head:
            (x0, y0), end = points[-2:]
            short = 1 - min(1.0, 4 / max(abs(end[0] - x0) + abs(end[1] - y0), 1e-9))
            points = [*points[:-1], (x0 + (end[0] - x0) * short, y0 + (end[1] - y0) * short)]
            self.arrow(points[-1], end, color=color, width=width, layer=layer, alpha=alpha)
        patch = PathPatch(
            Path(list(points)),
            facecolor="none",
            edgecolor=color,
            linewidth=width,
            zorder=layer,
            linestyle=(0, (3, 2)) if dashed else "solid",
            alpha=alpha,
            joinstyle="round",
        )
        self.keep(patch)
        for x, y in points:
            self.reach(x, y)

    def brace(
        self,
        start: float,
        end: float,
        y: float,
        label: str,
        *,
        down: bool = True,
        color: Colour = theme.SOFT,
        size: float = theme.SMALL,
    ) -> None:
        """Draw a bracket with a label below (or above) the span between two x."""
        tip = 4 if down else -4
        self.line([(start, y), (start, y + tip), (end, y + tip), (end, y)], color=color, width=0.9)
        self.text((start + end) / 2, y + 3 * tip, label, size=size, color=color, ha="center")

    def finish(self, title: str, note: str = "", *, width: float = 0) -> Figure:
        """Add title and note, fit the page to its contents, and return the figure."""
        lay_out(self, title, note, width)
        return self.figure

    def animate(self, title: str, note: str = "", *, width: float = 0) -> Animation:
        """Finish the page as an animation of its steps; its figure is complete."""
        return Animation(self.figure, self.steps, lay_out(self, title, note, width))

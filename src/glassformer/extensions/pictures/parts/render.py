"""Scenes drawn with matplotlib: stills for papers, and animations of their steps."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path as Route
from matplotlib.text import Text

from . import style
from .animate import Animation, Drawing, DrawnMark, save_figure, write_picture
from .fonts import choose_font
from .scene import BoxMark, GridMark, Mark, PathMark, Scene, TextMark
from .svg import write_svg
from .typesetting import TypeStyle, set_lines

DASHES = (0, (3, 2))


def render_scene(scene: Scene, ax: Axes | None = None) -> Figure | Animation:
    """Draw a scene as a figure of its own or on axes; with steps, as an animation."""
    figure: Figure | None = Drawing(facecolor=style.PAPER) if ax is None else ax.figure  # type: ignore[assignment]
    assert figure is not None
    axes = figure.add_axes((0, 0, 1, 1)) if ax is None else ax
    axes.set_axis_off()
    if ax is None:
        figure.set_size_inches(scene.width / 72, scene.height / 72)
    axes.set(xlim=(0, scene.width), ylim=(scene.height, 0), aspect="equal", autoscale_on=False)
    box = axes.get_window_extent()
    factor = min(box.width / scene.width, box.height / scene.height) * 72 / figure.dpi
    pen = _Pen(axes, 1.0 if ax is None else factor)
    drawn = [DrawnMark(mark, pen.draw(mark)) for mark in scene.marks]
    drawn += pen.more
    figure.scene = scene  # type: ignore[attr-defined]
    if not scene.captions:
        return figure
    moving = Animation(figure, drawn, [pen.caption(text, scene) for text in scene.captions])
    moving.complete()
    return moving


def save_scene(scene: Scene, path: Path | str, *, dpi: float = 144) -> None:
    """Write a scene as .svg, .pdf, .png, .gif or .mp4, by the ending of the path."""
    if Path(path).suffix.lower() == ".svg":
        write_picture(Path(path), write_svg(scene).encode())
        return
    drawn = render_scene(scene)
    drawn.save(path) if isinstance(drawn, Animation) else save_figure(drawn, path, dpi=dpi)


class _Pen:
    """A drawer of marks on one pair of axes; `factor` scales type and lines."""

    def __init__(self, axes: Axes, factor: float):
        self.axes, self.factor = axes, factor
        self.tags: Counter[str] = Counter()
        self.more: list[DrawnMark] = []  # what a mark has besides the artist returned

    def draw(self, mark: Mark) -> Artist:
        if isinstance(mark, TextMark):
            return self.write(mark)
        if isinstance(mark, GridMark):
            return self.paint(mark)
        patch = self.box(mark) if isinstance(mark, BoxMark) else self.path(mark)
        self.axes.add_patch(patch)
        return patch

    def write(self, mark: TextMark) -> Text:
        places = {"start": "left", "middle": "center", "end": "right"}
        font = choose_font(mark.text, mark.size * self.factor, mark.bold, mark.mono, mark.italic)
        self.tags[mark.of] += 1
        count = self.tags[mark.of]
        tag = mark.of + (f"#{count}" if count > 1 else "") if mark.of else None
        return self.axes.text(
            mark.x,
            mark.y,
            mark.text,
            ha=places[mark.anchor],
            va="baseline",
            color=mark.ink,
            fontproperties=font,
            zorder=mark.layer,
            alpha=mark.alpha,
            gid=tag,
            parse_math=False,
            rotation=90 if mark.upright else 0,
            rotation_mode="anchor",
        )

    def box(self, mark: BoxMark) -> FancyBboxPatch:
        round = min(mark.round, mark.width / 2, mark.height / 2)
        patch = FancyBboxPatch(
            (mark.x, mark.y),
            mark.width,
            mark.height,
            boxstyle=f"round,pad=0,rounding_size={round}",
            facecolor=mark.fill or "none",
            edgecolor=mark.edge or "none",
            linewidth=mark.line * self.factor if mark.edge else 0,
            linestyle=DASHES if mark.dashed else "solid",
            zorder=mark.layer,
            alpha=mark.alpha,
        )
        if mark.hatch:
            patch.set(hatch=4 * mark.hatch, hatchcolor=mark.edge or style.FAINT)
        return patch

    def path(self, mark: Mark) -> PathPatch:
        assert isinstance(mark, PathMark)
        codes = [
            Route.MOVETO,
            *[Route.CURVE4 if mark.curved else Route.LINETO] * (len(mark.points) - 1),
        ]
        return PathPatch(
            Route(list(mark.points), codes),
            facecolor=mark.fill or "none",
            edgecolor=mark.ink or "none",
            linewidth=mark.line * self.factor if mark.ink else 0,
            linestyle=DASHES if mark.dashed else "solid",
            zorder=mark.layer,
            alpha=mark.alpha,
            capstyle="butt",
            joinstyle="round",
        )

    def paint(self, mark: GridMark) -> Artist:
        values = np.array(mark.values)
        low = 0.0 if mark.scale == "share" else -mark.limit
        rgba = np.array(
            style.SCALES[mark.scale](np.clip((values - low) / (mark.limit - low), 0, 1))
        )
        wide, high = mark.width / values.shape[1], mark.height / values.shape[0]
        if mark.hidden:
            rgba[tuple(np.array(mark.hidden).T)] = (1, 1, 1, 1)
            hatched = self.axes.add_patch(_hatch_cells(mark, wide, high))
            self.more.append(DrawnMark(mark, hatched))
        extent = (mark.x, mark.x + mark.width, mark.y + mark.height, mark.y)
        image = self.axes.imshow(rgba, extent=extent, interpolation="nearest", aspect="auto")
        image.set(zorder=mark.layer, alpha=mark.alpha)
        self.axes.set_aspect("equal")
        return image

    def caption(self, text: str, scene: Scene) -> Text:
        """Write a caption in the place of the note, hidden until its step."""
        width = scene.width - 2 * style.MARGIN
        lines = set_lines(text, TypeStyle(style.BODY), width)
        shown = "\n".join("".join(run.text for run in line) for line in lines)
        artist = self.axes.text(
            *scene.caption_at,
            shown,
            va="top",
            color=style.INK,
            linespacing=1.25,
            fontproperties=choose_font(shown, style.BODY * self.factor),
            zorder=8,
            parse_math=False,
        )
        artist.set_visible(False)
        return artist


def _hatch_cells(mark: GridMark, wide: float, high: float) -> PathPatch:
    """Return one patch that hatches the hidden cells of a grid."""
    corners = []
    for i, j in mark.hidden:
        x, y = mark.x + j * wide, mark.y + i * high
        corners += [(x, y), (x + wide, y), (x + wide, y + high), (x, y + high), (x, y)]
    codes = [Route.MOVETO, *[Route.LINETO] * 3, Route.CLOSEPOLY] * len(mark.hidden)
    patch = PathPatch(Route(corners, codes), facecolor="none", edgecolor="none", linewidth=0)
    patch.set(hatch="/////", zorder=mark.layer + 0.5, hatchcolor=style.FAINT)
    return patch

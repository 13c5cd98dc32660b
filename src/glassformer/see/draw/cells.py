"""Vectors and matrices as cells: with numbers if there are few, as a heat map if many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Colormap, Normalize
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from . import theme
from .canvas import Page, Rect
from .fonts import measure_width, shorten_text

Array = NDArray[Any]
CELL = (30.0, 20.0)  # width and height of a cell with a number in it


def find_limit(values: Array) -> float:
    """Return the largest finite magnitude, or 1; a signed scale goes from minus it to it."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size and finite.max() > 0 else 1.0


def paint(colours: Colormap, share: float) -> tuple[float, ...]:
    """Return the colour at a share of a scale."""
    return tuple(float(part) for part in colours(share))


def choose_scale(kind: str, limit: float = 1.0) -> tuple[Colormap, Normalize]:
    """Return the colours and the norm of a scale.

    "signed" is symmetric about 0; "share" goes from 0, for attention weights; "wave" is
    symmetric about 0, in the colours of waves.
    """
    if kind == "signed":
        return theme.SIGNED, Normalize(-limit, limit)
    if kind == "share":
        return theme.SHARE, Normalize(0, limit)
    return colormaps[theme.POSITIVE], Normalize(-limit, limit)


def strip(
    page: Page,
    x: float,
    y: float,
    values: Sequence[float] | Array,
    role: str,
    of: tuple[str, Sequence[int]] | str,
    *,
    shown: int = 4,
    cell: tuple[float, float] = CELL,
    upright: bool = False,
    digits: int = 2,
    alpha: float = 1,
    learned: bool = False,
    letter: str = "",
    size: float = theme.SMALL,
) -> Rect:
    """Draw a vector as numbered cells: the first `shown` numbers, then how many more there are.

    of: the tensor and the index up to the last axis, which this function adds. letter: the
    symbol written before the vector.
    """
    fill, ink, _ = theme.role(role)
    width, height = cell
    for i, value in enumerate(values[:shown]):
        left, top = (x, y + i * height) if upright else (x + i * width, y)
        page.box(
            left,
            top,
            width,
            height,
            fill=fill,
            edge=ink,
            round=0,
            alpha=alpha,
            line=1.6 if learned else 0.8,
            dashed=False,
        )
        cell_of = of if isinstance(of, str) else (of[0], (*of[1], i))
        page.number(
            left + width / 2,
            top + height / 2,
            float(value),
            cell_of,
            digits=digits,
            size=size,
            alpha=max(alpha, 0.55),
        )
    n = min(shown, len(values))
    rect = Rect(x, y, width, n * height) if upright else Rect(x, y, n * width, height)
    if len(values) > shown:
        more = f"+{len(values) - shown}"
        place = (rect.centre[0], rect.bottom + 6) if upright else (rect.right + 3, rect.centre[1])
        page.text(*place, more, size=theme.TINY, color=ink, ha="center" if upright else "left")
    if letter:
        place = (rect.centre[0], y - 8) if upright else (x - 6, rect.centre[1])
        page.text(*place, letter, color=ink, bold=True, ha="center" if upright else "right")
    return rect


def matrix(
    page: Page,
    x: float,
    y: float,
    values: Array,
    role: str,
    of: tuple[str, Sequence[int]] | str,
    *,
    cell: tuple[float, float] = CELL,
    masked: Array | None = None,
    digits: int = 2,
    size: float = theme.SMALL,
    learned: bool = False,
    scale: str | None = None,
    limit: float | None = None,
    derived: bool = False,
) -> Rect:
    """Draw a small matrix with all its numbers.

    of: the tensor and the index before the last two axes; a string may hold {i} and {j}.
    masked: True for hidden cells, which are hatched. scale: colour by value ("signed",
    "share"); without it, cells have the colour of the role.
    """
    fill, ink, _ = theme.role(role)
    width, height = cell
    colours = choose_scale(scale, limit or find_limit(values)) if scale else None
    for i, j in np.ndindex(values.shape):
        left, top = x + j * width, y + i * height
        hidden = masked is not None and bool(masked[i, j])
        value = float(values[i, j])
        painted = paint(colours[0], float(colours[1](value))) if colours else None
        page.box(
            left,
            top,
            width,
            height,
            round=0,
            line=0.6,
            edge=theme.PAPER if colours else ink,
            fill=theme.PAPER if hidden else painted or fill,
            hatch="/////" if hidden else None,
        )
        tag = of.format(i=i, j=j) if isinstance(of, str) else (of[0], (*of[1], i, j))
        dark = theme.INK if painted is None or hidden else theme.ink_on(painted)
        page.number(
            left + width / 2,
            top + height / 2,
            value,
            tag,
            digits=digits,
            size=size,
            color=theme.SOFT if hidden else dark,
        )
    rows, columns = values.shape
    return page.box(
        x,
        y,
        columns * width,
        rows * height,
        fill="none",
        edge=ink,
        round=0,
        line=2 if learned else 1,
        dashed=derived,
        layer=4,
    )


def heat(
    page: Page,
    x: float,
    y: float,
    values: Array,
    width: float,
    height: float,
    *,
    role: str = "plain",
    scale: str = "signed",
    limit: float | None = None,
    masked: Array | None = None,
    learned: bool = False,
    derived: bool = False,
    gid: str = "",
) -> Rect:
    """Draw a matrix of any size as colours; `legend` draws the scale that belongs to it."""
    limit = find_limit(values) if limit is None else limit
    colours, norm = choose_scale(scale, limit)
    rgba = colours(norm(np.where(np.isfinite(values), values, 0)))
    if masked is not None:
        rgba[masked] = (1, 1, 1, 1)
    image = page.ax.imshow(
        rgba,
        extent=(x, x + width, y + height, y),
        interpolation="nearest",
        zorder=2,
        aspect="auto",
        gid=gid or None,
    )
    page.keep(image)
    if masked is not None:
        _hatch(page, x, y, masked, width / values.shape[1], height / values.shape[0])
    ink = theme.role(role).ink
    return page.box(
        x,
        y,
        width,
        height,
        fill="none",
        edge=ink,
        round=0,
        layer=4,
        line=2 if learned else 0.9,
        dashed=derived,
    )


def _hatch(page: Page, x: float, y: float, masked: Array, width: float, height: float) -> None:
    """Hatch each run of hidden cells in a row as one rectangle."""
    for row, hidden in enumerate(masked):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], hidden.astype(int), [0]])))
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            patch = Rectangle(
                (x + start * width, y + row * height),
                (end - start) * width,
                height,
                facecolor="none",
                edgecolor="none",
                linewidth=0,
                hatch="/////",
                zorder=3,
                hatchcolor=theme.FAINT,
            )
            page.keep(patch)


def legend(
    page: Page,
    x: float,
    y: float,
    scale: str,
    limit: float,
    *,
    width: float = 110,
    label: str = "",
    digits: int = 2,
) -> Rect:
    """Draw the colours of a scale, its ends and middle, and the label of what they measure."""
    colours, norm = choose_scale(scale, limit)
    ends = (0.0, limit) if scale == "share" else (-limit, limit)
    bar = np.linspace(*ends, 256)[None]
    image = page.ax.imshow(
        colours(norm(bar)),
        extent=(x, x + width, y + 7, y),
        interpolation="nearest",
        zorder=2,
        aspect="auto",
    )
    page.keep(image)
    page.box(x, y, width, 7, fill="none", edge=theme.SOFT, round=0, line=0.6, layer=4)
    for value, ha, place in ((ends[0], "left", 0.0), (ends[1], "right", 1.0)):
        page.number(
            x + place * width,
            y + 14,
            value,
            "scale",
            digits=digits,
            size=theme.TINY,
            color=theme.SOFT,
            ha=ha,
        )
    if scale != "share":
        page.number(x + width / 2, y + 14, 0, "scale", digits=0, size=theme.TINY, color=theme.SOFT)
    if label:
        page.text(x + width + 8, y + 4, label, size=theme.SMALL, color=theme.SOFT)
    return page.reach(x, y, width, 18)


def tokens(
    page: Page,
    x: float,
    y: float,
    texts: Sequence[str],
    *,
    upright: bool = False,
    step: float | None = None,
    size: float = theme.SMALL,
    role: str = "plain",
    widest: float = 90,
    lit: Sequence[int] = (),
    boxed: bool = True,
) -> list[Rect]:
    """Draw tokens from left to right, or below each other if `upright`; return their boxes.

    step: the distance from one token to the next; without it, each is as wide as its text.
    """
    fill, ink, _ = theme.role(role)
    places, height = [], size * 2
    for i, text in enumerate(texts):
        shown = shorten_text(text, widest, size, mono=True)
        width = measure_width(shown, size, mono=True) + 8
        if upright:
            rect = Rect(x, y + i * (step or height + 2), widest + 8, height)
        else:
            rect = Rect(x + i * step, y, step - 3, height) if step else Rect(x, y, width, height)
            x += 0 if step else width + 4
        if boxed:
            page.box(*rect, fill=fill, edge=ink, line=2 if i in lit else 0.8, round=3)
        page.text(
            *rect.centre,
            shown,
            size=size,
            mono=True,
            ha="center",
            bold=i in lit,
            width=rect.width - 2,
            color=ink if i in lit else theme.INK,
        )
        places.append(rect)
    return places


def panel(
    page: Page,
    x: float,
    y: float,
    values: Array,
    role: str,
    name: str,
    *,
    width: float | None = None,
    height: float | None = None,
    scale: str = "signed",
    limit: float | None = None,
    masked: Array | None = None,
    learned: bool = False,
    derived: bool = False,
    shape: str | None = None,
) -> Rect:
    """Draw a heat map with its name above (as a formula) and its shape below."""
    rows, columns = values.shape
    width = width or span(columns)
    height = height or span(rows)
    ink = theme.role(role).ink
    rect = heat(
        page,
        x,
        y,
        values,
        width,
        height,
        role=role,
        scale=scale,
        limit=limit,
        masked=masked,
        learned=learned,
        derived=derived,
    )
    page.formula(rect.centre[0], y - 12, name, size=11, color=ink)
    size = f"{rows} × {columns}" if shape is None else shape
    page.text(rect.centre[0], rect.bottom + 9, size, size=theme.TINY, color=ink, ha="center")
    return rect


def span(size: int) -> float:
    """Return the drawn length of an axis with `size` cells; it grows ever more slowly."""
    return float(min(10.0 * size, 28 * np.log2(1 + size) - 10)) if size > 1 else 10.0

"""The picture of the three masks of attention, and why each cell is hidden (V62)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from . import theme
from .canvas import Page, Rect
from .masks import fit_cell, write_columns, write_rows
from .selection import Array, label_rows, show_tokens, tell_left_out

PADDING, MOST = 3, 21
WHY = {  # by the reason for hiding: hatch, fill, colour of the hatch, Chinese name
    "may look": ("", "#cbb9e8", "#cbb9e8", "看得到"),
    "padding": ("/////", "#ffffff", "#aeb4bd", "填充"),
    "comes later": ("\\\\\\\\\\", "#fff4e6", "#e0a060", "后面的词"),
    "both": ("xxxxx", "#fff4e6", "#b9a08a", "两者皆是"),
}
NAMES = list(WHY)


def draw_three_masks(trace: Any, *, lang: str = "en", ax: Axes | None = None) -> Figure:
    """Draw the masks of encoder, decoder and cross-attention, with three padding tokens (V62)."""
    page, pad = Page(lang, ax), ["<pad>"] * PADDING
    source, target, reading = (
        side[:MOST] + pad
        for side in (show_tokens(trace.source), show_tokens(trace.target), label_rows(trace))
    )
    s, t = (np.arange(len(side)) >= len(side) - PADDING for side in (source, target))
    later = ~np.tri(len(t), dtype=bool)
    uses = (
        (page.say("encoder", "编码器"), source, source, np.broadcast_to(s, (len(s), len(s))) * 1),
        (page.say("decoder, itself", "解码器自身"), reading, target, later * 2 + t),
        (
            page.say("decoder reads source", "解码器读源句"),
            reading,
            source,
            np.broadcast_to(s, (len(t), len(s))) * 1,
        ),
    )
    cell, size = fit_cell(max(len(source), len(target)), 280, 18)
    x, bottom = 0.0, cell * max(len(source), len(target))
    for title, rows, columns, why in uses:
        rect = _draw_mask(page, x, why, cell)
        write_columns(page, columns, x, 0, cell, size)
        write_rows(page, rows, x, 0, cell, size)
        page.text(rect.centre[0], bottom + 18, title, bold=True, ha="center")
        x = rect.right + 130
    _write_key(page, bottom + 40)
    longest = max(len(trace.source), len(trace.target))
    return page.finish(
        page.say("One attention, three masks", "一种注意力，三种掩码"),
        page.say(
            "Rows read, columns are read. The three places of padding are added here, as they "
            "would be beside a longer sentence. Rows of padding do read; nobody uses what they "
            "find.",
            "行读取，列被读。三个填充位是为说明而加，如同与更长的句子同批。填充行也会读取，"
            "但结果无人使用。",
        )
        + tell_left_out(page, min(MOST, longest), longest),
    )


def _draw_mask(page: Page, x: float, why: Array, cell: float) -> Rect:
    """Draw a mask; cells side by side that are hidden for the same reason are one patch."""
    for row, reasons in enumerate(why.astype(int)):
        starts = np.flatnonzero(np.diff(reasons, prepend=-1))
        for start, end in zip(starts, [*starts[1:], len(reasons)], strict=True):
            place = Rect(x + start * cell, row * cell, (end - start) * cell, cell)
            _draw_reason(page, place, NAMES[reasons[start]])
    rows, columns = why.shape
    return page.box(
        x, 0, columns * cell, rows * cell, fill="none", edge=theme.SOFT, round=0, layer=4
    )


def _draw_reason(page: Page, place: Rect, name: str) -> None:
    hatch, fill, ink, _ = WHY[name]
    patch = Rectangle(
        place[:2],
        place.width,
        place.height,
        facecolor=fill,
        hatch=hatch or None,
        edgecolor="none",
        linewidth=0,
        zorder=2,
        hatchcolor=ink,
    )
    page.keep(patch)


def _write_key(page: Page, y: float) -> None:
    for n, name in enumerate(NAMES):
        _draw_reason(page, page.reach(n * 120.0, y, 18, 14), name)
        page.box(n * 120.0, y, 18, 14, fill="none", edge=theme.SOFT, round=0, line=0.6, layer=4)
        words = f"hidden: {name}" if n else name, f"遮住：{WHY[name][3]}" if n else WHY[name][3]
        page.text(n * 120.0 + 24, y + 7, page.say(*words), size=theme.SMALL)

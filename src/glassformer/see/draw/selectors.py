"""The picture of all three attentions at once, with heads switched on and off (V52)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from . import theme
from .canvas import Page
from .selection import Array, Attention, find_attention, pick_heads, tell_left_out

MOST = 64  # tokens drawn on a side


def draw_selectors(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    layer: int = -1,
    heads: Sequence[int] | None = None,
) -> Figure:
    """Draw the three attentions of a layer side by side, with the lines of `heads` (V52)."""
    page = Page(lang, ax)
    count = trace.settings.heads
    on = sorted(pick_heads(trace, range(count) if heads is None else heads))
    titles = {
        ("encoder", "self_attention"): page.say("source reads source", "源句读源句"),
        ("decoder", "cross_attention"): page.say("target reads source", "译文读源句"),
        ("decoder", "self_attention"): page.say("target reads target", "译文读译文"),
    }
    longest = max(len(trace.source), len(trace.target))
    drawn = min(MOST, longest)
    pitch, x = (16.0 if longest <= 26 else 11.0), 0.0
    for (side, kind), title in titles.items():
        attention = find_attention(trace, side, layer, kind)
        page.text(x + 155, -40, title, size=11, bold=True, ha="center")
        page.text(
            x + 155,
            -24,
            attention.title(page.lang),
            size=theme.SMALL,
            color=theme.SOFT,
            ha="center",
        )
        attention = attention._replace(keys=attention.keys[:MOST])
        weights = trace[f"{attention.name}.weights"][:, :MOST, :MOST]
        _draw_bundle(page, x + 95, attention.queries[:MOST], attention, weights, on, pitch)
        x += 342
    _draw_switches(page, count, on, drawn * pitch + 14)
    return page.finish(
        page.say("Choose a layer, an attention, the heads", "选择层、注意力和头"),
        page.say(
            "Every row at once; a line is as strong as its weight. A filled number is a head that "
            "is drawn, an empty one a head that is off.",
            "一次画出所有行；线条越浓，权重越大。实心数字的头被画出，空心的头关闭。",
        )
        + tell_left_out(page, drawn, longest),
    )


def _draw_bundle(
    page: Page,
    x: float,
    rows: list[str],
    attention: Attention,
    weights: Array,
    heads: Sequence[int],
    pitch: float,
) -> None:
    size = theme.SMALL if pitch > 12 else theme.TINY
    sides = (rows, x - 4, "right", 112), (attention.keys, x + 124, "left", 84)
    for texts, place, ha, width in sides:
        for i, text in enumerate(texts):
            page.text(place, i * pitch, text, size=size, mono=True, ha=ha, width=width)
    for head in heads:
        picked = np.argwhere(weights[head] >= 0.02)
        lines = [[(x, i * pitch), (x + 120, j * pitch)] for i, j in picked]
        colours = [
            (*to_rgb(theme.HEADS[head % len(theme.HEADS)]), float(weights[head, i, j]))
            for i, j in picked
        ]
        bundle = LineCollection(lines, colors=colours, linewidths=1.3, zorder=2)
        page.ax.add_collection(bundle, autolim=False)
        page.keep(bundle)


def _draw_switches(page: Page, count: int, on: Sequence[int], y: float) -> None:
    page.text(0, y + 8, page.say("heads", "头"), bold=True)
    for head in range(count):
        colour, x = theme.HEADS[head % len(theme.HEADS)], 44 + head * 24
        page.box(
            x,
            y,
            18,
            16,
            fill=colour if head in on else theme.PAPER,
            edge=colour,
            line=1.4,
            label=str(head),
            color=theme.PAPER if head in on else colour,
            bold=True,
            size=theme.SMALL,
        )

"""The picture of why vectors are normalised (V67)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .canvas import Page, Rect
from .charts import Chart, dots
from .selection import Array, count_layers, find_unnormed


def draw_why_norm(
    trace: Any, *, lang: str = "en", ax: Axes | None = None, side: str = "encoder"
) -> Figure:
    """Draw the usual sketch, marked as one, and the measured effect of the first norms (V67)."""
    page = Page(lang, ax)
    grid = np.linspace(0.12, 1, 6)
    for place, (label, ratio) in enumerate(
        ((page.say("without", "不归一化"), 3.2), (page.say("with", "归一化后"), 1.0))
    ):
        x, angle = place * 190 + 90.0, np.linspace(0, 2 * np.pi, 90)
        for n, radius in enumerate(grid.tolist()):
            points = zip(
                x + 82 * radius * np.cos(angle),
                100 + 82 * radius / ratio * np.sin(angle),
                strict=True,
            )
            page.line(
                [(float(a), float(b)) for a, b in points],
                color=theme.SIGNED(0.95 - 0.07 * n),
                width=1.1,
            )
        path = _descend(ratio)
        page.line(
            [(x + 82 * a, 100 + 82 * b) for a, b in path], color=theme.INK, width=1.3, head=True
        )
        page.text(x, 6, label, bold=True, ha="center")
        page.text(
            x,
            200,
            "schematic" if lang == "en" else "示意",
            size=theme.SMALL,
            ha="center",
            color=theme.SOFT,
        )
    layers = count_layers(trace, side)
    before, after = _measure_spread(trace, side, layers)
    top = float(max(before.max(), after.max())) * 1.05
    chart = Chart(
        page,
        Rect(440, 0, 280, 200),
        (-0.5, layers - 0.5),
        (0, top),
        x_ticks=list(range(layers)),
        across=page.say("layer", "层"),
        up=page.say("σ of each vector, measured", "每个向量的 σ（实测）"),
    )
    for values, colour, shift, label in (
        (before, theme.role("residual").ink, -0.13, page.say("before the norm", "归一化前")),
        (after, theme.role("norm").ink, 0.13, page.say("after", "之后")),
    ):
        spots = [chart.at(n + shift, value) for n, row in enumerate(values) for value in row]
        dots(page, np.array(spots), 4, colour, alpha=0.5)
        page.text(732, 20 if shift < 0 else 36, label, size=theme.SMALL, color=colour, bold=True)
    return page.finish(
        page.say("Why normalise", "为什么要归一化"),
        page.say(
            "Left: a sketch of a loss over two weights; on the long valley a step goes astray. "
            "Right: this sentence, first norm of each layer.",
            "左：两个权重上损失的示意，狭长山谷中步子容易走偏。右：本句在每层第一个归一化前后的实测"
            "。",
        ),
    )


def _descend(ratio: float) -> list[tuple[float, float]]:
    """Return the path of gradient descent on (x² + (ratio y)²) / 2.

    If `ratio` is above 1, the learning rate is too large for the steep direction y.
    """
    rate, place = (
        1.75 / ratio**2 if ratio > 1 else 0.35,
        np.array([0.9, 0.25 if ratio > 1 else 0.45]),
    )
    path = [place]
    for _ in range(12):
        place = place - rate * np.array([place[0], ratio**2 * place[1]])
        path.append(place)
    return [(float(a), float(b)) for a, b in path]


def _measure_spread(trace: Any, side: str, layers: int) -> tuple[Array, Array]:
    names = [find_unnormed(trace, side, n, "self_attention") for n in range(layers)]
    before = [trace[name].std(-1) for name in names]
    after = [trace[f"{side}.{n}.self_attention_residual.normed"].std(-1) for n in range(layers)]
    return np.stack(before), np.stack(after)

"""Pictures of the feed-forward network for one token (V63, V64)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from ..catalogue import look_up
from ..expression import parse_equation
from ..recompute import Along, Where, evaluate_expression
from . import theme
from .animate import Animation
from .canvas import Colour, Page, Rect
from .cells import find_limit, heat, legend, strip
from .charts import FEW, Chart, dots
from .selection import Array, count_layers, find_input, find_query, pick, show_tokens, tell_left_out

MOST = 48  # tokens whose units are counted


def find_place(trace: Any, side: str, layer: int, query: int | str | None) -> tuple[int, int, str]:
    """Return layer and row as indices, and the text of the row's token."""
    layer = pick(layer, count_layers(trace, side), "layer")
    texts = show_tokens(trace.source if side == "encoder" else trace.target)
    row = find_query(texts, query)
    return layer, row, texts[row]


def name_layer(page: Page, side: str, layer: int) -> str:
    return page.say(
        f"{side}, layer {layer}", ("编码器" if side == "encoder" else "解码器") + f"第 {layer} 层"
    )


def as_raster(values: Array) -> Array:
    """Return a long vector in rows, about twice as wide as high, filled up with NaN."""
    wide = 2 ** math.ceil(math.log2(math.sqrt(2 * len(values))))
    rows = -(-len(values) // wide)
    padded = np.full(rows * wide, np.nan)
    padded[: len(values)] = values
    return padded.reshape(rows, wide)


def draw_feed_forward(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    side: str = "encoder",
    layer: int = 0,
    query: int | str | None = None,
) -> Animation:
    """Draw one token through the feed-forward network; each inner unit is a cell (V63)."""
    page = Page(lang, ax)
    layer, row, text = find_place(trace, side, layer, query)
    name = f"{side}.{layer}.feed_forward"
    given = find_input(trace, side, layer, "feed_forward")
    x, inner, hidden, output = (
        trace[n][row] for n in (given, f"{name}.inner", f"{name}.hidden", f"{name}.output")
    )
    cell, middle = (34.0, 19.0), 95.0
    page.step(f"“{text}” comes in: {len(x)} numbers.", f"“{text}”进入：{len(x)} 个数。")
    strip(
        page,
        0,
        middle - 57,
        x,
        "residual",
        (given, (row,)),
        shown=6,
        cell=cell,
        upright=True,
        letter="x",
    )
    page.step(
        f"W₁ spreads it out to {len(inner)} numbers, each a dot.",
        f"W₁ 把它展开成 {len(inner)} 个数，每点一个。",
    )
    _draw_matrix_box(page, 62, middle, "W₁", (len(x), len(inner)))
    limit = find_limit(inner)
    _draw_units(page, 140, inner, limit, "x W₁ + b₁")
    activation = trace.settings.activation
    dead = int((hidden == 0).sum())
    page.step(
        f"{activation.upper() if activation != 'relu' else 'ReLU'} keeps what is above 0: "
        f"{len(inner) - dead} of {len(inner)} units are on."
        if activation == "relu"
        else f"{activation} bends each of them.",
        f"{'ReLU' if activation == 'relu' else activation} 只留下大于 0 的：{len(inner)} 个单元中有"
        f" {len(inner) - dead} 个被激活。"
        if activation == "relu"
        else f"{activation} 逐个弯曲它们。",
    )
    page.arrow((332, middle), (368, middle))
    page.text(
        350,
        middle - 12,
        "ReLU" if activation == "relu" else activation,
        size=theme.SMALL,
        ha="center",
        bold=True,
    )
    _draw_units(
        page, 374, hidden, limit, "max(0, ·)" if activation == "relu" else f"{activation}(·)"
    )
    page.step("W₂ brings it back to the width of the model.", "W₂ 把它带回模型的宽度。")
    _draw_matrix_box(page, 590, middle, "W₂", (len(hidden), len(output)))
    strip(
        page,
        668,
        middle - 57,
        output,
        "feed_forward",
        (f"{name}.output", (row,)),
        shown=6,
        cell=cell,
        upright=True,
        letter="f(x)",
    )
    page.step(
        "Every token goes the same way by itself: how many units are on for each.",
        "每个词元各自走同样的路：各有多少单元被激活。",
    )
    _count_active(page, trace, side, f"{name}.hidden", row)
    return page.animate(
        page.say("The feed-forward network, one token at a time", "前馈网络：逐个词元处理"),
        name_layer(page, side, layer).capitalize()
        + page.say(
            ". Of each vector the first six numbers are shown; blue is below 0, orange above.",
            "。每个向量只显示前六个数；蓝色小于 0，橙色大于 0。",
        )
        + tell_left_out(page, MOST, len(trace[given])),
    )


def _draw_matrix_box(
    page: Page, x: float, middle: float, label: str, shape: tuple[int, int]
) -> None:
    role = theme.role("feed_forward")
    page.arrow((x - 22, middle), (x, middle))
    page.box(
        x + 2,
        middle - 22,
        46,
        44,
        fill=role.fill,
        edge=role.ink,
        line=2,
        label=label,
        bold=True,
        size=12,
    )
    page.text(
        x + 25,
        middle + 32,
        f"{shape[0]} × {shape[1]}",
        size=theme.TINY,
        color=theme.SOFT,
        ha="center",
    )
    page.arrow((x + 50, middle), (x + 70, middle))


def _draw_units(page: Page, x: float, values: Array, limit: float, label: str) -> None:
    raster = as_raster(values)
    high = 186 * raster.shape[0] / raster.shape[1]
    heat(page, x, 95 - high / 2, raster, 186, high, role="feed_forward", limit=limit)
    page.text(
        x + 93,
        95 - high / 2 - 11,
        label,
        size=theme.SMALL,
        ha="center",
        bold=True,
        color=theme.role("feed_forward").ink,
    )
    legend(page, x + 38, 95 + high / 2 + 8, "signed", limit)


def _count_active(page: Page, trace: Any, side: str, name: str, row: int) -> None:
    """Draw for each token how many units are on, as a bar.

    If there are many tokens, draw those around the one that is shown.
    """
    texts = show_tokens(trace.source if side == "encoder" else trace.target)
    first = max(0, min(row - MOST // 2, len(texts) - MOST))
    active = (trace[name][first : first + MOST] > 0).sum(1)
    top, wide = 220.0, min(44.0, 702 / len(active))
    role, units = theme.role("feed_forward"), trace[name].shape[1]
    page.text(
        0,
        top - 16,
        page.say(f"units above 0, of {units}", f"大于 0 的单元数（共 {units}）"),
        size=theme.SMALL,
        bold=True,
        color=role.ink,
    )
    for i, count in enumerate(active.tolist(), first):
        high, x = 50 * count / units, (i - first) * wide
        page.box(
            x,
            top + 50 - high,
            wide - 2,
            high,
            fill=role.ink if i == row else role.fill,
            edge=role.ink,
            round=1,
            line=0.6,
        )
        page.number(
            x + wide / 2 - 1,
            top + 44 - high,
            count,
            f'derived:(trace["{name}"][{i}] > 0).sum()',
            digits=0,
            size=min(theme.TINY, wide * 0.4),
        )
        flat = wide >= 40
        page.text(
            x + wide / 2 - (1 if flat else -1),
            top + (60 if flat else 55),
            texts[i],
            size=theme.TINY,
            mono=True,
            rotation=0 if flat else -90,
            ha="center" if flat else "left",
            width=wide - 2 if flat else 60,
        )


def _draw_dots(page: Page, chart: Chart, before: Array, after: Array, colour: Colour) -> None:
    """Draw units as dots on the curve, and as marks along the x axis."""
    if not len(before):
        return
    spots = [chart.at(*pair) for pair in zip(before.tolist(), after.tolist(), strict=True)]
    dots(page, np.array(spots), 4, colour, layer=4, alpha=0.35)
    marks = LineCollection(
        [[(x, 226), (x, 234)] for x, _ in spots],
        colors=[colour],
        linewidths=0.5,
        alpha=0.5,
        zorder=3,
        rasterized=len(spots) > FEW,
    )
    page.ax.add_collection(marks, autolim=False)
    page.keep(marks)


def draw_activation(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    side: str = "encoder",
    layer: int = 0,
    query: int | str | None = None,
) -> Figure:
    """Draw the activation function, and the inner units of one token on it (V64)."""
    page = Page(lang, ax)
    layer, row, text = find_place(trace, side, layer, query)
    name = f"{side}.{layer}.feed_forward"
    inner, hidden = trace[f"{name}.inner"][row], trace[f"{name}.hidden"][row]
    limit = 1.1 * find_limit(inner)
    activation, role = trace.settings.activation, theme.role("feed_forward")
    bend = "ReLU" if activation == "relu" else activation
    chart = Chart(
        page,
        Rect(0, 0, 380, 230),
        (-limit, limit),
        (-0.12 * limit, limit),
        across=page.say("before: x W₁ + b₁", "激活前：x W₁ + b₁"),
        up=page.say("after", "激活后"),
    )
    grid = np.linspace(-limit, limit, 201)
    chart.curve(grid.tolist(), _activate(activation, grid).tolist(), role.ink, width=2.5)
    zero = chart.at(0, 0)
    page.line([(zero[0], 0), (zero[0], 230)], color=theme.FAINT, width=0.8, layer=1)
    for some, shade in ((inner > 0, 0.9), (inner <= 0, 0.12)):
        _draw_dots(page, chart, inner[some], hidden[some], theme.SIGNED(shade))
    counts = {"< 0": int((inner < 0).sum()), "> 0": int((inner > 0).sum())}
    for (label, count), place, ha in zip(
        counts.items(), (0.25, 0.62), ("center", "center"), strict=True
    ):
        expression = f'derived:(trace["{name}.inner"][{row}] {label}).sum()'
        page.number(
            380 * place, 60, count, expression, digits=0, size=20, bold=True, color=role.ink
        )
        page.text(
            380 * place, 82, page.say(f"units {label}", f"个单元 {label}"), ha=ha, size=theme.SMALL
        )
    return page.finish(
        page.say(
            f"Linear, {bend}, linear: the units of “{text}”",
            f"线性、{bend}、线性：“{text}”的各单元",
        ),
        name_layer(page, side, layer).capitalize()
        + page.say(
            ". Each dot is one inner unit. Without the bend between them, two linear maps are one.",
            "。每个点是一个内层单元。若中间没有这道弯，两个线性映射就等于一个。",
        ),
    )


def _activate(activation: str, x: Array) -> Array:
    """Return the activation of numbers, by the equation of the catalogue."""
    entry = look_up("encoder.0.feed_forward.hidden")
    assert entry
    _, right = parse_equation(entry.choose_equation({"activation": activation}))
    where: Where = {"q": 0, "f": Along(0, np.arange(len(x)))}
    return evaluate_expression(right, where, lambda name: x[None], {}).cells

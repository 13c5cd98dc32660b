"""Attention as matrices: an overview of heads, an alignment, a weighted sum (V53-V55)."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .aligning import find_aligner
from .canvas import Page
from .cells import heat, legend, strip
from .selection import (
    Array,
    count_layers,
    elide,
    find_attention,
    get_mask,
    keep_largest,
    pick,
    show_token,
    tell_left_out,
)

THUMB, GAP = 62.0, 7.0
MOST, COLUMNS = 64, 26  # tokens drawn on a side; columns of the weighted sums


def roll_out_layers(layers: list[Array]) -> list[Array]:
    """Return the attention rollout up to each layer (Abnar and Zuidema 2020); L x L each.

    The weights of a layer are averaged over its heads; half of the result is the identity, for
    the residual connection. The matrices are multiplied from the lowest layer up.
    """
    half = 0.5 * np.eye(layers[0].shape[1])
    steps = (0.5 * weights.astype(np.float64).mean(0) + half for weights in layers)
    return list(accumulate(steps, lambda below, step: step @ below))


def draw_overview(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    side: str = "encoder",
    kind: str = "self_attention",
) -> Figure:
    """Draw a thumbnail of each head in each layer, and mean, maximum and rollout (V53)."""
    page = Page(lang, ax)
    find_attention(trace, side, 0, kind)
    count = count_layers(trace, side)
    layers = [trace[f"{side}.{n}.{kind}.weights"] for n in range(count)]
    mask = ~get_mask(trace, f"{side}.0.{kind}") if side == "decoder" else None
    if mask is not None:
        mask = np.broadcast_to(mask, layers[0].shape[1:])
    derived = [page.say("mean", "均值"), page.say("maximum", "最大值")]
    rows = [[weights.mean(0), weights.max(0)] for weights in layers]
    if kind == "self_attention":
        derived.append("rollout")
        for row, rolled in zip(rows, roll_out_layers(layers), strict=True):
            row.append(rolled)
    for number, (weights, row) in enumerate(zip(layers, rows, strict=True)):
        _draw_layer(page, number, weights, row, mask)
    heads = len(layers[0])
    for column in range(heads):
        page.text(
            column * (THUMB + GAP) + THUMB / 2,
            -10,
            str(column),
            ha="center",
            bold=True,
            color=theme.HEADS[column % len(theme.HEADS)],
        )
    start = heads * (THUMB + GAP) + 14
    for column, name in enumerate(derived):
        page.text(
            start + column * (THUMB + GAP) + THUMB / 2,
            -10,
            name,
            size=theme.SMALL,
            ha="center",
            color=theme.SOFT,
        )
    page.text(
        -8,
        -10,
        page.say("layer \\ head", "层 \\ 头"),
        size=theme.SMALL,
        ha="right",
        color=theme.SOFT,
    )
    legend(page, 0, len(layers) * (THUMB + GAP) + 10, "share", 1, label=page.say("weight", "权重"))
    name = find_attention(trace, side, 0, kind).title(lang).split(", layer")[0]
    reader = page.say(
        "rows read, columns are read, first token at the top left",
        "行为读取者，列为被读者，左上角是第一个词元",
    )
    return page.finish(
        page.say(
            f"Every head at a glance: {side} {kind.replace('_', '-')}",
            "每个头一览："
            + (
                "编码器自注意力"
                if name.startswith("编码器") or side == "encoder"
                else "解码器自注意力"
                if kind == "self_attention"
                else "交叉注意力"
            ),
        ),
        page.say(
            f"In each square {reader}. Dashed squares are derived: mean and maximum over the heads "
            "of a layer, and attention rollout up to that layer (half attention, half residual).",
            f"每个方格中{reader}。虚线方格是推导量：同层各头的均值与最大值，以及到该层为止逐层累积的"
            "注意力（rollout，一半注意力，一半残差）。",
        ),
    )


def _draw_layer(
    page: Page, number: int, weights: Array, derived: list[Array], mask: Array | None
) -> None:
    y = number * (THUMB + GAP)
    page.text(-8, y + THUMB / 2, str(number), ha="right", bold=True)
    for head, values in enumerate(weights):
        heat(
            page,
            head * (THUMB + GAP),
            y,
            values,
            THUMB,
            THUMB,
            role="weights",
            scale="share",
            limit=1,
            masked=mask,
        )
    start = len(weights) * (THUMB + GAP) + 14
    for column, values in enumerate(derived):
        heat(
            page,
            start + column * (THUMB + GAP),
            y,
            values,
            THUMB,
            THUMB,
            role="weights",
            scale="share",
            limit=1,
            masked=mask,
            derived=True,
        )


def draw_alignment(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    layer: int | None = None,
    head: int | str | None = None,
) -> Figure:
    """Draw cross-attention as an alignment (V54).

    head="mean" draws the mean over the heads.
    """
    page = Page(lang, ax)
    layer, found = find_aligner(trace, layer, None if isinstance(head, str) else head)
    attention = find_attention(trace, "decoder", layer, "cross_attention")
    weights = trace[f"{attention.name}.weights"]
    if isinstance(head, str) and head != "mean":
        raise ValueError(f"head={head}: a number, or mean")
    values = (weights.mean(0) if head == "mean" else weights[found])[:MOST]
    totals, columns = values.sum(1), keep_largest(values.max(0), MOST)
    values, keys = values[:, columns], [attention.keys[column] for column in columns]
    index = "[:].mean(0)" if head == "mean" else f"[{found}]"
    cell = 19.0 if max(values.shape) <= 30 else 14.0
    heat(
        page,
        0,
        0,
        values,
        values.shape[1] * cell,
        values.shape[0] * cell,
        role="weights",
        scale="share",
        limit=1,
        derived=head == "mean",
        gid=f"{attention.name}.weights{index}",
    )
    _write_axes(page, attention.queries[:MOST], keys, cell, values.shape)
    right = values.shape[1] * cell + 6
    page.text(right + 10, -12, "Σ", ha="center", bold=True)
    for row, total in enumerate(totals.tolist()):
        of = f'derived:trace["{attention.name}.weights"]{index}[{row}].sum()'
        page.number(right + 10, (row + 0.5) * cell, total, of, size=theme.TINY, color=theme.SOFT)
    legend(page, 0, values.shape[0] * cell + 14, "share", 1, label=page.say("weight", "权重"))
    which = (
        page.say("mean of the heads", "各头均值")
        if head == "mean"
        else page.say(f"head {found}", f"头 {found}")
    )
    why = (
        ""
        if head is not None
        else page.say(
            " It is drawn because of all heads its rows say most about where it looks.",
            "画这个头，是因为在所有头中，它的各行最能说明看向哪里。",
        )
    )
    return page.finish(
        page.say("Which source word each target word reads", "每个译文词读了哪些源词"),
        page.join(attention.title(lang), which)
        + why
        + page.say(
            " A row is labelled with what goes in → what should come out: it aligns the word that "
            "comes out.",
            "行的标签是：输入 → 应输出；对齐的是输出的那个词。",
        )
        + tell_left_out(page, sum(values.shape), len(attention.queries) + len(attention.keys)),
    )


def _write_axes(
    page: Page, rows: list[str], columns: list[str], cell: float, shape: tuple[int, ...]
) -> None:
    size = theme.SMALL if cell > 16 else theme.TINY
    for i, text in enumerate(rows):
        page.text(-6, (i + 0.5) * cell, text, size=size, mono=True, ha="right", width=150)
    for j, text in enumerate(columns):
        page.text((j + 0.5) * cell + 2, -5, text, size=size, mono=True, rotation=90, width=80)
    page.text(
        -6,
        -16,
        page.say("reads (query) ↓", "读取者（查询）↓"),
        ha="right",
        bold=True,
        color=theme.role("query").ink,
        size=theme.SMALL,
    )
    page.text(
        shape[1] * cell / 2,
        page.top - 10,
        page.say("is read (key) →", "被读者（键）→"),
        bold=True,
        color=theme.role("key").ink,
        ha="center",
        size=theme.SMALL,
    )


def draw_weighted_sum(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    layer: int | None = None,
    head: int | None = None,
) -> Figure:
    """Draw weighted sums: a row for each source token, a column for each target token (V55).

    The sum of each column stands below it.
    """
    page = Page(lang, ax)
    layer, head = find_aligner(trace, layer, head)
    attention = find_attention(trace, "decoder", layer, "cross_attention")
    head = pick(head, trace.settings.heads, "head")
    weights, read = (trace[f"{attention.name}.{w}"][head] for w in ("weights", "context"))
    wide, values = 34.0, trace[f"{attention.name}.value"][head]
    shown = elide(len(weights), COLUMNS, 5)
    columns = [t for t in shown if t is not None]
    rows = keep_largest(weights[columns].max(0), MOST)
    high = 16.0 if len(rows) <= 30 else 11.0
    _draw_columns(page, weights[:, rows], shown, wide, high)
    bottom, small = high * len(rows), theme.SMALL if high > 12 else theme.TINY
    page.text(-60, -12, "v", bold=True, ha="center", color=theme.role("value").ink)
    for place, i in enumerate(rows):
        strip(
            page,
            -96,
            place * high + 1,
            values[i],
            "value",
            (f"{attention.name}.value", (head, i)),
            shown=3,
            cell=(24, high - 2),
            size=theme.TINY - 1,
        )
        page.text(
            -104,
            (place + 0.5) * high,
            attention.keys[i],
            size=small,
            mono=True,
            ha="right",
            width=80,
        )
    for place, t in enumerate(shown):
        if t is None:
            continue
        x, text = (place + 0.5) * wide, show_token(trace.predicted[t].text)
        page.text(x, -6, text, size=small, mono=True, rotation=55, width=80)
        page.arrow((x, bottom + 4), (x, bottom + 18), width=0.8)
        strip(
            page,
            place * wide + 3,
            bottom + 20,
            read[t],
            "heads",
            (f"{attention.name}.context", (head, t)),
            shown=3,
            cell=(28, 14),
            upright=True,
            size=theme.TINY,
        )
    page.text(
        -8,
        bottom + 40,
        page.say("z = Σ weight · v", "z = Σ 权重 · v"),
        ha="right",
        bold=True,
        color=theme.role("heads").ink,
    )
    legend(
        page,
        0,
        bottom + 84,
        "share",
        1,
        label=page.say("weight; each column sums to 1", "权重；每列之和为 1"),
    )
    return page.finish(
        page.say(
            "A column of weights mixes the source into one vector", "一列权重把源句混合成一个向量"
        ),
        page.say(
            f"{attention.title(lang).capitalize()}, head {head}. Columns are the tokens that "
            "should come "
            "out. Of each vector the first three numbers are shown.",
            f"{attention.title(lang)}，头 {head}。列是应输出的词元。每个向量只显示前三个数。",
        )
        + tell_left_out(page, len(rows) + len(columns), sum(weights.shape)),
    )


def _draw_columns(
    page: Page, weights: Array, shown: list[int | None], wide: float, high: float
) -> None:
    """Draw the transposed weights, in two parts if `shown` leaves columns out."""
    cut = shown.index(None) if None in shown else len(shown)
    parts = [(0, shown[:cut]), (cut + 1, shown[cut + 1 :])]
    for start, columns in (part for part in parts if part[1]):
        values = weights[[t for t in columns if t is not None]].T
        heat(
            page,
            start * wide,
            0,
            values,
            wide * values.shape[1],
            high * len(values),
            role="weights",
            scale="share",
            limit=1,
        )
    if cut < len(shown):
        page.text(
            (cut + 0.5) * wide,
            high * weights.shape[1] / 2,
            "…",
            size=14,
            ha="center",
            color=theme.SOFT,
        )

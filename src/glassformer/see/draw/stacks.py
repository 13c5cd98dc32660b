"""Pictures of layers on layers: shapes, vectors, and readers of the memory (V70, V71, V78)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .animate import Animation
from .canvas import Page, Rect
from .cells import find_limit, heat, legend
from .decoding import choose_layers, draw_decoder_layers, fan_out, tell_last_norm
from .selection import count_layers, find_output, show_tokens


def draw_shapes(trace: Any, *, lang: str = "en", ax: Axes | None = None) -> Figure:
    """Draw the shapes within one encoder layer: n vectors of d numbers go in and out (V70)."""
    page, settings = Page(lang, ax), trace.settings
    n, d = trace["source_embedding.sum"].shape
    texts = show_tokens(trace.source)
    shown = texts if n <= 5 else [*texts[:4], "…", texts[-1]]
    stages = (
        (page.say("tokens", "词元"), "embedded", f"{n}"),
        (page.say("x: word + place", "x：词 + 位置"), "sum", f"{n} × {d}"),
        (
            page.say("self-attention: all look at all", "自注意力：彼此相看"),
            "attention",
            f"{settings.heads} × {n} × {n}",
        ),
        (page.say("h", "h"), "heads", f"{n} × {d}"),
        (
            page.say("feed-forward: each by itself", "前馈网络：各自处理"),
            "feed_forward",
            f"{n} × {settings.d_ff}",
        ),
        (page.say("x′, into the next layer", "x′，进入下一层"), "residual", f"{n} × {d}"),
    )
    wide = 64.0
    for row, (label, role, shape) in enumerate(stages):
        y, look = (len(stages) - 1 - row) * 62.0, theme.role(role)
        if role in ("attention", "feed_forward"):
            whole = role == "attention"
            for j in range(1 if whole else len(shown)):
                page.box(
                    j * wide,
                    y,
                    wide * len(shown) - 8 if whole else wide - 8,
                    30,
                    fill=look.fill,
                    edge=look.ink,
                    line=1.6,
                )
        else:
            for j, text in enumerate(shown):
                page.box(
                    j * wide,
                    y,
                    wide - 8,
                    30,
                    fill=look.fill,
                    edge=look.ink,
                    line=0.8,
                    label=text if not row else "",
                    size=theme.SMALL,
                )
                for cut in range(1, 4) if row else ():
                    page.line(
                        [(j * wide + cut * 14, y), (j * wide + cut * 14, y + 30)],
                        color=look.ink,
                        width=0.6,
                        layer=4,
                    )
        page.text(len(shown) * wide + 8, y + 9, label, bold=True, color=look.ink)
        page.text(len(shown) * wide + 8, y + 23, shape, size=theme.SMALL, color=theme.SOFT)
        for j in range(len(shown)) if row else ():
            page.arrow((j * wide + 28, y + 61), (j * wide + 28, y + 31))
    return page.finish(
        page.say(
            "Through one layer: the same shape goes in and comes out", "穿过一层：进出形状相同"
        ),
        page.say(
            f"{n} tokens, d = {d}, {settings.heads} heads, d_ff = {settings.d_ff}. Residual "
            "connections and norms are left out here.",
            f"{n} 个词元，d = {d}，{settings.heads} 个头，d_ff = {settings.d_ff}。此处省略残差"
            "与归一化。",
        ),
    )


def draw_stack(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    side: str = "encoder",
) -> Animation:
    """Draw the output of each layer, from the bottom to the top (V71)."""
    page = Page(lang, ax)
    count = count_layers(trace, side)
    start = "source_embedding.sum" if side == "encoder" else "target_embedding.sum"
    names = [start, *(find_output(trace, side, n) for n in range(count))]
    limit = max(float(np.quantile(np.abs(trace[name]), 0.995)) for name in names)
    role, before = theme.role(side), 0.0
    rows = len(trace[start])
    high, wide = max(36.0, min(66.0, rows * 2.4)), 330.0
    for n, name in enumerate(names):
        y = (count - n) * (high + 26)
        label = (
            page.say("word + place", "词 + 位置")
            if not n
            else page.say(f"after layer {n - 1}", f"第 {n - 1} 层之后")
        )
        size = float(np.linalg.norm(trace[name].astype(float), axis=1).mean())
        if n:
            page.step(
                f"Layer {n - 1}: mean length {before:.1f} → {size:.1f}.",
                f"第 {n - 1} 层：平均长度 {before:.1f} → {size:.1f}。",
            )
        else:
            page.step("What comes in: one row a token.", "输入：每行一个词元。")
        before = size
        heat(page, 0, y, trace[name], wide, high, role=side, limit=limit)
        page.text(-10, y + high / 2, label, ha="right", bold=True, color=role.ink)
        page.number(
            wide + 12,
            y + high / 2,
            size,
            f'derived:np.linalg.norm(trace["{name}"].astype(float), axis=1).mean()',
            ha="left",
            before=page.say("mean length ", "平均长度 "),
        )
        if n:
            page.arrow((wide / 2, y + high + 24), (wide / 2, y + high + 3), width=2, color=role.ink)
    legend(
        page,
        0,
        (count + 1) * (high + 26) - 12,
        "signed",
        limit,
        label=page.say(
            "one scale for all; what is beyond has its last colour", "统一色标；超出者取端点颜色"
        ),
    )
    return page.animate(
        page.say(
            f"The {side}, layer by layer", f"{'编码器' if side == 'encoder' else '解码器'}，逐层"
        ),
        page.say(
            f"Rows: {rows} tokens; columns: {trace[start].shape[1]} numbers.",
            f"行：{rows} 个词元；列：{trace[start].shape[1]} 个数。",
        ),
    )


def draw_memory_to_all(trace: Any, *, lang: str = "en", ax: Axes | None = None) -> Figure:
    """Draw the memory, and the keys and values that each decoder layer makes of it (V78)."""
    page, settings = Page(lang, ax), trace.settings
    high = (
        27.0
        * max(
            len(choose_layers(settings.encoder_layers)), len(choose_layers(settings.decoder_layers))
        )
        + 44
    )
    draw_decoder_layers(
        page,
        Rect(0, 0, 170, high),
        "encoder",
        settings.encoder_layers,
        page.say("ENCODER", "编码器"),
    )
    limit, right = find_limit(trace["memory"]), Rect(500, 0, 170, high)
    memory = heat(page, 206, 20, trace["memory"], 110, 70, role="memory", limit=limit)
    page.arrow((156, 39), (203, 39), color=theme.role("memory").ink, width=1.6)
    page.text(
        memory.centre[0],
        memory.bottom + 34,
        page.say("memory", "记忆"),
        bold=True,
        ha="center",
        color=theme.role("memory").ink,
    )
    legend(page, 206, memory.bottom + 8, "signed", limit)
    draw_decoder_layers(
        page, right, "decoder", settings.decoder_layers, page.say("DECODER", "解码器")
    )
    fan_out(page, trace, memory, right)
    return page.finish(
        page.say(
            "One memory, and keys and values of each layer's own", "一份记忆，每层各有自己的键和值"
        ),
        page.say(
            "The memory is shared; the pictures of K and V differ because every decoder layer has "
            "its own W_K and W_V. "
            "Each of these pictures has its own scale, symmetric about 0.",
            "记忆是共享的；K 和 V 的图各不相同，因为解码器每层都有自己的 W_K 和 W_V。这些小图各有以"
            " 0 为中心的色标。",
        )
        + tell_last_norm(page, trace),
    )

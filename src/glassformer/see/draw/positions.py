"""Pictures of positional encodings: the sum with embedded words, and two layouts (V19-V22)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from . import theme
from .canvas import Page
from .cells import heat, legend, matrix, strip
from .selection import show_tokens
from .waves import encode_waves

WORKED: dict[str, list[list[float]]] = {  # E-PE: three positions of width 4
    "interleaved": [
        [0, 1, 0, 1],
        [0.8415, 0.5403, 0.0100, 0.99995],
        [0.9093, -0.4161, 0.02, 0.9998],
    ],
    "concatenated": [[0, 0, 1, 1], [0.8415, 0.0001, 0.5403, 1], [0.9093, 0.0002, -0.4161, 1]],
}


def draw_sum(trace: Any, *, lang: str = "en") -> Figure:
    """Draw embedded word + position = input of layer 0, for the first three tokens (V19)."""
    page = Page(lang)
    texts = show_tokens(trace.source)[:3]
    names = ("sum", "positions", "embedded")
    for column, text in enumerate(texts):
        x = column * 186.0
        page.text(x + 60, 168, text, mono=True, size=11, bold=True, ha="center", width=150)
        page.arrow((x + 60, 156), (x + 60, 134))
        for row, name in enumerate(names):
            tensor = f"source_embedding.{name}"
            strip(
                page,
                x,
                row * 48.0,
                trace[tensor][column],
                name,
                (tensor, (column,)),
                letter=("x", "p", "E")[row],
            )
        page.text(x + 60, 86, "+", size=13, color=theme.SOFT, ha="center")
        page.text(x + 60, 35, "=", size=13, color=theme.SOFT, ha="center")
        page.arrow((x + 60, -4), (x + 60, -32), color=theme.role("encoder").ink)
    right = (len(texts) - 1) * 186.0 + 120
    ink = theme.role("encoder")
    page.box(
        -6,
        -68,
        right + 12,
        34,
        fill=ink.fill,
        edge=ink.ink,
        line=1.6,
        bold=True,
        label=page.say("ENCODER, layer 0", "编码器 第 0 层"),
    )
    for row, (name, words) in enumerate(
        zip(
            names,
            (
                ("with a sense of place", "带有位置感"),
                ("positional encoding", "位置编码"),
                ("word, times √d", "词向量 × √d"),
            ),
            strict=True,
        )
    ):
        page.text(right + 40, row * 48.0 + 10, page.say(*words), color=theme.role(name).ink)
    return page.finish(
        page.say("Word plus place", "词加位置"),
        page.say(
            f"The first 4 of {trace.settings.d_model} numbers of the first {len(texts)} tokens. "
            "Positions count from 0.",
            f"前 {len(texts)} 个词元的 {trace.settings.d_model} 个数中的前 4 个。位置从 0 开始。",
        ),
    )


def draw_four_wide(trace: Any, *, lang: str = "en") -> Figure:
    """Draw three positions of width 4, in the paper's layout and in Tensor2Tensor's (V20)."""
    page = Page(lang)
    titles = {
        "interleaved": page.say("the paper: sin cos sin cos", "论文：sin cos sin cos"),
        "concatenated": page.say(
            "Tensor2Tensor: sin sin cos cos", "Tensor2Tensor：sin sin cos cos"
        ),
    }
    for column, (layout, expected) in enumerate(WORKED.items()):
        values = encode_waves([0, 1, 2], 4, layout)
        assert np.allclose(values, expected, atol=6e-5), layout
        x = column * 330.0
        page.text(x, -24, titles[layout], bold=True)
        matrix(
            page,
            x + 20,
            0,
            values,
            "positions",
            "worked",
            cell=(56, 34),
            digits=4,
            scale="wave",
            limit=1.0,
            size=9,
        )
        for position in range(3):
            page.text(x + 10, position * 34 + 17, str(position), color=theme.SOFT, ha="right")
        for i, name in enumerate(
            ("sin", "cos", "sin", "cos") if column == 0 else ("sin", "sin", "cos", "cos")
        ):
            page.text(x + 48 + i * 56, 112, name, size=theme.SMALL, color=theme.SOFT, ha="center")
    page.text(
        -14,
        50,
        page.say("position", "位置"),
        size=theme.SMALL,
        color=theme.SOFT,
        ha="center",
        rotation=90,
    )
    legend(page, 0, 138, "wave", 1.0, digits=0)
    return page.finish(
        page.say("Two layouts are two encodings", "两种排列，两种编码"),
        page.say(
            "They differ in more than order: Tensor2Tensor's slowest wave is 1/10000 a position "
            "exactly, the paper's is faster: at width 4, 1/100.",
            "差别不止于次序：Tensor2Tensor 最慢的波恰为每位置 1/10000 弧度，论文的更快：宽度 4 时"
            "为 1/100。",
        ),
    )


def _draw_table(
    page: Page, y: float, positions: int, d_model: int, layout: str, height: float
) -> float:
    """Draw a table with positions downwards and dimensions across; return its lower end."""
    width = 512.0  # whole pixels for each of 512 columns
    heat(
        page,
        0,
        y,
        encode_waves(np.arange(positions), d_model, layout),
        width,
        height,
        role="positions",
        scale="wave",
        limit=1.0,
    )
    for position in range(0, positions, 5 if positions > 10 else 2):
        page.text(
            -6,
            y + (position + 0.5) * height / positions,
            str(position),
            size=theme.TINY,
            color=theme.SOFT,
            ha="right",
        )
    for dimension in [*range(0, d_model, d_model // 8), d_model - 1]:
        page.text(
            (dimension + 0.5) * width / d_model,
            y + height + 8,
            str(dimension),
            size=theme.TINY,
            color=theme.SOFT,
            ha="center",
        )
    page.text(
        -26,
        y + height / 2,
        page.say("position", "位置"),
        size=theme.SMALL,
        color=theme.SOFT,
        ha="center",
        rotation=90,
    )
    page.text(
        width / 2,
        y + height + 20,
        page.say("dimension", "维度"),
        size=theme.SMALL,
        color=theme.SOFT,
        ha="center",
    )
    return y + height + 34


def draw_concatenated(
    trace: Any, *, lang: str = "en", positions: int = 20, d_model: int = 512
) -> Figure:
    """Draw Tensor2Tensor's layout: all sines, then all cosines, with the seam between (V21)."""
    page = Page(lang)
    y = _draw_table(page, 0, positions, d_model, "concatenated", 220)
    page.line([(256, -14), (256, 222)], color="#d03030", dashed=True, width=1.0, layer=6)
    for x, name in ((128, "sin"), (384, "cos")):
        page.text(x, -10, name, ha="center", bold=True, color=theme.role("positions").ink)
    page.text(260, -10, page.say("the seam", "接缝"), size=theme.SMALL, color="#b02020")
    legend(page, 0, y + 8, "wave", 1.0, digits=0, label=page.say("value of the wave", "波的取值"))
    return page.finish(
        page.say(
            f"{positions} positions, {d_model} dimensions: Tensor2Tensor's layout",
            f"{positions} 个位置、{d_model} 维：Tensor2Tensor 的排列",
        ),
        page.say(
            "The left half is sines, the right half cosines of the same frequencies, fast to slow.",
            "左半为正弦，右半为同频率的余弦，由快到慢。",
        ),
    )


def draw_interleaved(trace: Any, *, lang: str = "en") -> Figure:
    """Draw the paper's layout at two sizes: sine and cosine of a frequency side by side (V22)."""
    page = Page(lang)
    page.text(0, -12, "20 × 512", bold=True, color=theme.role("positions").ink)
    y = _draw_table(page, 0, 20, 512, "interleaved", 220)
    page.text(0, y + 18, "10 × 64", bold=True, color=theme.role("positions").ink)
    y = _draw_table(page, y + 30, 10, 64, "interleaved", 120)
    legend(page, 0, y + 8, "wave", 1.0, digits=0, label=page.say("value of the wave", "波的取值"))
    return page.finish(
        page.say("The paper's layout: sine and cosine take turns", "论文的排列：正弦与余弦交替"),
        page.say(
            "Even dimensions are sines, odd ones cosines. Low dimensions turn fast and tell "
            "neighbours apart; high ones turn slowly and tell regions apart.",
            "偶数维为正弦，奇数维为余弦。低维变化快，区分相邻位置；高维变化慢，区分大的区段。",
        ),
    )

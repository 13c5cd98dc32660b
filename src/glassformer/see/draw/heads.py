"""Pictures of several heads: weights and outputs of each, mixed by W_O (V42-V44)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from . import theme
from .canvas import Page
from .cells import heat, legend, panel, span
from .matrices import PROJECTIONS, RELATIVE
from .selection import find_attention, find_input, pick_heads, weight_of_head


def draw_two_heads(
    trace: Any, *, lang: str = "en", layer: int = 0, heads: Sequence[int] | None = None
) -> Figure:
    """Draw two heads side by side, each with its own projections of X (V42)."""
    page = Page(lang)
    attention = find_attention(trace, "encoder", layer)
    x = trace[find_input(trace, "encoder", attention.layer, "self_attention")]
    chosen = pick_heads(trace, range(min(2, trace.settings.heads)) if heads is None else heads)
    source = panel(page, 0, 0, x, "embedded", "X")
    left = source.right + 80
    tall, short = span(trace.settings.d_model), span(len(x))
    wide = span(trace.settings.width)
    source_middle = source.bottom - short / 2
    for head in chosen:
        colour = theme.HEADS[head % len(theme.HEADS)]
        width = 3 * wide + 2 * 26
        top = -46.0
        page.box(
            left - 18,
            top,
            width + 36,
            tall + short + 128,
            fill="#fcfcfd",
            edge=colour,
            line=1.6,
            round=8,
            layer=0,
        )
        page.text(
            left + width / 2,
            top + 14,
            page.say(f"head {head}", f"头 {head}"),
            bold=True,
            color=colour,
            ha="center",
        )
        for column, projection in enumerate(PROJECTIONS):
            letter = projection[0].upper()
            place = left + column * (wide + 26)
            weight = weight_of_head(trace, attention.name, projection, head)
            upper = panel(
                page, place, 4, weight, projection, f"W^{letter}_{{{head}}}", learned=True
            )
            result = trace[f"{attention.name}.{projection}"][head]
            page.arrow((upper.centre[0], upper.bottom + 14), (upper.centre[0], tall + 36))
            panel(page, place, tall + 56, result, projection, f"{letter}_{{{head}}}")
        left += width + 70
    page.arrow((source.right + 8, source_middle), (source.right + 52, source_middle), width=2)
    legend(page, 0, tall + short + 110, "signed", 1.0, digits=0, label=page.say(*RELATIVE))
    return page.finish(
        page.say("Each head has its own W_Q, W_K and W_V", "每个头都有自己的 W_Q、W_K 和 W_V"),
        page.say(
            f"{attention.title(lang)}. Every head projects the whole of X: what is split is the "
            "projection, not X.",
            f"{attention.title(lang)}。每个头都投影完整的 X：被拆分的是投影，而不是 X。",
        ),
    )


def draw_all_heads(trace: Any, *, lang: str = "en", layer: int = 0) -> Figure:
    """Draw the attention weights of all heads, and the context Z of each (V43)."""
    page = Page(lang)
    attention = find_attention(trace, "encoder", layer)
    weights, z = trace[f"{attention.name}.weights"], trace[f"{attention.name}.context"]
    count = len(weights)
    columns = min(count, 8) if count != 6 else 3
    side, wide = 84.0, min(span(z.shape[2]), 60)
    limit = float(weights.max())
    for head in range(count):
        x, y = head % columns * (side + 22), head // columns * (side * 2 + 66)
        colour = theme.HEADS[head % len(theme.HEADS)]
        page.text(
            x + side / 2,
            y - 13,
            page.say(f"head {head}", f"头 {head}"),
            bold=True,
            color=colour,
            ha="center",
        )
        heat(page, x, y, weights[head], side, side, role="weights", scale="share", limit=limit)
        page.arrow((x + side / 2, y + side + 2), (x + side / 2, y + side + 16), color=colour)
        page.formula(
            x + (side - wide) / 2 - 12,
            y + side + 18 + side * 0.35,
            f"Z_{{{head}}}",
            size=10,
            color=theme.role("heads").ink,
        )
        heat(page, x + (side - wide) / 2, y + side + 18, z[head], wide, side * 0.7, role="heads")
    bottom = (count - 1) // columns * (side * 2 + 66) + side * 1.7 + 40
    legend(page, 0, bottom, "share", limit, label=page.say("weight", "权重"))
    legend(
        page,
        220,
        bottom,
        "signed",
        1.0,
        digits=0,
        label=page.say("Z: of the largest in each panel", "Z：相对于每幅图的最大绝对值"),
    )
    n, width = z.shape[1:]
    return page.finish(
        page.say(f"{count} heads, {count} ways of looking", f"{count} 个头，{count} 种看法"),
        page.say(
            f"{attention.title(lang)}. Above: rows read (queries), columns are read (keys), each "
            "row sums to 1. "
            f"Below: what each head has read, Z, {n} tokens × {width} numbers.",
            f"{attention.title(lang)}。上：行读取（查询），列被读（键），每行之和为 1。下：各头读"
            f"到的 Z，{n} 个词元 × {width} 个数。",
        ),
    )


def draw_concatenation(trace: Any, *, lang: str = "en", layer: int = 0) -> Figure:
    """Draw the contexts of all heads side by side, times W_O; and as a sum over heads (V44)."""
    page = Page(lang)
    attention = find_attention(trace, "encoder", layer)
    z, stored = trace[f"{attention.name}.context"], trace[f"{attention.name}.to_output.weight"]
    output, bias = trace[f"{attention.name}.output"], trace[f"{attention.name}.to_output.bias"]
    count, n, width = z.shape
    joined = z.transpose(1, 0, 2).reshape(n, count * width)
    block = max(span(count * width), 14.0 * count)
    left = panel(
        page,
        0,
        0,
        joined,
        "heads",
        r"\mathrm{Concat}(Z_0,\ldots)",
        width=block,
        height=span(n),
        derived=True,
    )
    middle = panel(
        page,
        left.right + 44,
        0,
        stored.T,
        "linear",
        "W^O",
        learned=True,
        width=span(stored.shape[0]),
        height=block,
    )
    panel(page, middle.right + 44, 0, output, "heads", "Z", height=span(n))
    _mark_heads(page, count, block, middle.x - 6)
    for x, sign in ((left.right + 19, "×"), (middle.right + 22, "=")):
        page.text(x, span(n) / 2, sign, size=16, color=theme.SOFT, ha="center")
    y = max(block, span(n)) + 74
    page.text(
        0,
        y - 34,
        page.say("the same as a sum: what each head adds", "写成求和：每个头加上了什么"),
        bold=True,
    )
    parts = np.einsum("hnk,dhk->hnd", z, stored.reshape(-1, count, width))
    assert np.allclose(parts.sum(0) + bias, output, atol=1e-4 * max(1, np.abs(output).max()))
    _draw_contributions(page, parts, y)
    return page.finish(
        page.say("The heads side by side, mixed by W_O", "把各头并排，由 W_O 混合"),
        page.say(
            f"{attention.title(lang)}. Dashed: derived. The parts of the heads and the bias of "
            "W_O add up to Z, to 1e-4.",
            f"{attention.title(lang)}。虚线框：推算所得。各头之份加上 W_O 的偏置即为 Z，误差不超过"
            " 1e-4。",
        ),
    )


def _mark_heads(page: Page, count: int, block: float, x: float) -> None:
    """Mark the columns of Z and the rows of W_O that belong to each head."""
    for head in range(count):
        colour = theme.HEADS[head % len(theme.HEADS)]
        start, end = block * head / count + 1, block * (head + 1) / count - 1
        middle, name = (start + end) / 2, str(head)
        page.line([(start, -28), (end, -28)], color=colour, width=3)
        page.text(middle, -36, name, size=theme.TINY, color=colour, ha="center", bold=True)
        page.line([(x, start), (x, end)], color=colour, width=3)


def _draw_contributions(page: Page, parts: Any, y: float) -> None:
    """Draw Z_h W_O of every head on one scale, and its mean length over the tokens as a bar."""
    count = len(parts)
    columns, side = min(count, 8), 62.0
    limit = float(np.abs(parts).max())
    sizes = np.linalg.norm(parts, axis=-1).mean(1)
    for head, part in enumerate(parts):
        x, top = head % columns * (side + 16), y + head // columns * (side + 48)
        colour = theme.HEADS[head % len(theme.HEADS)]
        page.formula(x + side / 2, top - 9, rf"Z_{{{head}}}W^O_{{{head}}}", size=9, color=colour)
        heat(page, x, top, part, side, side * 0.8, role="heads", limit=limit, derived=True)
        page.box(
            x,
            top + side * 0.8 + 6,
            max(side * float(sizes[head] / sizes.max()), 1),
            5,
            fill=colour,
            edge=None,
            round=0,
        )
    bottom = y + ((count - 1) // columns + 1) * (side + 48)
    legend(
        page,
        0,
        bottom - 18,
        "signed",
        limit,
        label=page.say(
            "one scale for all heads; bars: mean length of what a head adds",
            "各头同一标尺；横条：该头所加向量的平均长度",
        ),
    )

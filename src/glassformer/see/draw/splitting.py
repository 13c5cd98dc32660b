"""Pictures of the split into heads, and of the formulas with their tensors (V47, V48)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from . import theme
from .animate import Animation
from .canvas import Page
from .cells import heat, legend, span
from .matrices import PROJECTIONS, RELATIVE
from .selection import find_attention, find_input, pick, weight_of_head


def draw_split(trace: Any, *, lang: str = "en", layer: int = 0) -> Animation:
    """Draw the queries of all heads as one product, cut into heads: [L, d] to [h, L, d_k] (V47)."""
    page = Page(lang)
    attention = find_attention(trace, "encoder", layer)
    query = trace[f"{attention.name}.query"]
    count, n, width = query.shape
    joined = query.transpose(1, 0, 2).reshape(n, count * width)
    wide, tall = 560.0, min(span(n), 120.0)
    limit = float(np.abs(query).max())
    page.step(
        "One product makes the queries of all heads: L × (h·d_k).",
        "一次乘法得到所有头的查询：L × (h·d_k)。",
    )
    heat(page, 0, 0, joined, wide, tall, role="query", limit=limit, derived=True)
    page.formula(
        wide / 2,
        -14,
        rf"X\,W^Q:\quad {n} \times {count * width}",
        size=11,
        color=theme.role("query").ink,
    )
    page.step(
        f"Cut into {count} blocks of {width} columns,", f"按列切成 {count} 块，每块 {width} 列，"
    )
    for head in range(count):
        colour = theme.HEADS[head % len(theme.HEADS)]
        page.box(
            wide * head / count,
            0,
            wide / count,
            tall,
            fill="none",
            edge=colour,
            line=2,
            round=0,
            layer=6,
        )
        page.text(
            wide * (head + 0.5) / count,
            tall + 8,
            str(head),
            size=theme.TINY,
            color=colour,
            ha="center",
            bold=True,
        )
    page.step(
        "each of them the queries of one head, and all heads work at once: h × L × d_k.",
        "每块就是一个头的查询，各头同时计算：h × L × d_k。",
    )
    _draw_blocks(page, query, wide, tall)
    page.rest()
    legend(page, 0, page.bottom + 12, "signed", limit)
    return page.animate(
        page.say("One projection, cut into heads", "一次投影，切成多个头"),
        page.say(
            "Not X is cut, but its projection: equally, the columns of W_Q are those of the "
            "heads, side by side.",
            "被切开的不是 X，而是它的投影：等价于 W_Q 的列依次属于各个头。",
        ),
    )


def _draw_blocks(page: Page, query: Any, wide: float, tall: float) -> None:
    """Draw the queries of each head by themselves, below the whole."""
    count, n, width = query.shape
    columns, limit = min(count, 8), float(np.abs(query).max())
    step = wide / columns
    for head, own in enumerate(query):
        colour = theme.HEADS[head % len(theme.HEADS)]
        x, y = head % columns * step, tall + 54 + head // columns * (tall + 44)
        heat(page, x + 5, y, own, step - 10, tall, limit=limit)
        page.box(x + 5, y, step - 10, tall, fill="none", edge=colour, line=1.6, round=0, layer=6)
        page.formula(x + step / 2, y - 10, f"Q_{{{head}}}", size=9.5, color=colour)
        shape, y = f"{n} × {width}", y + tall + 8
        page.text(x + step / 2, y, shape, size=theme.TINY, color=colour, ha="center")


def draw_formulas(trace: Any, *, lang: str = "en", layer: int = 0, head: int = 0) -> Figure:
    """Draw the two formulas of section 3.2.2, each symbol beside its tensor (V48)."""
    page = Page(lang)
    attention = find_attention(trace, "encoder", layer)
    head = pick(head, trace.settings.heads, "head")
    page.formula(
        0,
        0,
        r"\mathrm{MultiHead}(Q,K,V)=\mathrm{Concat}(\mathrm{head}_0,\ldots,\mathrm{head}_{h-1})\,W^O",
        size=15,
        ha="left",
    )
    page.formula(
        0,
        34,
        r"\mathrm{head}_i=\mathrm{Attention}(Q\,W_i^Q,\;K\,W_i^K,\;V\,W_i^V)",
        size=15,
        ha="left",
    )
    name, h = attention.name, head
    source = find_input(trace, "encoder", attention.layer, "self_attention")
    panels = [
        ("Q=K=V=X", trace[source], "embedded", source, False),
        *(
            (
                f"W^{p[0].upper()}_{{{h}}}",
                weight_of_head(trace, name, p, h),
                p,
                f"{name}.to_{p}.weight",
                True,
            )
            for p in PROJECTIONS
        ),
        (
            rf"\mathrm{{head}}_{{{h}}}",
            trace[f"{name}.context"][h],
            "heads",
            f"{name}.context[{h}]",
            False,
        ),
        ("W^O", trace[f"{name}.to_output.weight"].T, "linear", f"{name}.to_output.weight", True),
        (r"\mathrm{MultiHead}", trace[f"{name}.output"], "heads", f"{name}.output", False),
    ]
    for place, (symbol, values, role, tensor, learned) in enumerate(panels):
        y = 92.0 + place * 78
        page.formula(70, y + 24, symbol, size=13, color=theme.role(role).ink)
        heat(page, 150, y, values, 130, 50, role=role, learned=learned)
        page.text(300, y + 16, tensor, mono=True, size=theme.TEXT)
        shape = f"{values.shape[0]} × {values.shape[1]}"
        kind = page.say("learned", "学到的") if learned else page.say("recorded", "记录的")
        page.text(300, y + 34, f"{shape}, {kind}", size=theme.SMALL, color=theme.SOFT)
    legend(page, 150, 92 + 7 * 78, "signed", 1.0, digits=0, label=page.say(*RELATIVE))
    return page.finish(
        page.say("Two formulas and their tensors", "两个公式与它们的张量"),
        page.say(
            f"{attention.title(lang)}. A stored weight is the transpose of the paper's W, which "
            "is drawn.",
            f"{attention.title(lang)}。存储的权重是论文中 W 的转置；图中画的是论文的 W。",
        ),
    )

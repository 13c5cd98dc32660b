"""Pictures of self-attention as matrix products (V39-V41)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from . import theme
from .bars import draw_weights
from .canvas import Page
from .cells import heat, legend, panel, span
from .selection import (
    find_attention,
    find_query,
    get_mask,
    keep_largest,
    pick,
)

Array = NDArray[Any]
PROJECTIONS = ("query", "key", "value")
RELATIVE = "of the largest in each panel", "相对于每幅图中最大的绝对值"


def draw_matrix_form(
    trace: Any, *, lang: str = "en", layer: int = 0, head: int = 0, side: str = "encoder"
) -> Figure:
    """Draw every stage of softmax(Q K^T / sqrt(d_k)) V = Z (V40)."""
    page = Page(lang)
    attention = find_attention(trace, side, layer)
    head = pick(head, trace.settings.heads, "head")
    first, second = _list_stages(trace, attention.name, head)
    right = _draw_row(page, 0, first)
    y = max(span(len(first[0][0])), span(first[0][0].shape[1])) + 66
    _draw_row(page, y, second)
    y += span(len(first[0][0])) + 40
    legend(page, 0, y, "signed", 1.0, digits=0, label=page.say(*RELATIVE))
    most = float(trace[f"{attention.name}.weights"][head].max())
    label = page.say("weight; rows sum to 1", "权重；每行之和为 1")
    legend(page, 300, y, "share", most, label=label)
    inner = r"\mathrm{softmax}\left(\frac{QK^\top}{\sqrt{d_k}}\right)V"
    page.formula(right / 2, -62, rf"\mathrm{{Attention}}(Q,K,V)={inner}=Z", size=15)
    where = page.say(f"{attention.title(lang)}, head {head}", f"{attention.title(lang)}，头 {head}")
    width, masked = trace.settings.width, not get_mask(trace, attention.name).all()
    hatched = page.say(" Hatched: masked.", "斜线：被掩盖。") if masked else ""
    return page.finish(
        page.say("Attention in one line of matrices", "一行矩阵写完注意力"),
        page.say(
            f"{where}, d_k = {width}. Rows read (queries), columns are read (keys).{hatched} "
            "Dashed: derived from what was recorded.",
            f"{where}，d_k = {width}。行：读取者（查询）；列：被读者（键）。{hatched}"
            "虚线框：由记录推算。",
        ),
    )


def _list_stages(trace: Any, name: str, head: int) -> tuple[list[Any], list[Any]]:
    """Return the stages of two lines: up to the scaled scores, and from there to Z.

    The second line begins with the mask, if it hides anything. A stage is (values, role, name,
    options); a sign between stages is a tuple of one string.
    """
    q, k, v, z, scores, weights = (
        trace[f"{name}.{window}"][head]
        for window in ("query", "key", "value", "context", "scores", "weights")
    )
    hidden = ~np.broadcast_to(get_mask(trace, name), scores.shape)
    raw, scaled = scores * np.sqrt(trace.settings.width), r"QK^\top/\sqrt{d_k}"
    first: list[Any] = [
        (q, "query", "Q", {}),
        ("×",),
        (k.T, "key", r"K^\top", {}),
        ("=",),
        (raw, "scores", r"QK^\top", {"derived": True}),
        ("÷√dₖ",),
        (scores, "scores", scaled, {}),
    ]
    masked = {"masked": hidden, "derived": True}
    mask = [("+ M",), (scores, "scores", rf"{scaled}+M", masked)] if hidden.any() else []
    share = {"scale": "share", "limit": float(weights.max()), "masked": hidden}
    second: list[Any] = [
        *mask,
        ("softmax",),
        (weights, "weights", "A", share),
        ("×",),
        (v, "value", "V", {}),
        ("=",),
        (z, "heads", "Z", {}),
    ]
    return first, second


def _draw_row(page: Page, y: float, parts: list[Any]) -> float:
    """Draw matrices and the signs between them, centred on one line; return the right end."""
    tall = max(span(len(part[0])) for part in parts if len(part) > 1)
    x = 0.0
    for part in parts:
        if len(part) == 1:
            sign = part[0]
            wide = 26 if len(sign) == 1 else 52
            page.text(
                x + wide / 2 + 6,
                y + tall / 2,
                sign,
                size=15 if len(sign) == 1 else 10,
                color=theme.SOFT,
                ha="center",
            )
            x += wide + 12
            continue
        values, role, name, options = part
        rect = panel(page, x, y + (tall - span(len(values))) / 2, values, role, name, **options)
        x = rect.right
    return x


def draw_row_of_scores(
    trace: Any, *, lang: str = "en", layer: int = 0, head: int = 0, query: int | str | None = None
) -> Figure:
    """Draw one query against all keys: one row of the weight matrix (V41)."""
    page = Page(lang)
    attention = find_attention(trace, "encoder", layer)
    head = pick(head, trace.settings.heads, "head")
    row = find_query(attention.queries, query)
    name = f"{attention.name}.weights"
    side = _draw_weights_map(page, trace[name][head], row, attention.queries)
    shown = keep_largest(trace[name][head, row], 14, (row,))
    x, y, ink = side + 110, side / 2 - len(shown) * 10, theme.role("query").ink
    lit = side / len(attention.keys) * (row + 0.5)
    page.line(
        [(side + 4, lit), (side + 18, lit), (side + 18, y - 24), (x - 40, y - 24)],
        color=ink,
        head=True,
    )
    word = attention.queries[row]
    page.text(x - 34, y - 24, page.say(f"“{word}” reads", f"“{word}”读取"), bold=True, color=ink)
    draw_weights(page, x, y, trace, name, (head, row), attention.keys, shown, 20)
    return page.finish(
        page.say("One token looks at all the others: one row", "一个词元看所有词元：矩阵的一行"),
        page.say(f"{attention.title(lang)}, head {head}.", f"{attention.title(lang)}，头 {head}。"),
    )


def _draw_weights_map(page: Page, weights: Array, row: int, texts: list[str]) -> float:
    """Draw the weight matrix with one row framed; return the length of its side."""
    side = max(120.0, min(500.0, len(weights) * 14.0))
    cell, limit = side / len(weights), float(weights.max())
    size = min(8.0, cell * 0.8)
    heat(page, 0, 0, weights, side, side, role="weights", scale="share", limit=limit)
    page.box(
        -2,
        row * cell - 1,
        side + 4,
        cell + 2,
        fill="none",
        edge=theme.role("query").ink,
        line=2,
        round=2,
        layer=6,
    )
    for i, text in enumerate(texts if cell >= 8 else ()):
        middle = (i + 0.5) * cell
        page.text(-6, middle, text, size=size, mono=True, ha="right", bold=i == row, width=80)
        page.text(middle, -6, text, size=size, mono=True, rotation=90, width=80)
    page.text(
        -6,
        -16,
        page.say("reads (query) ↓", "读取者（查询）↓"),
        size=theme.SMALL,
        ha="right",
        bold=True,
        color=theme.role("query").ink,
    )
    page.text(
        side / 2,
        page.top - 10,
        page.say("is read (key) →", "被读者（键）→"),
        bold=True,
        size=theme.SMALL,
        ha="center",
        color=theme.role("key").ink,
    )
    legend(page, 0, side + 14, "share", limit, label=page.say("weight", "权重"))
    return side

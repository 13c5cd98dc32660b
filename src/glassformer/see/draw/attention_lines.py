"""The attention of one token as lines: of one head, two heads, all heads (V49-V51)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from . import theme
from .canvas import Page
from .measured import tell_measured
from .selection import (
    Array,
    Attention,
    find_attention,
    find_query,
    keep_largest,
    pick,
    pick_heads,
    tell_left_out,
)

GAP, WIDEST = 170.0, 108.0
MOST = 48  # tokens drawn on a side


def draw_one_head(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    side: str = "encoder",
    kind: str = "self_attention",
    layer: int = -1,
    head: int | None = None,
    query: int | str | None = None,
) -> Figure:
    """Draw the attention of one token in one head (V49).

    If the model is the one that ships, the title also says what was measured of this head.
    """
    page, attention, row, weights = _begin(trace, lang, ax, (side, layer, kind), query)
    head = _find_sharpest(attention, weights, row) if head is None else head
    head = pick(head, len(weights), "head")
    _draw_row(page, attention, weights, row, [head])
    word = attention.queries[row]
    title = page.say(f"Where “{word}” looks", f"“{word}”在看哪里")
    measured = tell_measured(trace, attention, row, head, lang)
    title += f"{page.say(': ', '：')}{measured}" if measured else ""
    return page.finish(title, _describe(page, attention, [head]))


def draw_lines_of_two_heads(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    side: str = "encoder",
    kind: str = "self_attention",
    layer: int = -1,
    heads: Sequence[int] | None = None,
    query: int | str | None = None,
) -> Figure:
    """Draw the attention of one token in two heads (V50).

    By default these are the head with the largest weight and the one that differs most from it.
    """
    page, attention, row, weights = _begin(trace, lang, ax, (side, layer, kind), query)
    first = _find_sharpest(attention, weights, row)
    apart = np.abs(weights[:, row] - weights[first, row]).sum(-1)
    shown = pick_heads(trace, (first, int(apart.argmax())) if heads is None else heads)
    _draw_row(page, attention, weights, row, shown)
    word = attention.queries[row]
    title = page.say(f"Where “{word}” looks: two heads", f"“{word}”在看哪里：两个头")
    return page.finish(title, _describe(page, attention, shown))


def draw_lines_of_all_heads(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    side: str = "encoder",
    kind: str = "self_attention",
    layer: int = -1,
    query: int | str | None = None,
    share_of_heads: bool = False,
) -> Figure:
    """Draw the attention of one token in all heads (V51).

    share_of_heads: divide each weight by its sum over all heads, as Tensor2Tensor draws it.
    Then a column says which head attends most to a token, not how strongly it attends.
    """
    page, attention, row, weights = _begin(trace, lang, ax, (side, layer, kind), query)
    heads = list(range(len(weights)))
    _draw_row(page, attention, weights, row, heads, share_of_heads)
    word = attention.queries[row]
    title = page.say(f"Where “{word}” looks: all heads", f"“{word}”在看哪里：所有的头")
    note = _describe(page, attention, heads)
    if share_of_heads:
        title += page.say(" (share of heads)", "（各头占比）")
        note = page.say(
            "Share of heads: each weight is divided by the sum over all heads of this layer, so a "
            "column sums to no fixed number. It says which head looks at a token, not how much.",
            "各头占比：每个权重除以该层所有头之和，因此各列之和不固定。它说明是哪个头在看，而不是看"
            "得多重。",
        )
    return page.finish(title, note)


def _begin(
    trace: Any, lang: str, ax: Axes | None, which: tuple[str, int, str], query: int | str | None
) -> tuple[Page, Attention, int, Array]:
    page, attention = Page(lang, ax), find_attention(trace, *which)
    row = find_query(attention.queries, query)
    return page, attention, row, trace[f"{attention.name}.weights"]


def _find_sharpest(attention: Attention, weights: Array, row: int) -> int:
    """Return the head with the largest weight on one token other than the query itself."""
    seen = weights[:, row].copy()
    if attention.kind == "self_attention":
        seen[:, row] = 0
    return int(seen.max(-1).argmax())


def _draw_row(
    page: Page,
    attention: Attention,
    weights: Array,
    row: int,
    heads: list[int],
    share: bool = False,
) -> None:
    """Draw two columns of tokens, and between them the lines of one row in each head."""
    values = weights[heads, row]
    if share:
        values = values / np.maximum(weights[:, row].sum(0), 1e-30)
    rows, keys = _choose_tokens(attention, values, row)
    pitch = 19.0 if max(len(rows), len(keys)) <= 26 else 15.0
    size = theme.TEXT if pitch > 16 else theme.SMALL
    left, cell = 0.0, 26.0 if len(heads) <= 2 else 20.0
    right, texts = GAP + len(heads) * cell, GAP + len(heads) * cell + 8
    ink = theme.role("query").ink
    for place, i in enumerate(rows):
        lit = i == row
        page.text(
            left,
            place * pitch,
            attention.queries[i],
            size=size,
            mono=True,
            ha="right",
            width=WIDEST * 1.4,
            color=ink if lit else theme.SOFT,
            bold=lit,
        )
    fill = theme.role("query").fill
    page.box(
        left - 4 - WIDEST,
        rows.index(row) * pitch - pitch / 2 + 1,
        WIDEST + 8,
        pitch - 2,
        fill=fill,
        edge=ink,
        layer=1,
    )
    for place, j in enumerate(keys):
        page.text(texts, place * pitch, attention.keys[j], size=size, mono=True, width=WIDEST)
    for n, head in enumerate(heads):
        _draw_head(
            page, attention, values[n], (row, rows.index(row)), keys, head, n, cell, pitch, share
        )
    _write_heads(page, heads, cell)
    page.text(
        left, -30, page.say("reads (query)", "读取者（查询）"), ha="right", color=ink, bold=True
    )
    page.text(
        texts,
        -30,
        page.say("is read (key)", "被读者（键）"),
        color=theme.role("key").ink,
        bold=True,
    )
    page.reach(right, 0)


def _choose_tokens(attention: Attention, values: Array, row: int) -> tuple[list[int], list[int]]:
    """Return the rows and the keys to draw.

    If there are many, keep the keys with the largest weights and the rows around `row`.
    """
    rows, keys = list(range(len(attention.queries))), list(range(len(attention.keys)))
    square = attention.kind == "self_attention"
    if len(keys) > MOST:
        keys = keep_largest(values.max(0), MOST, (row,) if square else ())
    if len(rows) > MOST:
        first = max(0, min(row - MOST // 2, len(rows) - MOST))
        rows = keys if square else rows[first : first + MOST]
    return rows, keys


def _draw_head(
    page: Page,
    attention: Attention,
    values: Array,
    row: tuple[int, int],
    keys: list[int],
    head: int,
    n: int,
    cell: float,
    pitch: float,
    share: bool,
) -> None:
    """Draw one head: a line to each token, as strong as its weight, and a column of cells.

    row: its index, and its index among the rows on the page.
    """
    colour, of_row = theme.HEADS[head % len(theme.HEADS)], row[0]
    for place, j in enumerate(keys):
        value = float(values[j])
        if value >= 0.005:
            page.line(
                [(8, row[1] * pitch), (GAP - 4, place * pitch)],
                color=colour,
                layer=1 + value,
                width=0.5 + 4 * value,
                alpha=min(1.0, 0.12 + value),
            )
        shade = tuple(1 - value * (1 - c) for c in to_rgb(colour))
        x, y = GAP + n * cell, place * pitch - pitch / 2 + 1
        page.box(x, y, cell - 1, pitch - 2, fill=shade, edge=theme.FAINT, line=0.4, round=1)
        if cell > 20:
            of = f"{attention.name}.weights", (head, of_row, j)
            page.number(
                x + cell / 2 - 0.5,
                place * pitch,
                value,
                of,
                size=theme.SMALL - 0.5,
                color=theme.ink_on(shade) if value >= 0.005 else theme.FAINT,
            )
    if not share:
        y = (len(keys) - 0.5) * pitch + 10
        total = f'derived:trace["{attention.name}.weights"][{head},{of_row}].sum()'
        small = theme.SMALL - 0.5 if cell > 20 else theme.TINY - 0.5
        page.number(
            GAP + (n + 0.5) * cell - 0.5, y, float(values.sum()), total, size=small, bold=True
        )
        if n == 0:
            page.text(GAP - 6, y, "Σ", ha="right", bold=True)


def _write_heads(page: Page, heads: list[int], cell: float) -> None:
    for n, head in enumerate(heads):
        colour = theme.HEADS[head % len(theme.HEADS)]
        page.box(GAP + n * cell, -21, cell - 1, 11, fill=colour, edge=None, round=2)
        page.text(
            GAP + (n + 0.5) * cell - 0.5,
            -15.5,
            str(head),
            size=theme.TINY + 0.5,
            bold=True,
            color=theme.PAPER,
            ha="center",
        )
    page.text(
        GAP - 6, -15.5, page.say("head", "头"), size=theme.SMALL, ha="right", color=theme.SOFT
    )


def _describe(page: Page, attention: Attention, heads: Sequence[int]) -> str:
    place = attention.title(page.lang)
    which, heads_en = ", ".join(map(str, heads)), "heads" if len(heads) > 1 else "head"
    return page.say(
        f"{place[0].upper()}{place[1:]}, {heads_en} {which}. Softmax weights of one row; they sum "
        "to 1: the stronger a colour, the larger. They say where this layer reads, not why the "
        "model decides as it does.",
        f"{place}，头 {which}。一行的 softmax 权重，和为 1：颜色越深，权重越大。它们说明这一层读了"
        "哪里，并不说明模型为何如此决定。",
    ) + tell_left_out(page, min(MOST, len(attention.keys)), len(attention.keys))

"""The picture of the whole translation, step by step, through every layer (V79)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..derive import read_lens
from . import theme
from .aligning import find_aligner
from .canvas import Page
from .fonts import shorten_start
from .selection import elide, show_token, show_tokens, tell_left_out

MOST, LAYERS = 32, 7  # steps, and layers, drawn one by one
HIGH, WIDE = 23.0, 88.0


def draw_walk(trace: Any, *, lang: str = "en", ax: Axes | None = None) -> Figure:
    """Draw a row for each step: input, attention, what each layer would predict, output (V79)."""
    page, place = Page(lang, ax), find_aligner(trace)
    texts = trace.vocabulary
    shown = elide(len(trace.predicted), MOST, 6)
    rows = [t for t in shown if t is not None]
    lens = read_lens(trace, rows).argmax(-1) if texts is not None else np.zeros((0, 0), int)
    layers = elide(len(lens), LAYERS)
    end = 244 + len(layers) * WIDE
    _write_heads(page, layers, end, len(shown) * HIGH)
    for line, t in enumerate(shown):
        y = line * HIGH
        if line % 2 == 0:
            page.box(
                -6, y - HIGH / 2, end + 330, HIGH, fill="#f7f8fa", edge=None, round=3, layer=0.5
            )
        if t is None:
            page.text(0, y, "⋮", color=theme.SOFT)
            continue
        _draw_ends(page, trace, place, t, y, end)
        for column, layer in enumerate(layers):
            if layer is not None:
                id = int(lens[layer, rows.index(t)])
                same = id == trace.predicted[t].id
                page.text(
                    244 + column * WIDE,
                    y,
                    show_token(texts[id]),
                    size=theme.SMALL,
                    mono=True,
                    width=WIDE - 8,
                    bold=same,
                    color=theme.role("decoder").ink if same else theme.SOFT,
                )
    return page.finish(
        page.say("The whole way, step by step", "完整的一路，逐步"),
        page.say(
            f"“{trace.text}” Looks most at: decoder layer {place[0]}, cross-attention head "
            f"{place[1]}, the one whose rows say most about where it looks. After layer n: the "
            "token that would come out if that layer were the last (logit lens, derived); bold "
            "where it is the one that did.",
            f"“{trace.text}” 看得最多：解码器第 {place[0]} 层交叉注意力头 {place[1]}，其各行最能"
            "说明看向哪里。第 n 层之后：若该层就是最后一层会输出的词元（logit lens，推导量）；"
            "与实际输出相同者加粗。",
        )
        + tell_left_out(page, len(rows), len(trace.predicted)),
    )


def _write_heads(page: Page, layers: list[int | None], end: float, bottom: float) -> None:
    columns = [
        (0.0, page.say("goes in", "输入")),
        (108.0, page.say("looks most at", "看得最多")),
        (end + 6, page.say("comes out", "输出")),
        (end + 130, page.say("written so far", "已写出")),
    ]
    for column, layer in enumerate(layers):
        name = "…" if layer is None else page.say(f"after layer {layer}", f"第 {layer} 层之后")
        columns.append((244 + column * WIDE, name))
    for x, text in columns:
        page.text(x, -20, text, size=theme.SMALL, color=theme.SOFT)
    if layers:
        page.line([(238, -10), (238, bottom - 12)], color=theme.FAINT, width=0.8)
        page.line([(end, -10), (end, bottom - 12)], color=theme.FAINT, width=0.8)


def _draw_ends(
    page: Page, trace: Any, place: tuple[int, int], t: int, y: float, end: float
) -> None:
    """Draw the input token and the source token with the largest weight; then the output.

    The output is the predicted token, its probability and the translation so far.
    """
    layer, head = place
    name = f"decoder.{layer}.cross_attention.weights"
    weights = trace[name][head, t]
    best = int(weights.argmax())
    page.text(0, y, show_token(trace.target[t].text), mono=True, width=100)
    page.text(
        108, y, show_tokens(trace.source)[best], mono=True, width=84, color=theme.role("key").ink
    )
    page.number(226, y, float(weights[best]), (name, (head, t, best)), ha="right", size=theme.TINY)
    page.text(end + 6, y, show_token(trace.predicted[t].text), mono=True, bold=True, width=80)
    page.number(
        end + 118,
        y,
        float(np.exp(trace.predictions[t].log_prob)),
        f"derived:np.exp(trace.predictions[{t}].log_prob)",
        size=theme.TINY,
        ha="right",
        bold=True,
    )
    text = trace.translation[: trace.predicted[t].end]
    page.text(end + 130, y, shorten_start(text, 190, theme.SMALL), size=theme.SMALL)

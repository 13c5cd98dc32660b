"""The picture of what runs in parallel in training and in decoding (V72)."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .canvas import Page
from .charts import spell_rounded
from .selection import show_tokens

LEAST, MOST, SPELL = 5, 50, 40  # fewest calls, most calls, milliseconds
OPS = {
    "self-attention": ("自注意力", "attention"),
    "cross-attention": ("交叉注意力", "memory"),
    "feed-forward": ("前馈网络", "feed_forward"),
}


def time_layer(settings: Any, source: int, target: int, at_once: bool) -> dict[str, float]:
    """Return the milliseconds of each part of a decoder layer, in NumPy, for all target rows.

    at_once: compute all rows together; otherwise one after the other, with the keys and values
    of earlier rows kept.
    """
    rng = np.random.default_rng(0)

    def make(*shape: int) -> Any:
        return rng.standard_normal(shape, np.float32)

    heads, width = settings.heads, settings.width
    x, project = make(target, settings.d_model), make(settings.d_model, heads * width)
    up, keys = make(settings.d_model, settings.d_ff), make(heads, max(source, target), width)
    query = make(heads, target, width)

    def look(rows: slice, seen: int) -> Any:
        for _ in range(4):
            x[rows] @ project
        weights = np.exp(query[:, rows] @ keys[:, :seen].transpose(0, 2, 1) / 100)
        return weights / weights.sum(-1, keepdims=True) @ keys[:, :seen]

    slices = [slice(0, target)] if at_once else [slice(t, t + 1) for t in range(target)]
    parts: dict[str, Callable[[], Any]] = {
        "self-attention": lambda: [look(rows, rows.stop) for rows in slices],
        "cross-attention": lambda: [look(rows, source) for rows in slices],
        "feed-forward": lambda: [np.maximum(x[rows] @ up, 0) @ up.T for rows in slices],
    }
    return {name: time_call(part) for name, part in parts.items()}


def time_call(part: Callable[[], Any]) -> float:
    """Return the milliseconds of the fastest of several calls.

    Other programs on the machine disturb that one least.
    """
    taken: list[float] = []
    while len(taken) < LEAST or (sum(taken) < SPELL and len(taken) < MOST):
        begun = perf_counter()
        part()
        taken.append((perf_counter() - begun) * 1e3)
    return min(taken)


def _draw_timings(page: Page, trace: Any, x: float) -> None:
    """Draw the timings of both ways as bars on the same scale, part by part."""
    source, target = len(trace.source), len(trace.target)
    both = [time_layer(trace.settings, source, target, at_once) for at_once in (True, False)]
    unit = 330 / max(sum(times.values()) for times in both)
    page.text(
        x,
        -12,
        page.say(
            f"timed while this was drawn: {target} rows through one layer",
            f"绘图时实测：{target} 行通过一层",
        ),
        bold=True,
    )
    names = (page.say("all rows at once", "所有行同时"), page.say("one after the other", "逐行"))
    for line, (name, times) in enumerate(zip(names, both, strict=True)):
        y, start = 12 + 44.0 * line, x
        page.text(x, y, name, size=theme.SMALL)
        for op, took in times.items():
            role = theme.role(OPS[op][1])
            page.box(
                start,
                y + 9,
                max(took * unit, 0.5),
                16,
                fill=role.fill,
                edge=role.ink,
                line=0.8,
                round=0,
            )
            start += took * unit
        page.text(
            start + 6,
            y + 17,
            f"{spell_rounded(sum(times.values()))} ms",
            size=theme.SMALL,
            bold=True,
            gid="timed",
        )
    for n, (op, (zh, name)) in enumerate(OPS.items()):
        role = theme.role(name)
        page.box(x + n * 116, 108, 12, 10, fill=role.fill, edge=role.ink, round=0, line=0.8)
        page.text(x + n * 116 + 17, 113, page.say(op, zh), size=theme.SMALL, color=role.ink)


def draw_parallel(trace: Any, *, lang: str = "en", ax: Axes | None = None) -> Figure:
    """Draw which layers and positions can be computed in parallel, and what that saves (V72).

    It is the Transformer's half of the comparison with recurrent networks.
    """
    page, settings = Page(lang, ax), trace.settings
    layers, steps = min(settings.decoder_layers, 6), min(len(trace.target), 8)
    cell = 15.0
    texts = show_tokens(trace.target)[:steps]
    lanes = (
        (page.say("training: every position at once", "训练：所有位置同时"), False),
        (page.say("decoding: one after the other", "解码：逐个位置"), True),
    )
    for n, (label, waits) in enumerate(lanes):
        top = n * (steps * 19 + 66.0)
        page.text(0, top - 12, label, bold=True)
        for t, text in enumerate(texts):
            y = top + t * 19
            page.text(-8, y + 8, text, size=theme.SMALL, mono=True, ha="right", width=90)
            for layer in range(layers):
                x = (t * layers * waits + layer) * cell
                page.box(
                    x,
                    y,
                    cell - 1.5,
                    15,
                    fill=theme.role("decoder").fill,
                    edge=theme.role("decoder").ink,
                    line=0.8,
                    round=2,
                    label=str(layer),
                    size=theme.TINY - 1,
                )
        end = layers * (steps if waits else 1)
        page.line(
            [(0, top + steps * 19 + 6), (end * cell, top + steps * 19 + 6)],
            color=theme.INK,
            head=True,
        )
        page.text(
            end * cell + 6,
            top + steps * 19 + 6,
            page.say("time", "时间"),
            size=theme.SMALL,
            color=theme.SOFT,
        )
    _draw_timings(page, trace, 250.0 if layers > 4 else layers * cell + 170)
    return page.finish(
        page.say("What runs at once, and what has to wait", "什么可以同时算，什么必须等待"),
        page.say(
            f"Boxes are a scheme: one box is one layer at one position ({layers} layers, the first "
            f"{steps} tokens). Within a layer nothing waits; a layer waits for the one below; a "
            "word to be written waits for the words before it. In training they are known. The "
            "bars are real: NumPy, one decoder layer, the fastest of several calls. This is the "
            "Transformer's half: the recurrent network is not drawn here.",
            f"方格是示意图：一格是一个位置上的一层（{layers} 层，前 {steps} 个词元）。层内无需"
            "等待；上层等下层；要写的词等前面的词，而训练时前面的词已知。横条是实测：NumPy，解码器一层，"
            "多次中最快者。这里只画 Transformer 这一半，未画循环网络。",
        ),
    )

"""The picture of the lengths of position vectors beside those of embedded words (V29)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from . import theme, waves
from .canvas import Page
from .selection import show_tokens


def draw_amplitude(trace: Any, *, lang: str = "en") -> Figure:
    """Draw the lengths of the embedded word and of the position vector, token by token (V29)."""
    page = Page(lang)
    texts, d = show_tokens(trace.source), trace.settings.d_model
    shown = list(range(len(texts))) if len(texts) <= 24 else [*range(23), len(texts) - 1]
    names = {"embedded": ("word, times √d", "词 × √d"), "positions": ("place", "位置")}
    lengths = {name: np.linalg.norm(trace[f"source_embedding.{name}"], axis=1) for name in names}
    unit = 300 / max(float(values.max()) for values in lengths.values())
    for row, i in enumerate(shown):
        page.text(84, row * 26.0 + 9, texts[i], mono=True, ha="right", width=84)
        for part, name in enumerate(names):
            ink, value, y = theme.role(name), float(lengths[name][i]), row * 26.0 + part * 10
            of = f"derived:np.linalg.norm(trace['source_embedding.{name}'][{i}])"
            page.box(94, y, unit * value, 8.5, fill=ink.fill, edge=ink.ink, round=0, line=0.7)
            x = 100 + unit * value
            page.number(x, y + 4, value, of, ha="left", size=theme.TINY, color=ink.ink)
    for part, (name, words) in enumerate(names.items()):
        ink, y = theme.role(name), part * 20.0
        page.box(470, y, 14, 10, fill=ink.fill, edge=ink.ink, round=0)
        page.text(490, y + 5, page.say(*words), color=ink.ink)
    _draw_examples(page, 470, 60)
    hidden = len(texts) - len(shown)
    more = page.say(f" {hidden} tokens are left out.", f"省略 {hidden} 个词元。") if hidden else ""
    amplitude = f"{trace.settings.positions.amplitude:g}"
    return page.finish(
        page.say("How loud is the place beside the word?", "相比词，位置的声音有多大？"),
        page.say(
            f"Lengths of the vectors that are added, d = {d}, amplitude {amplitude}.{more}",
            f"相加的两个向量的长度，d = {d}，幅度 {amplitude}。{more}",
        ),
    )


def _draw_examples(page: Page, x: float, y: float) -> None:
    """Draw the lengths that a new network of the paper's width has, for comparison."""
    title = page.say("for comparison, d = 512:", "作为参照，d = 512：")
    page.text(x, y, title, size=theme.SMALL, bold=True)
    rows = (
        (np.linalg.norm(waves.encode_waves([7], 512)), "place", "位置"),
        (np.sqrt(512.0), "word, N(0, 1/d) at the start", "词，初始 N(0, 1/d)"),
        (512 * np.sqrt(2 / (32000 + 512)), "word, Xavier, V = 32,000", "词，Xavier，V = 32000"),
    )
    for row, (value, en, zh) in enumerate(rows):
        page.number(x + 30, y + 18 + row * 15, float(value), "worked", digits=1, ha="right")
        label = page.say(en, zh)
        page.text(x + 36, y + 18 + row * 15, label, size=theme.SMALL, color=theme.SOFT)

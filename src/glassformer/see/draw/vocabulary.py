"""Pictures of the vocabulary and of one-hot vectors (V11-V13)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from . import theme
from .canvas import Page
from .cells import matrix
from .fonts import measure_width
from .selection import find_query, show_tokens

TOY = ("a", "am", "I", "thanks", "student", "<eos>")
ANIMALS = ("cat", "kitty", "dog", "house", "car", "the", "is", "on", "red", "run")


def _draw_vocabulary(
    page: Page, x: float, y: float, rows: list[tuple[str, str]], lit: int, role: str
) -> None:
    ink = theme.role(role)
    for row, (index, word) in enumerate(rows):
        top = y + row * 24.0
        own = row == lit
        page.box(
            x,
            top,
            62,
            24,
            fill=ink.fill if own else theme.PAPER,
            edge=ink.ink,
            round=0,
            line=1.8 if own else 0.8,
            layer=3 if own else 2,
        )
        page.box(
            x + 62,
            top,
            150,
            24,
            fill=ink.fill if own else theme.PAPER,
            edge=ink.ink,
            round=0,
            line=1.8 if own else 0.8,
            layer=3 if own else 2,
        )
        page.text(x + 31, top + 12, index, ha="center", color=ink.ink, bold=own)
        page.text(x + 74, top + 12, word, mono=True, width=132, bold=own)


def draw_vocabulary(trace: Any, *, lang: str = "en", query: int | str | None = None) -> Figure:
    """Draw a slice of the vocabulary around a token, and a toy vocabulary of six words (V11)."""
    page = Page(lang)
    place = find_query(show_tokens(trace.source), query)
    token = trace.source[place]
    known = {p.id: p.text for p in trace.source}
    if trace.document.settings.tie == "three-way" and trace.vocabulary is not None:
        known |= dict(enumerate(trace.vocabulary))
    near = sorted(known, key=lambda i: abs(i - token.id))[:9]
    rows = [(str(i), known[i].replace(" ", "▁")) for i in sorted(near)]
    page.text(
        0, -14, page.say("this model's, around one token", "本模型的词表，某个词元附近"), bold=True
    )
    _draw_vocabulary(page, 0, 0, rows, sorted(near).index(token.id), "embedded")
    page.text(320, -14, page.say("a toy of six words", "六个词的玩具词表"), bold=True)
    _draw_vocabulary(page, 320, 0, [(str(i), w) for i, w in enumerate(TOY)], 1, "embedded")
    return page.finish(
        page.say("The vocabulary: each token has a number", "词表：每个词元都有编号"),
        page.say(
            f"{trace.document.source_vocabulary} tokens in all.",
            f"共 {trace.document.source_vocabulary} 个词元。",
        ),
    )


def draw_one_hot(trace: Any, *, lang: str = "en") -> Figure:
    """Draw ten words as ten one-hot vectors (V12)."""
    page = Page(lang)
    values = np.eye(len(ANIMALS))
    matrix(
        page, 70, 0, values, "embedded", "worked", cell=(26, 22), digits=0, scale="share", limit=1.6
    )
    for i, word in enumerate(ANIMALS):
        page.text(64, i * 22 + 11, word, mono=True, ha="right")
        page.text(83 + i * 26, -6, word, mono=True, rotation=90, size=theme.SMALL)
    assert np.isclose(np.linalg.norm(values[0] - values[1]), np.sqrt(2))
    page.text(356, 80, page.say("as long as the vocabulary,", "长度等于词表大小，"))
    page.text(356, 100, page.say("and any two are equally far apart:", "任意两个都一样远："))
    formula = r"\Vert e_i - e_j\Vert=\sqrt{2}\approx"
    page.formula(356, 128, formula, ha="left")
    page.number(
        361 + measure_width(f"${formula}$", 12, math=True),
        128,
        float(np.sqrt(2)),
        "worked",
        digits=3,
        size=11,
        ha="left",
    )
    return page.finish(
        page.say("One-hot vectors know nothing of meaning", "独热向量不懂含义"),
        page.say(
            "“cat” is no nearer to “kitty” than to “house”.", "“cat”离“kitty”并不比离“house”更近。"
        ),
    )


def draw_one_hot_of_am(trace: Any, *, lang: str = "en") -> Figure:
    """Draw the one-hot vector of "am" in the toy vocabulary: [0, 1, 0, 0, 0, 0] (V13)."""
    page = Page(lang)
    for i, word in enumerate(TOY):
        ink = theme.role("embedded")
        page.box(
            i * 74.0,
            0,
            74,
            34,
            fill=ink.fill if i == 1 else theme.PAPER,
            edge=ink.ink,
            round=0,
            line=2 if i == 1 else 0.9,
            layer=3 if i == 1 else 2,
        )
        page.number(i * 74 + 37, 17, float(i == 1), "worked", digits=0, size=14, bold=i == 1)
        page.text(i * 74 + 37, -12, word, mono=True, ha="center", bold=i == 1)
        page.text(i * 74 + 37, 46, str(i), size=theme.SMALL, color=theme.SOFT, ha="center")
    return page.finish(
        page.say("The one-hot vector of “am”", "“am”的独热向量"),
        page.say("Six words, six numbers.", "六个词，六个数。"),
    )

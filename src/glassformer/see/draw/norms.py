"""Pictures of LayerNorm: one vector before and after, and the formula in steps (V66, V68)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .canvas import Page
from .cells import find_limit, legend
from .residuals import draw_vector, find_unnormed, name_sublayer
from .selection import show_tokens, tell_left_out
from .sublayers import find_place, name_layer

LISTED = 13  # rows of the table of means and standard deviations


def draw_norm(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    side: str = "encoder",
    layer: int = 0,
    sublayer: str = "self_attention",
    query: int | str | None = None,
) -> Figure:
    """Draw a vector before and after LayerNorm, with mean and standard deviation (V66)."""
    page = Page(lang, ax)
    layer, row, text = find_place(trace, side, layer, query)
    before = find_unnormed(trace, side, layer, sublayer)
    after = f"{side}.{layer}.{sublayer}_residual.normed"
    role = theme.role("norm")
    page.box(-110, -18, 690, 218, fill=role.fill, edge=role.ink, line=1.6, round=12, layer=0.5)
    for y, name, label in (
        (0, before, page.say("before", "之前")),
        (150, after, page.say("after", "之后")),
    ):
        limit = find_limit(trace[name][row])
        draw_vector(page, y, name, row, trace, "sum" if y == 0 else "norm", label, limit)
        legend(page, 182, y + 26, "signed", limit)
        for i, (letter, call) in enumerate((("μ", "mean"), ("σ", "std"))):
            value = float(getattr(trace[name][row].astype(np.float64), call)())
            of = f'derived:trace["{name}"][{row}].astype(np.float64).{call}()'
            page.number(
                i * 76,
                y + 35,
                value,
                of,
                ha="left",
                before=f"{letter} = ",
                size=theme.TEXT,
                bold=True,
            )
    page.arrow((72, 52), (72, 142), width=2)
    page.formula(
        230, 98, r"\alpha \cdot \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta", size=16
    )
    page.text(90, 98, "LayerNorm", bold=True, color=role.ink, size=12)
    norm = trace.settings.norm
    return page.finish(
        page.say(f"LayerNorm, as “{text}” passes", f"“{text}”经过 LayerNorm"),
        page.join(name_layer(page, side, layer), name_sublayer(page, sublayer))
        + page.say(
            " Post-norm: after the sum, as in the paper. "
            if norm == "post"
            else " Pre-norm: before the sub-layer; the paper normalises after the sum. ",
            "post-norm：在相加之后，与论文一致。"
            if norm == "post"
            else "pre-norm：在子层之前；论文是在相加之后。",
        )
        + page.say(
            "After it μ and σ need not be 0 and 1: α and β are learned.",
            "之后的 μ 与 σ 不必是 0 与 1：α 和 β 是学来的。",
        ),
    )


def draw_norm_steps(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    side: str = "encoder",
    layer: int = 0,
    sublayer: str = "self_attention",
    query: int | str | None = None,
) -> Figure:
    """Draw the formula of LayerNorm line by line, on the first numbers of one vector (V68)."""
    page = Page(lang, ax)
    layer, row, text = find_place(trace, side, layer, query)
    before, residual = (
        find_unnormed(trace, side, layer, sublayer),
        f"{side}.{layer}.{sublayer}_residual",
    )
    x = trace[before][row].astype(np.float64)
    alpha, beta = (trace[f"{residual}.norm.{n}"].astype(np.float64) for n in ("weight", "bias"))
    vector = f'trace["{before}"][{row}].astype(np.float64)'
    spread = f"np.sqrt({vector}.var() + {trace.settings.norm_epsilon})"
    centred, scaled = f"({vector} - {vector}.mean())", f"({vector} - {vector}.mean()) / {spread}"
    sigma = np.sqrt(x.var() + trace.settings.norm_epsilon)
    lines = (
        ("x", x, before, "sum"),
        ("x − μ", x - x.mean(), centred, "plain"),
        ("(x − μ) / √(σ² + ε)", (x - x.mean()) / sigma, scaled, "plain"),
        ("α", alpha, f"{residual}.norm.weight", "linear"),
        ("β", beta, f"{residual}.norm.bias", "linear"),
        ("α · … + β", trace[f"{residual}.normed"][row], f"{residual}.normed", "norm"),
    )
    for n, (label, values, source, role) in enumerate(lines):
        y = n * 34.0
        page.text(-12, y + 11, label, ha="right", bold=True, color=theme.role(role).ink)
        for i, value in enumerate(values[:8].tolist()):
            derived = n in (1, 2)
            index = () if n in (3, 4) else (row,)
            of = f"derived:({source})[{i}]" if derived else (source, (*index, i))
            page.box(
                i * 44,
                y,
                44,
                22,
                fill=theme.role(role).fill,
                edge=theme.role(role).ink,
                line=2 if n in (3, 4) else 0.8,
                dashed=derived,
                round=0,
            )
            page.number(i * 44 + 22, y + 11, value, of)
        page.text(
            358,
            y + 11,
            f"+{len(values) - 8}" if len(values) > 8 else "",
            size=theme.TINY,
            color=theme.SOFT,
        )
    for i, (name, value, of) in enumerate(
        (("μ", x.mean(), f"{vector}.mean()"), ("σ²", x.var(), f"{vector}.var()"))
    ):
        page.number(
            400,
            11 + 22 * i,
            float(value),
            f"derived:{of}",
            ha="left",
            before=f"{name} = ",
            size=11,
            bold=True,
            digits=3,
        )
    _list_spreads(page, trace, side, before, f"{residual}.normed", row)
    return page.finish(
        page.say(f"LayerNorm on “{text}”, a line at a time", f"“{text}”上的 LayerNorm，逐行计算"),
        name_layer(page, side, layer).capitalize()
        + page.say(
            ". μ and σ² are taken over all numbers of this one vector, σ² with 1/d. Thick: "
            "learned; dashed: on the way.",
            "。μ 与 σ² 只在这一个向量的所有数上计算，σ² 除以 d。粗框：学到的；虚框：中间结果。",
        )
        + tell_left_out(page, LISTED, len(trace[before])),
    )


def _list_spreads(page: Page, trace: Any, side: str, before: str, after: str, row: int) -> None:
    """List mean and standard deviation of each row before and after LayerNorm.

    If there are many rows, list those around the one that is drawn.
    """
    texts = show_tokens(trace.source if side == "encoder" else trace.target)
    first = max(0, min(row - LISTED // 2, len(texts) - LISTED))
    x = 480.0
    heads = page.say("before", "之前"), page.say("after", "之后")
    for text, place, role in zip(heads, (112, 208), ("sum", "norm"), strict=True):
        page.text(
            x + place,
            -30,
            text,
            size=theme.SMALL,
            ha="center",
            bold=True,
            color=theme.role(role).ink,
        )
        for letter, offset in (("μ", -12), ("σ", 28)):
            page.text(
                x + place + offset,
                -14,
                letter,
                size=theme.SMALL,
                ha="right",
                color=theme.role(role).ink,
            )
    for line, i in enumerate(range(first, min(first + LISTED, len(texts)))):
        y = 5 + 16.0 * line
        page.text(
            x + 60, y, texts[i], size=theme.SMALL, mono=True, ha="right", width=76, bold=i == row
        )
        for column, (name, call) in enumerate(
            ((before, "mean"), (before, "std"), (after, "mean"), (after, "std"))
        ):
            value = float(getattr(trace[name][i].astype(np.float64), call)())
            page.number(
                x + 104 + 40 * column + 16 * (column > 1),
                y,
                value,
                f'derived:trace["{name}"][{i}].astype(np.float64).{call}()',
                ha="right",
                bold=i == row,
                color=theme.role("sum" if column < 2 else "norm").ink,
            )
        page.text(x + 152, y, "→", size=theme.SMALL, color=theme.SOFT)

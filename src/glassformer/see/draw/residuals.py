"""Pictures of the residual connection and of the residual stream (V65, V69)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .animate import Animation
from .canvas import Page, Rect
from .cells import find_limit, heat, legend, strip
from .charts import Chart
from .selection import count_layers, find_input, find_output, show_tokens
from .sublayers import find_place, name_layer

SUBLAYERS = ("self_attention", "cross_attention", "feed_forward")
WIDE = 300.0


def find_stream(trace: Any, side: str, layer: int, sublayer: str) -> str:
    """Return the name of the tensor that the residual connection adds to a sub-layer's output.

    Post-norm: the input of the sub-layer. Pre-norm: the sum before it. Raise ValueError if this
    side has no such sub-layer.
    """
    order = [s for s in SUBLAYERS if side == "decoder" or s != "cross_attention"]
    if sublayer not in order:
        raise ValueError(f"sublayer={sublayer}: one of {', '.join(order)}")
    if trace.settings.norm == "post":
        return find_input(trace, side, layer, sublayer)
    place = order.index(sublayer)
    if place:
        return f"{side}.{layer}.{order[place - 1]}_residual.sum"
    if layer:
        return f"{side}.{layer - 1}.feed_forward_residual.sum"
    return f"{'source' if side == 'encoder' else 'target'}_embedding.sum"


def find_unnormed(trace: Any, side: str, layer: int, sublayer: str) -> str:
    """Return the name of the tensor that the norm of a residual connection normalises.

    Post-norm: the sum. Pre-norm: the residual stream before the sub-layer.
    """
    stream = find_stream(trace, side, layer, sublayer)
    return f"{side}.{layer}.{sublayer}_residual.sum" if trace.settings.norm == "post" else stream


def name_sublayer(page: Page, sublayer: str) -> str:
    zh = {"self_attention": "自注意力", "cross_attention": "交叉注意力", "feed_forward": "前馈网络"}
    return page.say(sublayer.replace("_", "-"), zh[sublayer])


def draw_vector(
    page: Page, y: float, name: str, row: int, trace: Any, role: str, label: str, limit: float
) -> Rect:
    """Draw the first numbers of a vector, then all of it as colours, then its length."""
    values = trace[name][row]
    page.text(-10, y + 11, label, ha="right", bold=True, color=theme.role(role).ink)
    strip(page, 0, y, values, role, (name, (row,)), cell=(36, 22))
    rect = heat(page, 182, y, values[None], WIDE, 22, role=role, limit=limit)
    page.number(
        rect.right + 12,
        y + 11,
        float(np.linalg.norm(values)),
        f'derived:np.linalg.norm(trace["{name}"][{row}])',
        ha="left",
        before="‖·‖ = ",
    )
    return Rect(0, y, rect.right, 22)


def draw_residual(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    side: str = "encoder",
    layer: int = 0,
    sublayer: str = "self_attention",
    query: int | str | None = None,
) -> Animation:
    """Draw x, the output of the sub-layer, and their sum (V65)."""
    page = Page(lang, ax)
    layer, row, text = find_place(trace, side, layer, query)
    stream, part = find_stream(trace, side, layer, sublayer), f"{side}.{layer}.{sublayer}"
    names = [stream, f"{part}.output", f"{part}_residual.sum"]
    x, change, total = (trace[name][row].astype(float) for name in names)
    limit = max(find_limit(v) for v in (x, change, total))
    which = name_sublayer(page, sublayer)
    role = theme.role("feed_forward" if sublayer == "feed_forward" else "attention")
    page.step(f"“{text}” comes in as x.", f"“{text}”以 x 进入。")
    draw_vector(page, 0, stream, row, trace, "residual", "x", limit)
    pre = trace.settings.norm == "pre"
    through = page.say(f"LayerNorm and {which}", f" LayerNorm 与{which}") if pre else which
    page.step(f"One copy goes through {through}.", f"一份经过{through}。")
    page.arrow((72, 24), (72, 32 if pre else 44))
    if pre:
        norm = theme.role("norm")
        page.box(10, 33, 124, 18, fill=norm.fill, edge=norm.ink, label="LayerNorm")
        page.arrow((72, 51), (72, 59))
    top, high = (60, 18) if pre else (46, 26)
    page.box(10, top, 124, high, fill=role.fill, edge=role.ink, label=which, bold=True)
    page.arrow((72, top + high + 1), (72, 90))
    draw_vector(page, 92, names[1], row, trace, "heads", "f(x)", limit)
    page.step("The other goes around it untouched.", "另一份原样绕行。")
    page.line(
        [(-22, 11), (-62, 11), (-62, 137), (60, 137)],
        dashed=True,
        color=theme.role("residual").ink,
        width=1.6,
        head=True,
    )
    page.step("Both are added, number by number.", "两份逐数相加。")
    page.arrow((72, 117), (72, 127))
    page.box(62, 127, 20, 20, round=10, label="+", size=13, bold=True)
    page.arrow((72, 147), (72, 160))
    draw_vector(page, 162, names[2], row, trace, "sum", "x + f(x)", limit)
    legend(
        page, 182, 194, "signed", limit, label=page.say("all numbers of the vector", "向量的全部数")
    )
    for i, (a, b, label) in enumerate(((0, 2, "cos(x, x + f(x))"), (0, 1, "cos(x, f(x))"))):
        u, v = (f'trace["{names[n]}"][{row}]' for n in (a, b))
        value = float(np.dot((x, change, total)[a], (x, change, total)[b]))
        value /= (
            float(np.linalg.norm((x, change, total)[a]) * np.linalg.norm((x, change, total)[b]))
            or 1.0
        )
        page.number(
            0,
            222 + 16 * i,
            value,
            f"derived:({u} @ {v}) / np.linalg.norm({u}) / np.linalg.norm({v})",
            ha="left",
            before=f"{label} = ",
            size=theme.TEXT,
        )
    return page.animate(
        page.say("The residual connection: x goes around and is added", "残差之路：x 绕行后相加"),
        page.join(name_layer(page, side, layer), which)
        + (
            page.say(
                " f is both boxes: LayerNorm stands before the sub-layer (pre-norm).",
                "f 包括两个方框：LayerNorm 在子层之前（pre-norm）。",
            )
            if pre
            else page.say(
                " LayerNorm follows the sum (post-norm; V66) and is not drawn here.",
                "LayerNorm 在相加之后（post-norm，见 V66），此处未画。",
            )
        ),
    )


def draw_stream(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    side: str = "encoder",
) -> Figure:
    """Draw length and cosine with the input for each token's vector, layer by layer (V69)."""
    page = Page(lang, ax)
    layers = count_layers(trace, side)
    names = [f"{'source' if side == 'encoder' else 'target'}_embedding.sum"]
    names += [find_output(trace, side, n) for n in range(layers)]
    stream = np.stack([trace[name].astype(np.float64) for name in names])
    length = np.linalg.norm(stream, axis=-1)
    cosine = (stream * stream[0]).sum(-1) / (length * length[0])
    texts = show_tokens(trace.source if side == "encoder" else trace.target)
    steps, low = list(range(layers + 1)), min(0.0, float(cosine.min()))
    charts = (
        (page.say("length of the vector", "向量的长度"), length, (0.0, float(length.max()) * 1.05)),
        (page.say("cosine to what came in at the bottom", "与最初输入的余弦"), cosine, (low, 1.0)),
    )
    for place, (label, values, span) in enumerate(charts):
        chart = Chart(
            page,
            Rect(place * 360, 0, 270, 230),
            (0, layers),
            span,
            up=label,
            x_ticks=steps,
            across=page.say("layers passed", "经过的层数"),
        )
        marked = {0: texts[0], len(texts) // 2: texts[len(texts) // 2], len(texts) - 1: texts[-1]}
        ends = sorted(marked, key=lambda i: -values[-1, i])
        for i in range(len(texts)):
            colour = theme.HEADS[[*marked].index(i)] if i in marked else theme.FAINT
            chart.curve(
                steps,
                values[:, i].tolist(),
                colour,
                width=1.8 if i in marked else 0.8,
                dots=i in marked,
            )
        last = -1e9
        for i in ends:
            x, y = chart.at(layers, values[-1, i])
            last = max(y, last + 11)
            page.text(
                x + 7,
                last,
                marked[i],
                size=theme.SMALL,
                mono=True,
                color=theme.HEADS[[*marked].index(i)],
            )
    return page.finish(
        page.say("The residual stream, layer by layer", "逐层的残差流"),
        page.say(
            f"Each line is a token of the {side}; three are named.",
            "每条线是一个词元；标出了三个。",
        ),
    )

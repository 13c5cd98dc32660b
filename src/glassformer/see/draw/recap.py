"""Pictures of multi-head attention as a whole, and head by head (V45, V46)."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from . import theme
from .animate import Animation
from .canvas import Page
from .cells import heat, legend, panel, span
from .matrices import PROJECTIONS, RELATIVE
from .selection import Attention, find_attention, find_input, show_tokens, weight_of_head

STEPS = (
    ("1  the sentence", "1  句子"),
    ("2  its vectors", "2  词元向量"),
    ("3  times the weights\nof each head", "3  乘以各头的\n权重"),
    ("4  attention in\neach head", "4  各头计算\n注意力"),
    ("5  side by side,\ntimes W_O", "5  并排连接，\n乘以 W_O"),
)


def _choose_heads(count: int) -> list[int]:
    """Return all heads if there are up to four, else the first two and the last."""
    return list(range(count)) if count <= 4 else [0, 1, count - 1]


def draw_recap(trace: Any, *, lang: str = "en", layer: int = 0) -> Figure:
    """Draw the five steps of multi-head attention, with thumbnails of the real tensors (V45)."""
    page = Page(lang)
    attention = find_attention(trace, "encoder", layer)
    shown = _choose_heads(trace.settings.heads)
    row = 132.0
    x_of = (0.0, 110.0, 250.0, 420.0, 620.0)
    for x, words in zip(x_of, STEPS, strict=True):
        page.text(x, -62, page.say(*words), size=theme.TEXT, bold=True, va="top")
    _draw_sentence(page, trace, attention, 0.0, x_of)
    for place, head in enumerate(shown):
        gap = 26.0 if head - place > 0 else 0.0
        _draw_head(page, trace, attention, head, place * row + gap, x_of)
    if len(shown) < trace.settings.heads:
        page.text(
            x_of[3] - 30,
            2 * row - 18,
            page.say(
                f"… {trace.settings.heads - 3} more heads …",
                f"…… 另有 {trace.settings.heads - 3} 个头 ……",
            ),
            color=theme.SOFT,
            ha="center",
        )
    _draw_mixing(page, trace, attention, x_of[4])
    bottom = page.bottom + 16
    legend(page, 0, bottom, "signed", 1.0, digits=0, label=page.say(*RELATIVE))
    note = page.say(
        ". In layers other than 0 there is no embedding: they start with the output R of the layer "
        "below.",
        "。除第 0 层外不再有嵌入：直接从下面一层的输出 R 开始。",
    )
    return page.finish(
        page.say("Multi-head attention on one page", "一页看懂多头注意力"),
        attention.title(lang) + note,
    )


def _draw_sentence(
    page: Page, trace: Any, attention: Attention, y: float, x_of: tuple[float, ...]
) -> None:
    """Draw the tokens and X; below, in layer 0, the input R of layer 1, which replaces X there."""
    texts = show_tokens(trace.source)
    shown = texts if len(texts) <= 12 else [*texts[:10], "…", texts[-1]]
    for place, text in enumerate(shown):
        page.text(x_of[0], y + 8 + place * 13.0, text, size=theme.SMALL, mono=True, width=84)
    name = find_input(trace, "encoder", attention.layer, "self_attention")
    x = panel(
        page, x_of[1], y, trace[name], "embedded", "X", width=104, height=min(span(len(texts)), 110)
    )
    if attention.layer == 0 and trace.settings.encoder_layers > 1:
        above = find_input(trace, "encoder", 1, "self_attention")
        panel(
            page,
            x_of[1],
            x.bottom + 60,
            trace[above],
            "residual",
            "R",
            width=104,
            height=min(span(len(texts)), 110),
        )
        page.text(
            x_of[1] + 52,
            x.bottom + 84 + x.height,
            page.say("in layer 1, 2, …", "第 1、2 …… 层"),
            size=theme.TINY,
            color=theme.SOFT,
            ha="center",
        )


def _draw_head(
    page: Page, trace: Any, attention: Attention, head: int, y: float, x_of: tuple[float, ...]
) -> None:
    colour = theme.HEADS[head % len(theme.HEADS)]
    page.box(
        x_of[2] - 14,
        y - 26,
        x_of[4] - x_of[2] - 22,
        122,
        fill="#fcfcfd",
        edge=colour,
        round=6,
        layer=0,
    )
    page.text(
        x_of[4] - 44,
        y - 14,
        page.say(f"head {head}", f"头 {head}"),
        size=theme.SMALL,
        bold=True,
        color=colour,
        ha="right",
    )
    for place, projection in enumerate(PROJECTIONS):
        weight = weight_of_head(trace, attention.name, projection, head)
        panel(
            page,
            x_of[2] + place * 48,
            y + 8,
            weight,
            projection,
            f"W^{projection[0].upper()}_{{{head}}}",
            width=32,
            height=62,
            learned=True,
        )
        panel(
            page,
            x_of[3] + place * 34,
            y + 8,
            trace[f"{attention.name}.{projection}"][head],
            projection,
            f"{projection[0].upper()}_{{{head}}}",
            width=24,
            height=62,
            shape="",
        )
    page.arrow((x_of[2] + 134, y + 40), (x_of[3] - 6, y + 40))
    page.arrow((x_of[3] + 98, y + 40), (x_of[3] + 114, y + 40))
    panel(
        page,
        x_of[3] + 122,
        y + 8,
        trace[f"{attention.name}.context"][head],
        "heads",
        f"Z_{{{head}}}",
        width=32,
        height=62,
    )


def _draw_mixing(page: Page, trace: Any, attention: Attention, x: float) -> None:
    stored, output = trace[f"{attention.name}.to_output.weight"], trace[f"{attention.name}.output"]
    z = trace[f"{attention.name}.context"]
    count, n, width = z.shape
    joined = z.transpose(1, 0, 2).reshape(n, count * width)
    page.arrow((x - 32, 46), (x - 6, 46))
    panel(page, x, 8, joined, "heads", r"\mathrm{Concat}(Z)", width=150, height=62, derived=True)
    page.text(x + 75, 102, "×", size=14, color=theme.SOFT, ha="center")
    panel(page, x, 136, stored.T, "linear", "W^O", width=150, height=150, learned=True)
    page.text(x + 75, 314, "=", size=14, color=theme.SOFT, ha="center")
    panel(page, x, 344, output, "heads", "Z", width=150, height=62)


def draw_growing_heads(trace: Any, *, lang: str = "en", layer: int = 0) -> Animation:
    """Draw one head after the other, up to all heads of the layer (V46)."""
    page = Page(lang)
    attention = find_attention(trace, "encoder", layer)
    weights = trace[f"{attention.name}.weights"]
    count, side, limit = len(weights), 74.0, float(weights.max())
    columns = min(count, 8)
    told = {
        0: ("One head looks in one way.", "一个头只有一种看法。"),
        1: ("A second one has other weights, and looks elsewhere.", "第二个头权重不同，看向别处。"),
        2: ("A third.", "再加第三个。"),
        3: (
            f"This model has {count} in each layer; the paper's base model has 8.",
            f"本模型每层有 {count} 个头；论文的 base 模型有 8 个。",
        ),
    }
    for head in range(count):
        if head in told:
            page.step(*told[head])
        x, y = head % columns * (side + 16), head // columns * (side + 66)
        colour = theme.HEADS[head % len(theme.HEADS)]
        heat(page, x, y, weights[head], side, side, role="weights", scale="share", limit=limit)
        page.box(
            x,
            y - 22,
            side,
            16,
            fill=colour,
            edge=None,
            label=page.say(f"head {head}", f"头 {head}"),
            color="#ffffff",
            size=theme.SMALL,
            bold=True,
            round=3,
        )
        page.arrow((x + side / 2, y + side + 2), (x + side / 2, y + side + 24), color=colour)
    page.step(
        "What all of them found is put side by side and mixed by W_O.",
        "所有头的发现并排连接，由 W_O 混合。",
    )
    ink = theme.role("linear")
    rows = (count - 1) // columns + 1
    page.box(
        0,
        rows * (side + 66) - 38,
        columns * (side + 16) - 16,
        26,
        fill=ink.fill,
        edge=ink.ink,
        line=2,
        label="Concat(Z)  ×  W_O",
        bold=True,
    )
    page.rest()
    legend(page, 0, rows * (side + 66) + 6, "share", limit, label=page.say("weight", "权重"))
    return page.animate(
        page.say("Head by head", "一个头接一个头"),
        page.say(
            f"{attention.title(lang)}. Rows read (queries), columns are read (keys).",
            f"{attention.title(lang)}。行读取（查询），列被读（键）。",
        ),
    )

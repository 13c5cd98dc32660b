"""Pictures of one encoder layer and one decoder layer (V05, V06)."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from . import theme
from .canvas import Page, Rect
from .overview import draw_part

NAMES = {
    "self": ("Self-Attention", "自注意力", "attention"),
    "masked": ("Masked Self-Attention", "带掩码的自注意力", "attention"),
    "cross": ("Encoder-Decoder Attention", "编码器-解码器注意力", "attention"),
    "forward": ("Feed Forward", "前馈网络", "feed_forward"),
}


def _draw_layer(
    page: Page, x: float, y: float, wide: float, parts: list[str], side: str, trace: Any
) -> list[Rect]:
    """Draw one layer, its sub-layers from the bottom up with their sizes; return their boxes."""
    settings, made = trace.settings, []
    tall = len(parts) * 68.0 + 20
    ink = theme.role(side)
    page.box(x, y - tall, wide, tall, fill=ink.fill, edge=ink.ink, line=2, round=10)
    sizes = {"forward": f"{settings.d_model} → {settings.d_ff} → {settings.d_model}"}
    for place, part in enumerate(parts):
        en, zh, role = NAMES[part]
        rect = draw_part(page, Rect(x + 22, y - 62 - place * 68, wide - 44, 44), role, "", layer=3)
        page.text(
            rect.centre[0],
            rect.centre[1] - 7,
            page.say(en, zh),
            bold=True,
            ha="center",
            color=theme.role(role).ink,
            layer=6,
        )
        size = sizes.get(
            part,
            page.say(
                f"{settings.heads} heads × {settings.width}",
                f"{settings.heads} 个头 × {settings.width}",
            ),
        )
        page.text(
            rect.centre[0],
            rect.centre[1] + 10,
            size,
            size=theme.SMALL,
            ha="center",
            color=theme.role(role).ink,
            layer=6,
        )
        if place:
            page.arrow(
                (rect.centre[0], rect.bottom + 24),
                (rect.centre[0], rect.bottom + 2),
                color=theme.INK,
                layer=5,
            )
        made.append(rect)
    page.arrow((x + wide / 2, y + 34), (x + wide / 2, y - 16), color=theme.INK, layer=5)
    page.arrow(
        (x + wide / 2, y - tall + 12), (x + wide / 2, y - tall - 26), color=theme.INK, layer=5
    )
    return made


def draw_encoder(trace: Any, *, lang: str = "en") -> Figure:
    """Draw one encoder layer: self-attention, then a feed-forward network (V05)."""
    page = Page(lang)
    _draw_layer(page, 0, 0, 260, ["self", "forward"], "encoder", trace)
    for y, en, zh in (
        (-28, "tokens look at each other", "词元互相看"),
        (-96, "each token by itself", "每个词元各自处理"),
    ):
        page.text(280, y - 12, page.say(en, zh), color=theme.SOFT)
    return page.finish(
        page.say("One encoder layer", "一个编码器层"),
        page.say(
            "Only attention lets tokens see each other. Around each part runs a residual "
            "connection, with a LayerNorm (V08).",
            "只有注意力让词元互相看见。每一部分外都有残差连接和 LayerNorm（V08）。",
        ),
    )


def draw_layers(trace: Any, *, lang: str = "en") -> Figure:
    """Draw an encoder and a decoder layer; the latter also attends to the memory (V06)."""
    page = Page(lang)
    _draw_layer(page, 0, 0, 230, ["self", "forward"], "encoder", trace)
    parts = _draw_layer(page, 340, 0, 250, ["masked", "cross", "forward"], "decoder", trace)
    page.text(
        115,
        52,
        page.say("ENCODER", "编码器"),
        bold=True,
        color=theme.role("encoder").ink,
        ha="center",
        size=11,
    )
    page.text(
        465,
        52,
        page.say("DECODER", "解码器"),
        bold=True,
        color=theme.role("decoder").ink,
        ha="center",
        size=11,
    )
    ink, y = theme.role("memory").ink, parts[1].centre[1]
    page.line(
        [(115, -182), (115, -196), (290, -196), (290, y), (parts[1].x - 2, y)],
        color=ink,
        width=2.2,
        head=True,
        layer=6,
    )
    page.text(202, -206, page.say("memory", "记忆"), color=ink, ha="center", bold=True)
    return page.finish(
        page.say("Encoder and decoder, side by side", "编码器与解码器对照"),
        page.say(
            "Queries come from the decoder, keys and values from memory. Masked: a token sees "
            "those before it and itself.",
            "查询来自解码器，键和值来自记忆。掩码：每个词元只看见自己和之前的词元。",
        ),
    )

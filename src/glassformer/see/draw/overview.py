"""Pictures of the whole model, from the outside inwards (V01-V04)."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .canvas import Page, Rect
from .cells import strip
from .fonts import wrap_most

STOREY = 42.0  # distance from one layer to the next


def _draw_ends(page: Page, trace: Any, box: Rect) -> None:
    """Draw the source text on the left of the model and its translation on the right."""
    middle = box.centre[1]
    for text, side, x, ha in (
        (trace.text, "encoder", box.x - 44, "right"),
        (trace.translation, "decoder", box.right + 44, "left"),
    ):
        shown = wrap_most(text, 180, 11, 7)
        page.text(x, middle, shown, size=11, ha=ha, color=theme.role(side).ink)
    page.arrow((box.x - 38, middle), (box.x - 3, middle), width=2, color=theme.INK)
    page.arrow((box.right + 3, middle), (box.right + 38, middle), width=2, color=theme.INK)


def draw_part(page: Page, rect: Rect, role: str, label: str, **options: Any) -> Rect:
    ink = theme.role(role)
    return page.box(
        *rect, fill=ink.fill, edge=ink.ink, **{"line": 1.6, "bold": True, "label": label, **options}
    )


def draw_black_box(trace: Any, *, lang: str = "en", ax: Axes | None = None) -> Figure:
    """Draw the model as a black box with its input and output (V01)."""
    page = Page(lang, ax)
    box = draw_part(
        page,
        Rect(0, 0, 190, 110),
        "model",
        page.say("THE TRANSFORMER", "Transformer"),
        line=2,
        round=10,
        size=12,
    )
    _draw_ends(page, trace, box)
    return page.finish(
        page.say("A black box", "一个黑盒子"),
        page.say("The translation is the model's own.", "译文由该模型自己给出。"),
    )


def draw_sequences(trace: Any, *, lang: str = "en") -> Figure:
    """Draw sequence to sequence: as one box, and as the Transformer does it (V02).

    The Transformer hands over one vector for each token, not a single one.
    """
    page = Page(lang)
    box = draw_part(
        page,
        Rect(60, 0, 250, 64),
        "model",
        page.say("sequence to sequence", "序列到序列"),
        line=2,
        round=8,
    )
    _draw_ends(page, trace, box)
    y = 140.0
    left = draw_part(
        page,
        Rect(-60, y, 150, 74),
        "encoder",
        page.say("ENCODER", "编码器"),
        line=2,
        round=8,
        size=11,
    )
    right = draw_part(
        page,
        Rect(304, y, 150, 74),
        "decoder",
        page.say("DECODER", "解码器"),
        line=2,
        round=8,
        size=11,
    )
    count = min(len(trace.source), 6)
    for i in range(count):
        top = y + 37 + (i - count / 2) * 15
        strip(
            page,
            126,
            top,
            trace["memory"][i],
            "memory",
            ("memory", (i,)),
            shown=4,
            cell=(28, 13),
            size=theme.TINY,
        )
    if len(trace.source) > count:
        page.text(
            182,
            y + 42 + count * 7.5 + 6,
            page.say(f"… {len(trace.source)} vectors", f"…… 共 {len(trace.source)} 个向量"),
            size=theme.SMALL,
            color=theme.role("memory").ink,
            ha="center",
        )
    page.arrow((left.right + 3, y + 37), (122, y + 37), width=2, color=theme.INK)
    page.arrow((270, y + 37), (right.x - 3, y + 37), width=2, color=theme.INK)
    page.text(
        182,
        y - 30,
        page.say("memory: one vector a token", "记忆：每个词元一个向量"),
        color=theme.role("memory").ink,
        ha="center",
    )
    return page.finish(
        page.say("Sequence to sequence, the Transformer's way", "序列到序列：Transformer 的做法"),
        page.say(
            "The Transformer's half of this comparison: its encoder hands over one vector for "
            "each token. A recurrent network without attention "
            "hands over a single one, whatever the length.",
            "这是对比中 Transformer 的一半：编码器为每个词元交出一个向量；没有注意力的循环网络无论"
            "句子多长只交出一个。",
        ),
    )


def draw_opened(trace: Any, *, lang: str = "en") -> Figure:
    """Draw encoders, decoders and the memory between them (V03)."""
    page = Page(lang)
    frame = page.box(
        0,
        0,
        400,
        130,
        fill=theme.role("model").fill,
        edge=theme.role("model").ink,
        line=2,
        round=10,
    )
    left = draw_part(
        page,
        Rect(24, 28, 140, 74),
        "encoder",
        page.say("ENCODERS", "编码器组"),
        line=2,
        round=6,
        size=12,
        layer=3,
    )
    right = draw_part(
        page,
        Rect(236, 28, 140, 74),
        "decoder",
        page.say("DECODERS", "解码器组"),
        line=2,
        round=6,
        size=12,
        layer=3,
    )
    page.arrow(
        (left.right + 3, 65), (right.x - 3, 65), width=2.2, color=theme.role("memory").ink, layer=4
    )
    page.text(
        200,
        52,
        page.say("memory", "记忆"),
        size=theme.SMALL,
        color=theme.role("memory").ink,
        ha="center",
    )
    _draw_ends(page, trace, frame)
    n, d = len(trace.source), trace.settings.d_model
    return page.finish(
        page.say(
            "Inside: encoders, decoders, and a connection", "里面：编码器、解码器和它们的连接"
        ),
        page.say(
            f"The connection carries the memory: {n} tokens × {d} numbers.",
            f"连接传递记忆：{n} 个词元 × {d} 个数。",
        ),
    )


def draw_stacks(trace: Any, *, lang: str = "en") -> Figure:
    """Draw all layers of the model, and the memory that goes to every decoder layer (V04)."""
    page = Page(lang)
    encoders, decoders = trace.settings.encoder_layers, trace.settings.decoder_layers
    floor = max(encoders, decoders) * STOREY
    left = _draw_stack(page, 0, floor, encoders, "encoder", page.say("ENCODER", "编码器"))
    right = _draw_stack(page, 330, floor, decoders, "decoder", page.say("DECODER", "解码器"))
    ink, top = theme.role("memory").ink, left[-1]
    trunk, height = top.right + 56, top.centre[1]
    page.line([(top.right, height), (trunk, height)], color=ink, width=2.4)
    for rect in right:
        ways = [(trunk, height), (trunk, rect.centre[1]), (rect.x - 2, rect.centre[1])]
        page.line(ways, color=ink, width=1.8, head=True)
    size = f"{page.say('memory', '记忆')}  {len(trace.source)} × {trace.settings.d_model}"
    page.text(trunk - 6, height - 16, size, color=ink, size=theme.SMALL, ha="center")
    ends = (trace.text, trace.translation)
    source, target = (wrap_most(text, 190, theme.TEXT, 6) for text in ends)
    x, y, roof = top.centre[0], floor + 26, right[-1].y
    page.text(x, y, source, ha="center", va="top", color=theme.role("encoder").ink)
    page.arrow((x, y - 3), (x, floor - 10), color=theme.INK)
    x, ink = right[-1].centre[0], theme.role("decoder").ink
    page.text(x, roof - 30, target, ha="center", va="bottom", color=ink)
    page.arrow((x, roof - 2), (x, roof - 25), color=theme.INK)
    return page.finish(
        page.say(
            f"{encoders} encoders, {decoders} decoders", f"{encoders} 个编码器，{decoders} 个解码器"
        ),
        page.say(
            "All layers of a kind have the same shape and weights of their own. Memory, the output "
            "of the last encoder, goes to every decoder, which makes keys and values of it.",
            "同类各层形状相同，权重各异。最后一个编码器的输出（记忆）送往每个解码器，"
            "各自由它算出自己的键和值。",
        ),
    )


def _draw_stack(
    page: Page, x: float, floor: float, layers: int, side: str, name: str
) -> list[Rect]:
    """Draw layers above each other, the first at the bottom; return their boxes."""
    made = []
    for i in range(layers):
        rect = draw_part(page, Rect(x, floor - (i + 1) * STOREY, 170, 30), side, f"{name} {i}")
        if i:
            middle = rect.centre[0]
            page.arrow(
                (middle, rect.bottom + STOREY - 30), (middle, rect.bottom + 1), color=theme.INK
            )
        made.append(rect)
    return made

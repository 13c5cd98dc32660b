"""The picture of two layers of each side, with residual connections and real vectors (V08)."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from . import theme
from .canvas import Page, Point, Rect
from .cells import find_limit, heat, legend
from .selection import show_token

WIDE, TALL, THIN = 150.0, 30.0, 18.0
LABELS = {
    "self_attention": ("Self-Attention", "自注意力", "attention"),
    "cross_attention": ("Encoder-Decoder Attention", "编码器-解码器注意力", "attention"),
    "feed_forward": ("Feed Forward", "前馈网络", "feed_forward"),
}


class WiringPicture:
    """The drawing of layers, bottom to top, with the vector of the first token at each arrow."""

    def __init__(self, page: Page, trace: Any):
        self.page, self.trace = page, trace

    def vector(self, x: float, y: float, tensor: str, role: str) -> None:
        """Draw all numbers of the first token's vector as a strip of colours."""
        values = self.trace[tensor][:1]
        heat(self.page, x - 55, y - 5, values, 110, 9, role=role, limit=find_limit(values))

    def layer(self, x: float, y: float, side: str, layer: int) -> tuple[float, Rect | None]:
        page, trace = self.page, self.trace
        kinds = ["self_attention", "cross_attention", "feed_forward"]
        if side == "encoder":
            kinds.remove("cross_attention")
        start, cross = y, None
        pre = trace.settings.norm == "pre"
        for kind in kinds:
            en, zh, role = LABELS[kind]
            below = y
            page.arrow((x, y), (x, y - 16), color=theme.INK)
            y -= 16
            if pre:
                y = self.part(x, y, THIN, "norm", "LayerNorm").y - 7
            rect = self.part(x, y, TALL, role, page.say(en, zh))
            cross = rect if kind == "cross_attention" else cross
            y = rect.y - 8
            page.arrow((x, rect.y), (x, y), color=theme.INK)
            label = page.say("Add", "相加") if pre else page.say("Add & Normalize", "相加并归一")
            added = self.part(x, y, THIN, "norm", label)
            outer = x + (-1 if side == "encoder" else 1) * (WIDE / 2 + 16)
            edge = x + (-1 if side == "encoder" else 1) * WIDE / 2
            page.line(
                [
                    (x, below - 4),
                    (outer, below - 4),
                    (outer, added.centre[1]),
                    (edge, added.centre[1]),
                ],
                color=theme.role("residual").ink,
                dashed=True,
                head=True,
            )
            y = added.y
            page.arrow((x, y), (x, y - 10), color=theme.INK, head=False)
            window = "sum" if pre else "normed"
            self.vector(x, y - 14, f"{side}.{layer}.{kind}_residual.{window}", "residual")
            y -= 19
        ink = theme.role(side)
        words = ("ENCODER", "编码器") if side == "encoder" else ("DECODER", "解码器")
        name = f"{page.say(*words)} #{layer}"
        frame = page.box(
            x - WIDE / 2 - 32,
            y + 2,
            WIDE + 64,
            start - y - 4,
            fill=ink.fill,
            edge=ink.ink,
            round=8,
            line=1.4,
            layer=0,
        )
        left = side == "encoder"
        page.text(
            frame.x - 8 if left else frame.right + 8,
            frame.centre[1],
            name,
            bold=True,
            color=ink.ink,
            rotation=90,
            ha="center",
            size=theme.TEXT,
        )
        return y, cross

    def part(self, x: float, y: float, tall: float, role: str, label: str) -> Rect:
        ink = theme.role(role)
        return self.page.box(
            x - WIDE / 2,
            y - tall,
            WIDE,
            tall,
            fill=ink.fill,
            edge=ink.ink,
            label=label,
            layer=4,
            size=theme.TEXT if tall > THIN else theme.SMALL,
            bold=tall > THIN,
        )

    def tower(self, x: float, side: str) -> tuple[float, list[Rect]]:
        """Draw the first two layers of a side; return their top and the cross-attention boxes."""
        page, trace = self.page, self.trace
        token = trace.source[0] if side == "encoder" else trace.target[0]
        page.text(
            x,
            46,
            show_token(token.text),
            mono=True,
            bold=True,
            ha="center",
            color=theme.role(side).ink,
        )
        page.arrow((x, 36), (x, 22), color=theme.INK)
        name = "source" if side == "encoder" else "target"
        self.vector(x, 16, f"{name}_embedding.sum", "sum")
        y, crosses = 10.0, []
        for layer in range(min(2, getattr(trace.settings, f"{side}_layers"))):
            y, cross = self.layer(x, y, side, layer)
            y -= 8
            crosses += [cross] if cross else []
        return y, crosses

    def last_norm(self, x: float, y: float) -> float:
        """Draw the norm above the last layer, which only pre-norm models have; return its top."""
        y = self.part(x, y - 8, THIN, "norm", "LayerNorm").y
        self.page.arrow((x, y), (x, y - 9), color=theme.INK, head=False)
        return y

    def top(self, x: float, y: float) -> None:
        """Draw the output: the decoder's last vector, the linear map, the softmax, the token."""
        page = self.page
        self.vector(x, y - 6, "last", "decoder")
        for label, role in ((page.say("Linear", "线性层"), "linear"), ("softmax", "softmax")):
            page.arrow((x, y - 12), (x, y - 26), color=theme.INK)
            y = self.part(x, y - 26, 24, role, label).y + 8
        page.arrow((x, y - 8), (x, y - 24), color=theme.INK)
        word, ink = show_token(self.trace.predicted[0].text), theme.role("decoder").ink
        page.text(x, y - 36, word, mono=True, bold=True, ha="center", size=12, color=ink)


def draw_two_layers(trace: Any, *, lang: str = "en") -> Figure:
    """Draw encoder and decoder layers 0 and 1 as this model has them, and the output (V08)."""
    page = Page(lang)
    wiring = WiringPicture(page, trace)
    left, _ = wiring.tower(0, "encoder")
    x = 360.0
    right, crosses = wiring.tower(x, "decoder")
    more = [getattr(trace.settings, f"{side}_layers") - 2 for side in ("encoder", "decoder")]
    for place, y, count in ((0.0, left, more[0]), (x, right, more[1])):
        if count > 0:
            page.text(
                place,
                y - 8,
                page.say(f"⋮  {count} more", f"⋮  另有 {count} 层"),
                color=theme.SOFT,
                ha="center",
            )
    ink = theme.role("memory").ink
    left, right = left - 18, right - 18
    page.arrow((0, left), (0, left - 8), color=theme.INK, head=False)
    if trace.settings.norm == "pre":
        left, right = (wiring.last_norm(place, y) for place, y in ((0.0, left), (x, right)))
    wiring.vector(0, left - 14, "memory", "memory")
    page.text(0, left - 28, page.say("memory", "记忆"), color=ink, bold=True, ha="center")
    for rect in crosses:
        points: list[Point] = [
            (56, left - 14),
            (180, left - 14),
            (180, rect.centre[1]),
            (rect.x - 2, rect.centre[1]),
        ]
        page.line(points, color=ink, width=1.8, head=True, layer=6)
    wiring.top(x, right - 4)
    legend(
        page,
        -107,
        66,
        "signed",
        1.0,
        digits=0,
        label=page.say("of the largest in each strip", "相对于每条中最大的绝对值"),
    )
    kind = (
        page.say("before each sub-layer (pre-norm)", "在每个子层之前（pre-norm）")
        if trace.settings.norm == "pre"
        else page.say(
            "after each sum (post-norm), as in the paper", "在每次相加之后（post-norm），与论文相同"
        )
    )
    return page.finish(
        page.say("Two layers of each, wired as they are", "各两层的真实连线"),
        page.say(
            f"Strips: the {trace.settings.d_model} numbers of the first token at that place. "
            f"Dashed: residual connections. LayerNorm stands {kind}.",
            f"色条：第一个词元在该处的 {trace.settings.d_model} 个数。虚线：残差连接。LayerNorm "
            f"{kind}。",
        ),
    )

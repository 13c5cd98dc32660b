"""Figure 1 of the paper for a recorded model, drawn as blocks; `figure_1` uses it."""

from __future__ import annotations

from typing import Any

from . import theme
from .canvas import Page, Point, Rect
from .fonts import wrap_most

WIDE, TALL, THIN, GAP = 178.0, 40.0, 20.0, 12.0
PARTS = {
    "self_attention": ("Multi-Head\nSelf-Attention", "多头自注意力", "attention"),
    "masked": ("Masked Multi-Head\nSelf-Attention", "带掩码的多头自注意力", "attention"),
    "cross_attention": ("Multi-Head\nCross-Attention", "多头交叉注意力", "attention"),
    "feed_forward": ("Feed Forward", "前馈网络", "feed_forward"),
}
TOLD = {
    "self_attention": ("Every token looks at every other,", "每个词元看所有其他词元，"),
    "masked": ("The decoder looks back at what is written,", "解码器回看已写出的部分，"),
    "cross_attention": (
        "then at the memory: what the encoder found,",
        "再看记忆：编码器的发现，",
    ),
    "feed_forward": ("and thinks by itself.", "然后各自思考。"),
}


def count_parameters(trace: Any, prefix: str) -> int:
    """Return the number of learned parameters whose names begin with `prefix`."""
    return sum(v.size for k, v in trace.parameters.items() if k.startswith(prefix))


class Blueprint:
    """The drawing of figure 1, from the bottom up; if `told`, each part is one animation step."""

    def __init__(self, page: Page, trace: Any, told: bool, lit: str = ""):
        self.page, self.trace, self.told, self.lit = page, trace, told, lit
        self.pre = trace.settings.norm == "pre"
        self.at = ""  # the part of the figure that is being drawn

    def tell(self, en: str, zh: str) -> None:
        if self.told:
            self.page.step(en, zh)

    def part(self, x: float, y: float, tall: float, role: str, label: str, count: int = 0) -> Rect:
        """Draw a box that stands on y, with its number of parameters beside it."""
        ink, alpha = theme.role(role), 1.0 if self.lit in ("", self.at) else 0.3
        rect = self.page.box(
            x,
            y - tall,
            WIDE,
            tall,
            fill=ink.fill,
            edge=ink.ink,
            layer=4,
            alpha=alpha,
            line=3 if self.lit == self.at else 1.4,
        )
        self.page.text(
            *rect.centre,
            label,
            ha="center",
            bold=tall > THIN,
            color=ink.ink,
            layer=4.5,
            size=theme.TEXT if tall > THIN else theme.SMALL,
            width=WIDE - 4,
            alpha=alpha,
        )
        if count:
            left = x == 0
            self.page.text(
                x - 26 if left else rect.right + 26,
                rect.centre[1],
                f"{count:,}",
                size=theme.SMALL,
                color=theme.SOFT,
                ha="right" if left else "left",
            )
        return rect

    def up(self, x: float, y: float, length: float = GAP) -> None:
        self.page.arrow((x + WIDE / 2, y), (x + WIDE / 2, y - length + 1), color=theme.INK)

    def ground(self, x: float, side: str) -> float:
        """Draw text, embedding and positions; return the y at which the first layer begins."""
        page, trace = self.page, self.trace
        source = side == "encoder"
        text = trace.text if source else page.say("begin mark, ", "句首标记，") + trace.translation
        self.tell(
            *(
                ("The sentence comes in.", "句子进来。")
                if source
                else ("The translation so far comes in,", "已写出的译文进来，")
            )
        )
        page.text(
            x + WIDE / 2,
            40,
            wrap_most(text, WIDE + 60, theme.SMALL, 2),
            size=theme.SMALL,
            ha="center",
            va="top",
            color=theme.role(side).ink,
        )
        self.up(x, 34, 30)
        self.tell("Each token becomes a vector,", "每个词元变成一个向量，")
        table = "source_embedding.table" if source else "target_embedding.table"
        name = (
            page.say("Input Embedding", "输入嵌入")
            if source
            else page.say("Output Embedding", "输出嵌入")
        )
        self.at = "embedding"
        same = not source and trace.settings.tie == "three-way"
        self.part(x, 0, 30, "embedded", name, 0 if same else count_parameters(trace, table))
        if same:
            page.text(
                x + WIDE + 26,
                -15,
                page.say("the same table", "同一张表"),
                size=theme.SMALL,
                color=theme.SOFT,
            )
        self.tell("and learns where it stands.", "并获知自己的位置。")
        middle = x + WIDE / 2
        self.up(x, -30, 14)
        page.box(
            middle - 9,
            -62,
            18,
            18,
            round=9,
            edge=theme.role("positions").ink,
            fill=theme.role("positions").fill,
            label="+",
            size=12,
        )
        away = middle - 60 if source else middle + 60
        page.text(
            away + (-34 if source else 34),
            -53,
            page.say("positions", "位置"),
            size=theme.SMALL,
            ha="center",
            color=theme.role("positions").ink,
        )
        page.arrow(
            (away, -53), (middle + (-11 if source else 11), -53), color=theme.role("positions").ink
        )
        return -62.0

    def residual(self, x: float, y: float, side: str, kind: str, window: str) -> tuple[float, Rect]:
        """Draw a sub-layer, its residual connection and its norm (before it, or after the sum).

        Return the upper end and the box of the sub-layer.
        """
        page, trace, self.at = self.page, self.trace, "norm"
        en, zh, role = PARTS[kind]
        self.tell(*TOLD[kind])
        start = y - 8
        norm = count_parameters(trace, f"{side}.0.{window}_residual.norm")
        self.up(x, y, 8 + GAP)
        y -= 8 + GAP
        if self.pre:
            y = self.part(x, y, THIN, "norm", "LayerNorm", norm).y
            self.up(x, y)
            y -= GAP
        self.at = "feed_forward" if kind == "feed_forward" else "attention"
        rect = self.part(
            x, y, TALL, role, page.say(en, zh), count_parameters(trace, f"{side}.0.{window}.")
        )
        self.at = "norm"
        self.up(x, rect.y)
        y = rect.y - GAP
        label = page.say("Add", "相加") if self.pre else page.say("Add & Norm", "相加并归一")
        added = self.part(x, y, THIN, "norm", label, 0 if self.pre else norm)
        outer = x - 14 if side == "encoder" else x + WIDE + 14
        edge = x if side == "encoder" else x + WIDE
        page.line(
            [
                (x + WIDE / 2, start),
                (outer, start),
                (outer, added.centre[1]),
                (edge, added.centre[1]),
            ],
            color=theme.role("residual").ink,
            dashed=True,
            head=True,
        )
        return added.y, rect

    def tower(self, x: float, side: str) -> tuple[float, dict[str, Rect]]:
        """Draw one layer marked "N times"; return its upper end and the boxes of its sub-layers."""
        y = self.ground(x, side)
        bottom, rects = y - 4, {}
        kinds = (
            [("self_attention", "self_attention")]
            if side == "encoder"
            else [("masked", "self_attention"), ("cross_attention",) * 2]
        )
        for kind, window in [*kinds, ("feed_forward", "feed_forward")]:
            y, rects[kind] = self.residual(x, y, side, kind, window)
        layers = getattr(self.trace.settings, f"{side}_layers")
        self.tell(f"That {layers} times over.", f"如此重复 {layers} 次。")
        ink = theme.role(side)
        frame = self.page.box(
            x - 22,
            y - 8,
            WIDE + 44,
            bottom - y + 8,
            fill=ink.fill,
            edge=ink.ink,
            round=10,
            line=1.4,
            layer=0,
        )
        self.page.text(
            frame.x + 10 if side == "encoder" else frame.right - 10,
            frame.y - 10,
            f"× {layers}",
            size=12,
            bold=True,
            color=ink.ink,
            ha="left" if side == "encoder" else "right",
        )
        return self.last_norm(x, y, side) if self.pre else y, rects

    def last_norm(self, x: float, y: float, side: str) -> float:
        """Draw the norm above the last layer, which only pre-norm models have; return its top."""
        self.tell("One more norm, above the last layer.", "最后一层之上再归一化一次。")
        self.at = "norm"
        self.up(x, y, 30)
        count = count_parameters(self.trace, f"{side}_norm.")
        return self.part(x, y - 30, THIN, "norm", "LayerNorm", count).y

    def top(self, x: float, y: float) -> None:
        """Draw the output: the linear map, the softmax and the next token."""
        page, trace, self.at = self.page, self.trace, "output"
        self.tell(
            "A linear map gives one number for each token of the vocabulary,",
            "线性映射给词表中每个词元一个数，",
        )
        self.up(x, y, 30)
        y = self.part(
            x,
            y - 30,
            26,
            "linear",
            page.say("Linear", "线性层"),
            0 if trace.settings.tie != "none" else count_parameters(trace, "output_table"),
        ).y
        if trace.settings.tie != "none":
            page.text(
                x + WIDE + 26,
                y + 13,
                page.say("shared with the embedding", "与嵌入共享"),
                size=theme.SMALL,
                color=theme.SOFT,
            )
        self.tell("the softmax makes probabilities of them,", "softmax 把它们变成概率，")
        self.up(x, y)
        y = self.part(x, y - GAP, 26, "softmax", "softmax").y
        self.tell("and the next token is chosen.", "由此选出下一个词元。")
        self.up(x, y, 18)
        page.text(
            x + WIDE / 2,
            y - 28,
            page.say("next token", "下一个词元"),
            ha="center",
            bold=True,
            color=theme.role("decoder").ink,
        )

    def draw(self) -> None:
        """Draw encoder and decoder, and the memory that goes from one to the other."""
        page = self.page
        right = WIDE + 110.0
        height, _ = self.tower(0, "encoder")
        roof, rects = self.tower(right, "decoder")
        self.tell(
            "The memory goes to each decoder layer, which makes keys and values of it.",
            "记忆送往解码器每一层，由其算出键和值。",
        )
        ink, goal = theme.role("memory").ink, rects["cross_attention"]
        points: list[Point] = [
            (WIDE / 2, height),
            (WIDE / 2, height - 24),
            (WIDE + 50, height - 24),
            (WIDE + 50, goal.centre[1]),
            (goal.x - 2, goal.centre[1]),
        ]
        page.line(points, color=ink, width=2.2, head=True, layer=6)
        page.text(
            WIDE / 2 + 8,
            height - 34,
            page.say("memory", "记忆"),
            size=theme.SMALL,
            color=ink,
            bold=True,
        )
        self.top(right, roof)

"""Figure 1 of the paper for the recorded model: at once (V07), or from the bottom up (V09)."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from .animate import Animation
from .architecture import Blueprint
from .canvas import Page

LIT = ("embedding", "attention", "feed_forward", "norm", "output")


def _describe(page: Page, trace: Any) -> str:
    """Return a note: sizes, the position of the norms, and the meaning of numbers and dashes."""
    s = trace.settings
    words = {
        "pre": ("before each sub-layer; the paper has it after", "在子层之前；论文在之后"),
        "post": ("after each sum, as in the paper", "在相加之后，与论文相同"),
    }
    norm = page.say(*words[s.norm])
    return page.say(
        f"d_model {s.d_model}, d_ff {s.d_ff}, {s.heads} heads. LayerNorm {norm}. Numbers at the "
        "side: learned parameters, of one layer; dashed: residual connections.",
        f"d_model {s.d_model}，d_ff {s.d_ff}，{s.heads} 个头。LayerNorm {norm}。"
        "旁边的数：一层中学到的参数个数；虚线：残差连接。",
    )


def draw_figure_1(trace: Any, *, lang: str = "en", lit: str = "") -> Figure:
    """Draw figure 1 of the paper with the sizes of this model (V07).

    lit: the part to highlight while the rest is pale, one of embedding, attention,
    feed_forward, norm, output.
    """
    if lit not in ("", *LIT):
        raise ValueError(f"lit={lit}: one of {', '.join(LIT)}")
    page = Page(lang)
    Blueprint(page, trace, told=False, lit=lit).draw()
    return page.finish(
        page.say("The Transformer: this model", "Transformer：这个模型"), _describe(page, trace)
    )


def draw_growing(trace: Any, *, lang: str = "en") -> Animation:
    """Draw the same figure as an animation, from the bottom up (V09)."""
    page = Page(lang)
    Blueprint(page, trace, told=True).draw()
    note = page.say(
        "The order of drawing is not that of computing: all tokens go up at once, and the encoder "
        "has finished before the decoder begins.",
        "绘制次序并非计算次序：所有词元同时向上，且编码器先于解码器完成。",
    )
    return page.animate(page.say("Drawing the Transformer", "画出 Transformer"), note)

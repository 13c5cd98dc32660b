"""The picture of one step of cross-attention (V77)."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from ..figure.choice import find_step
from . import theme
from .aligning import find_aligner
from .animate import Animation
from .canvas import Page
from .cells import strip
from .selection import Array, find_attention, keep_largest, show_token, tell_left_out

MOST = 36  # tokens of the source


def draw_cross_attention(
    trace: Any,
    *,
    lang: str = "en",
    ax: Axes | None = None,
    step: int | str | None = None,
    layer: int | None = None,
    head: int | None = None,
) -> Animation:
    """Draw cross-attention of one head at one step (V77).

    The query is the decoder's; keys and values are made of the memory.
    """
    page, (layer, head) = Page(lang, ax), find_aligner(trace, layer, head)
    attention = find_attention(trace, "decoder", layer, "cross_attention")
    name, count = attention.name, min(3, trace.settings.width)
    weights = trace[f"{name}.weights"][head]
    t = _find_clearest(weights) if step is None else find_step(trace, step)
    key, value = (trace[f"{name}.{w}"][head] for w in ("key", "value"))
    shown = keep_largest(weights[t], MOST)
    high = 20.0 if len(shown) <= 26 else 15.0
    size, middle = theme.SMALL if high > 16 else theme.TINY, len(shown) * high / 2
    page.step(
        f"The decoder, at “{attention.queries[t]}”, asks with a query.",
        f"解码器在“{attention.queries[t]}”处用查询提问。",
    )
    strip(
        page,
        -260,
        middle - 10,
        trace[f"{name}.query"][head, t],
        "query",
        (f"{name}.query", (head, t)),
        shown=count,
        letter="q",
    )
    page.text(-215, middle - 24, attention.queries[t], mono=True, bold=True, ha="center", width=190)
    page.step(
        "Every source token answers with a key and a value, both made of the memory.",
        "每个源词元以键和值回答，两者都由记忆生成。",
    )
    for place, i in enumerate(shown):
        y, text = place * high + 1, attention.keys[i]
        page.text(-8, y + high / 2 - 1, text, size=size, mono=True, ha="right", width=80)
        for x, vectors, window in ((0, key, "key"), (330, value, "value")):
            strip(
                page,
                x,
                y,
                vectors[i],
                window,
                (f"{name}.{window}", (head, i)),
                shown=count,
                cell=(27, high - 2),
                size=theme.TINY,
            )
    page.step(
        "The fit of query and key, after the softmax, is how much of each value is read.",
        "查询与键的契合度经 softmax 后，决定读取多少值。",
    )
    _draw_weights(page, trace, f"{name}.weights", (head, t), shown, high)
    for x, text, look in (
        (40, "k", "key"),
        (118, page.say("weight", "权重"), "weights"),
        (370, "v", "value"),
    ):
        page.text(
            x, -10, text, bold=True, color=theme.role(look).ink, ha="left" if x == 118 else "center"
        )
    page.step(
        "The values, each times its weight, add up to what this head read.",
        "各值乘以权重后相加，就是这个头读到的内容。",
    )
    page.line([(320, 2 * middle + 5), (450, 2 * middle + 5)], color=theme.INK)
    strip(
        page,
        330,
        2 * middle + 10,
        trace[f"{name}.context"][head, t],
        "heads",
        (f"{name}.context", (head, t)),
        shown=count,
        cell=(27, 18),
        size=theme.TINY,
        letter=page.say("z = Σ weight · v", "z = Σ 权重 · v"),
    )
    return page.animate(
        page.say(
            f"Writing “{show_token(trace.predicted[t].text)}”, the decoder looks at the source",
            f"写“{show_token(trace.predicted[t].text)}”时，解码器看向源句",
        ),
        page.say(
            f"{attention.title(lang).capitalize()}, head {head}.",
            f"{attention.title(lang)}，头 {head}。",
        )
        + page.say(
            f" Of each vector the first {count} numbers are shown.",
            f"每个向量只显示前 {count} 个数。",
        )
        + tell_left_out(page, len(shown), len(weights[t])),
    )


def _find_clearest(weights: Array) -> int:
    """Return the row with the largest weight on one token; the end mark does not count."""
    return int(weights[:, : max(1, weights.shape[1] - 1)].max(1).argmax())


def _draw_weights(
    page: Page, trace: Any, name: str, row: tuple[int, int], shown: list[int], high: float
) -> None:
    """Draw the weight of each source token as a bar."""
    size = theme.SMALL if high > 16 else theme.TINY
    role = theme.role("weights")
    for place, i in enumerate(shown):
        weight, y = float(trace[name][row][i]), (place + 0.5) * high
        page.box(
            118,
            y - high / 2 + 2,
            max(130 * weight, 0.4),
            high - 4,
            fill=role.fill,
            edge=role.ink,
            line=0.7,
            round=2,
        )
        page.number(
            124 + 130 * weight,
            y,
            weight,
            (name, (*row, i)),
            ha="left",
            size=size,
            bold=weight > 0.2,
            color=theme.INK if weight >= 0.005 else theme.SOFT,
        )

"""The picture of self-attention without positions, where order does not matter (V28)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from . import theme
from .canvas import Page
from .cells import heat, legend
from .reencode import read_again
from .selection import Array, show_tokens


def attend_first(trace: Any, x: Array) -> Array:
    """Return the first encoder layer's self-attention plus its residual connection, on `x`.

    In a post-norm model it is normalised.
    """
    window = "sum" if trace.settings.norm == "pre" else "normed"
    ids = [token.id for token in trace.source[: len(x)]]  # none of these is padding
    fetch = read_again(trace, ids, {"source_embedding.sum": x})
    return fetch(f"encoder.0.self_attention_residual.{window}")


def compare_orders(trace: Any, count: int) -> list[tuple[Array, Array]]:
    """Return the outputs for the first tokens in their order and in reverse, as two pairs.

    The first pair is without positions, the second with them. Both arrays of a pair have the
    tokens in the order of the sentence.
    """
    words, places = (
        np.asarray(trace[f"source_embedding.{name}"][:count], dtype=float)
        for name in ("embedded", "positions")
    )
    return [
        (attend_first(trace, words + extra), attend_first(trace, words[::-1] + extra)[::-1])
        for extra in (np.zeros_like(places), places)
    ]


def draw_permutation(trace: Any, *, lang: str = "en") -> Figure:
    """Draw self-attention on tokens in two orders, without and with positions (V28)."""
    page = Page(lang)
    count = min(6, len(trace.source) - 1)
    texts = show_tokens(trace.source)[:count]
    pairs = compare_orders(trace, count)
    limit = max(float(np.abs(one).max()) for one, _ in pairs)
    names = page.say("without positions", "不加位置"), page.say("with positions", "加上位置")
    for row, (pair, name) in enumerate(zip(pairs, names, strict=True)):
        page.text(0, row * (count * 18 + 92.0) - 34, name, bold=True, size=11)
        _draw_case(page, row * (count * 18 + 92.0), texts, pair, limit)
    legend(page, 80, 2 * (count * 18 + 92.0) - 50, "signed", limit)
    return page.finish(
        page.say("Without positions, order does not matter", "没有位置，就没有次序"),
        page.say(
            "This model's first self-attention, on the first tokens of the sentence and on the "
            "same backwards. Each row is one token, in the order of the sentence: what it "
            "receives depends on the order only through the positional encoding.",
            "用本模型的第一层自注意力，分别处理句首若干词元及其倒序。每行是同一个词元；"
            "只有位置编码才让次序起作用。",
        )
        + (page.say(" One token alone has no order.", "单独一个词元没有次序。") * (count == 1)),
    )


def _draw_case(
    page: Page, y: float, texts: list[str], pair: tuple[Array, Array], limit: float
) -> None:
    """Draw the two outputs of a pair side by side, and whether they are equal."""
    tall = len(texts) * 18.0
    for column, values in enumerate(pair):
        x, label = 80 + column * 370.0, " ".join(texts[:: -1 if column else 1])
        page.text(x, y - 14, label, mono=True, size=theme.SMALL, width=270)
        heat(page, x, y, values, 260, tall, limit=limit, derived=True)
        for row, text in enumerate(texts):
            middle = y + row * 18 + 9
            page.text(x - 5, middle, text, size=theme.TINY, mono=True, ha="right", width=70)
    apart = float(np.abs(pair[0] - pair[1]).max())
    same = apart < 1e-9 * max(1.0, limit)
    color = theme.role("embedded").ink if same else theme.role("softmax").ink
    page.text(360, y + tall / 2, "=" if same else "≠", size=20, ha="center", color=color, bold=True)
    before = page.say("largest difference of the same token: ", "同一词元的最大差异：")
    page.number(80, y + tall + 14, apart, "computed", ha="left", color=theme.SOFT, before=before)

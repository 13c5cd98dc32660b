"""Self-attention as vectors, in six steps (V30-V38)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import theme
from .animate import Animation
from .canvas import Page
from .key_table import Table
from .selection import choose_look

Query = int | str | None


def _draw_table(
    trace: Any, stage: int, title: tuple[str, str], lang: str, layer: int, head: int, query: Query
) -> Animation:  # fmt: skip
    """The table up to a stage: 0 scores, 1 scaled, 2 weights, 3 weighted values, 4 their sum."""
    page = Page(lang)
    look = choose_look(trace, layer, head, query, lang)
    table = Table(page, trace, look)
    table.draw_query()
    table.draw_keys()
    table.draw_scores(stage == 0)
    if stage >= 1:
        table.draw_scaled(stage == 1)
    if stage >= 2:
        table.draw_weights(stage == 2)
    if stage >= 3:
        if stage == 4:
            page.step("Each value counts by its share,", "每个值按份额计入，")
        table.draw_weighted(stage == 3)
    if stage == 4:
        table.draw_sum()
    if stage in (1, 2):
        _draw_worked_example(page, stage, table.x + 10)
    first = min(4, trace.settings.width)
    note = page.say(
        f"{look.title}. Vectors show the first {first} of their {trace.settings.width} numbers.",
        f"{look.title}。向量只画出 {trace.settings.width} 个数中的前 {first} 个。",
    )  # fmt: skip
    return page.animate(page.say(*title), note)


def _draw_worked_example(page: Page, stage: int, x: float) -> None:
    """The numbers that everybody knows, and what happens without the scale."""
    scores = np.array([112.0, 96.0])
    weights = np.exp(scores / 8 - 14) / np.exp(scores / 8 - 14).sum()
    steep = np.exp(scores - 112) / np.exp(scores - 112).sum()
    assert np.allclose(weights, [0.8808, 0.1192], atol=5e-5)  # E-SCORE
    assert steep[0] > 0.9999998 and abs(steep[1] / 1.125e-7 - 1) < 0.01  # E-SCALE
    page.step(
        "Without the scale, the softmax of a wide head is all or nothing: nothing left to learn "
        "from.",
        "若不缩放，宽头的 softmax 非此即彼：几乎没有梯度可学。",
    )  # fmt: skip
    page.box(x, -40, 196, 128, fill="#fafbfc", edge=theme.FAINT, dashed=True, layer=1)
    page.text(
        x + 12, -24, page.say("worked example, d_k = 64", "算例，d_k = 64"), size=theme.SMALL,
        color=theme.SOFT, bold=True,
    )  # fmt: skip
    heads = ("q · k", "÷ 8", "softmax", page.say("unscaled", "不缩放"))
    for column, (name, values, digits) in enumerate(
        zip(heads, (scores, scores / 8, weights, steep), (0, 0, 2, 7), strict=True)
    ):  # fmt: skip
        middle = x + 26 + column * 42 + (14 if column == 3 else 0)
        role = ("scores", "scores", "weights", "weights")[column]
        page.text(middle, -4, name, size=theme.TINY + 0.5, color=theme.role(role).ink, ha="center")
        for row, value in enumerate(values):
            page.number(
                middle, 18 + row * 22, float(value), "worked", digits=digits, bold=column == stage
            )  # fmt: skip
    page.text(
        x + 12, 68,
        page.say(
            "a softmax that saturates\nhas almost no gradient", "饱和的 softmax\n几乎没有梯度"
        ),
        size=theme.SMALL, color=theme.SOFT,
    )  # fmt: skip


def draw_step_2(
    trace: Any, *, lang: str = "en", layer: int = 0, head: int = 0, query: Query = None
) -> Animation:  # fmt: skip
    """A score for each key: the dot product with the query."""
    title = "Step 2: how well does each key fit the query?", "第二步：每个键与查询有多相合？"
    return _draw_table(trace, 0, title, lang, layer, head, query)


def draw_step_3(
    trace: Any, *, lang: str = "en", layer: int = 0, head: int = 0, query: Query = None
) -> Animation:  # fmt: skip
    """Divided by the square root of d_k."""
    title = "Step 3: divided by the square root of d_k", "第三步：除以 d_k 的平方根"
    return _draw_table(trace, 1, title, lang, layer, head, query)


def draw_step_4(
    trace: Any, *, lang: str = "en", layer: int = 0, head: int = 0, query: Query = None
) -> Animation:  # fmt: skip
    """The softmax: shares that sum to 1."""
    title = "Step 4: the softmax makes shares that sum to 1", "第四步：softmax 变成合计为 1 的份额"
    return _draw_table(trace, 2, title, lang, layer, head, query)


def draw_step_5(
    trace: Any, *, lang: str = "en", layer: int = 0, head: int = 0, query: Query = None
) -> Animation:  # fmt: skip
    """Each value times its share."""
    title = "Step 5: each value counts by its share", "第五步：每个值按份额计入"
    return _draw_table(trace, 3, title, lang, layer, head, query)


def draw_step_6(
    trace: Any, *, lang: str = "en", layer: int = 0, head: int = 0, query: Query = None
) -> Animation:  # fmt: skip
    """The sum: what the head has read."""
    title = "Step 6: the sum is what the head has read", "第六步：相加即这个头读到的内容"
    return _draw_table(trace, 4, title, lang, layer, head, query)

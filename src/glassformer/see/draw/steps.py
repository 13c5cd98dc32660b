"""Pictures of self-attention on vectors: steps two to six (V33-V37)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import theme
from .animate import Animation
from .canvas import Page
from .key_table import KeyTable
from .selection import choose_look

SCORES, SCALED, WEIGHTS, WEIGHTED, SUM = range(5)  # the last column that is drawn
TITLES = (
    ("Step 2: how well does each key fit the query?", "第二步：每个键与查询有多相合？"),
    ("Step 3: divided by the square root of d_k", "第三步：除以 d_k 的平方根"),
    ("Step 4: the softmax makes shares that sum to 1", "第四步：softmax 变成合计为 1 的份额"),
    ("Step 5: each value counts by its share", "第五步：每个值按份额计入"),
    ("Step 6: the sum is what the head has read", "第六步：相加即这个头读到的内容"),
)


def _make_step(stage: int) -> Callable[..., Animation]:
    """Return a function that draws the table up to one stage, which appears step by step."""

    def draw(
        trace: Any,
        *,
        lang: str = "en",
        layer: int = 0,
        head: int = 0,
        query: int | str | None = None,
    ) -> Animation:
        page, look = Page(lang), choose_look(trace, layer, head, query, lang)
        table = KeyTable(page, trace, look)
        table.draw_query()
        table.draw_keys()
        table.draw_scores(stage == SCORES)
        if stage >= SCALED:
            table.draw_scaled(stage == SCALED)
        if stage >= WEIGHTS:
            table.draw_weights(stage == WEIGHTS)
        if stage == SUM:
            page.step("Each value counts by its share,", "每个值按份额计入，")
        if stage >= WEIGHTED:
            table.draw_weighted(stage == WEIGHTED)
        if stage == SUM:
            table.draw_sum()
        if stage in (SCALED, WEIGHTS):
            _draw_worked_example(page, stage, table.x + 10)
        first, width = min(4, trace.settings.width), trace.settings.width
        note = page.say(
            f"{look.title}. Vectors show the first {first} of their {width} numbers.",
            f"{look.title}。向量只画出 {width} 个数中的前 {first} 个。",
        )
        return page.animate(page.say(*TITLES[stage]), note)

    return draw


draw_step_2, draw_step_3, draw_step_4, draw_step_5, draw_step_6 = map(_make_step, range(5))


def _draw_worked_example(page: Page, stage: int, x: float) -> None:
    """Draw the worked example for d_k = 64, and its softmax without the scale."""
    scores = np.array([112.0, 96.0])
    weights = np.exp(scores / 8 - 14) / np.exp(scores / 8 - 14).sum()
    steep = np.exp(scores - 112) / np.exp(scores - 112).sum()
    assert np.allclose(weights, [0.8808, 0.1192], atol=5e-5)  # E-SCORE
    assert steep[0] > 0.9999998 and abs(steep[1] / 1.125e-7 - 1) < 0.01  # E-SCALE
    page.step(
        "Without the scale, the softmax of a wide head is all or nothing: nothing left to learn "
        "from.",
        "若不缩放，宽头的 softmax 非此即彼：几乎没有梯度可学。",
    )
    page.box(x, -40, 196, 128, fill="#fafbfc", edge=theme.FAINT, dashed=True, layer=1)
    page.text(
        x + 12,
        -24,
        page.say("worked example, d_k = 64", "算例，d_k = 64"),
        size=theme.SMALL,
        color=theme.SOFT,
        bold=True,
    )
    heads = ("q · k", "÷ 8", "softmax", page.say("unscaled", "不缩放"))
    for column, (name, values, digits) in enumerate(
        zip(heads, (scores, scores / 8, weights, steep), (0, 0, 2, 7), strict=True)
    ):
        middle = x + 26 + column * 42 + (14 if column == 3 else 0)
        role = ("scores", "scores", "weights", "weights")[column]
        page.text(middle, -4, name, size=theme.TINY + 0.5, color=theme.role(role).ink, ha="center")
        for row, value in enumerate(values):
            page.number(
                middle, 18 + row * 22, float(value), "worked", digits=digits, bold=column == stage
            )
    page.text(
        x + 12,
        68,
        page.say(
            "a softmax that saturates\nhas almost no gradient", "饱和的 softmax\n几乎没有梯度"
        ),
        size=theme.SMALL,
        color=theme.SOFT,
    )

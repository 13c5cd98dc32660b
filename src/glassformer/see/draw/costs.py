"""What attention costs (V73)."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .canvas import Page, Rect
from .cells import heat
from .charts import Chart

LEAST, MOST, SPELL = 5, 50, 40  # calls, calls, milliseconds


def count_products(length: int, settings: Any) -> dict[str, float]:
    """Multiplications of one encoder layer, in millions."""
    width = settings.heads * settings.width
    parts = {
        "attention": 2 * length**2 * width,
        "projections": 4 * length * settings.d_model * width,
        "feed-forward": 2 * length * settings.d_model * settings.d_ff,
    }
    return {name: count / 1e6 for name, count in parts.items()}


def time_products(length: int, settings: Any) -> dict[str, float]:
    """Milliseconds of the same, by NumPy on this machine, now."""
    rng = np.random.default_rng(0)

    def make(*shape: int) -> Any:
        return rng.standard_normal(shape, np.float32)

    width, heads = settings.width, settings.heads
    x, inner = make(length, settings.d_model), make(length, settings.d_ff)
    query, project = make(heads, length, width), make(settings.d_model, heads * width)
    up = make(settings.d_model, settings.d_ff)

    def attend() -> Any:
        scores = np.exp(query @ query.transpose(0, 2, 1) / 100)
        return scores / scores.sum(-1, keepdims=True) @ query

    parts: dict[str, Callable[[], Any]] = {
        "attention": attend,
        "projections": lambda: [x @ project for _ in range(4)],
        "feed-forward": lambda: (x @ up, inner @ up.T),
    }
    return {name: time_call(part) for name, part in parts.items()}


def time_call(part: Callable[[], Any]) -> float:
    """The fastest of several calls: beside other programs, few of them meet none."""
    taken: list[float] = []
    while len(taken) < LEAST or (sum(taken) < SPELL and len(taken) < MOST):
        begun = perf_counter()
        part()
        taken.append((perf_counter() - begun) * 1e3)
    return min(taken)


def draw_cost(
    trace: Any, *, lang: str = "en", ax: Axes | None = None, longest: int = 768
) -> Figure:
    """V73: the square grows with the sentence; counted, and timed while it is drawn."""
    page, settings = Page(lang, ax), trace.settings
    for scale in (4, 2, 1):
        length, side = len(trace.source) * scale, 55.0 * scale
        page.box(
            0,
            220 - side,
            side,
            side,
            fill=theme.role("weights").fill,
            round=0,
            edge=theme.role("weights").ink,
        )
        if scale > 1:
            page.text(
                side - 5,
                220 - side + 10,
                f"{length} × {length}",
                size=theme.SMALL,
                ha="right",
                color=theme.role("weights").ink,
            )
        else:
            heat(
                page,
                0,
                220 - side,
                trace["encoder.0.self_attention.weights"][0],
                side,
                side,
                role="weights",
                scale="share",
                limit=1,
            )
    page.text(
        0,
        234,
        page.say(f"{length} × {length}: this sentence", f"{length} × {length}：本句"),
        size=theme.SMALL,
        color=theme.SOFT,
    )
    lengths = np.unique(np.linspace(1, longest, 60).astype(int)).tolist()
    _plot(
        page,
        (276, 0),
        lengths,
        [count_products(n, settings) for n in lengths],
        page.say(
            "counted: million multiplications in one encoder layer",
            "计数：编码器一层的乘法次数（百万）",
        ),
    )
    points = np.unique(np.linspace(1, longest, 7).astype(int)).tolist()
    _plot(
        page,
        (690, 0),
        points,
        [time_products(n, settings) for n in points],
        page.say("timed: milliseconds on the machine that drew this", "计时：绘图机器上的毫秒数"),
        dots=True,
    )
    even = 2 * settings.d_model + settings.d_ff * settings.d_model / (
        settings.heads * settings.width
    )
    return page.finish(
        page.say("Twice the pieces, four times the square", "词元加倍，方阵四倍"),
        page.say(
            "Counted for this model's sizes: attention grows with L², all else with L. They meet "
            f"at {even:.0f} pieces. Timed in NumPy, one sentence at a time: the softmax, which a "
            "count of multiplications leaves out, makes attention cost more, and sooner.",
            f"按该模型尺寸计数：注意力随 L² 增长，其余随 L 增长，在 {even:.0f} 个词元处相等。"
            "用 NumPy 逐句计时：乘法计数未计入的 softmax 使注意力更早、更贵。",
        ),
    )


def _plot(
    page: Page,
    corner: tuple[float, float],
    lengths: list[int],
    costs: list[dict[str, float]],
    title: str,
    dots: bool = False,
) -> None:
    longest, top = lengths[-1], max(max(cost.values()) for cost in costs)
    chart = Chart(
        page,
        Rect(*corner, 300, 220),
        (0, longest),
        (0, top * 1.02),
        across=page.say("pieces", "词元数"),
        up=title,
    )
    names = {
        "attention": ("attention", "注意力", "weights"),
        "projections": ("projections", "投影", "query"),
        "feed-forward": ("feed-forward", "前馈", "feed_forward"),
    }
    last = -1e9
    for name in sorted(names, key=lambda name: -costs[-1][name]):
        en, zh, role = names[name]
        ink = theme.role(role).ink
        chart.curve(lengths, [cost[name] for cost in costs], ink, width=2)
        for length, cost in zip(lengths, costs, strict=True) if dots else ():
            x, height = chart.at(length, cost[name])
            page.box(x - 2.5, height - 2.5, 5, 5, fill=ink, edge=None, round=2.5, layer=4)
        place = chart.at(longest, costs[-1][name])
        last = max(place[1], last + 12)
        page.text(place[0] + 6, last, page.say(en, zh), size=theme.SMALL, color=ink, bold=True)

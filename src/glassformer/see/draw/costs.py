"""The picture of the cost of attention beside the rest of a layer, counted and timed (V73)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .canvas import Page, Rect
from .cells import heat
from .charts import Chart, spell_rounded

TIMED = Path(__file__).with_name("costs.json")  # written by benchmarks/attention_cost.py


def count_products(length: int, settings: Any) -> dict[str, float]:
    """Return the multiplications of each part of one encoder layer, in millions."""
    width = settings.heads * settings.width
    parts = {
        "attention": 2 * length**2 * width,
        "projections": 4 * length * settings.d_model * width,
        "feed-forward": 2 * length * settings.d_model * settings.d_ff,
    }
    return {name: count / 1e6 for name, count in parts.items()}


def find_even(settings: Any) -> int:
    """Return the length at which attention multiplies as often as the rest of the layer."""
    counts = count_products(1, settings)
    return round((counts["projections"] + counts["feed-forward"]) / counts["attention"])


def read_timed(settings: Any) -> tuple[str, dict[str, list[float]]] | None:
    """Return the machine and the timings of a layer of these sizes; None if none was timed.

    The timings are lists: lengths in tokens, milliseconds of attention and of the rest.
    """
    found = json.loads(TIMED.read_text(encoding="utf-8"))
    for layer in found["layers"]:
        if all(
            layer[name] == getattr(settings, name) for name in ("d_model", "d_ff", "heads", "width")
        ):
            return found["machine"], layer
    return None


def draw_cost(
    trace: Any, *, lang: str = "en", ax: Axes | None = None, longest: int | None = None
) -> Figure:
    """Draw the cost of attention against that of the rest of the layer, by length (V73).

    It is counted, and also timed if a layer of these sizes was timed. longest: the end of the x
    axis, by default twice the length at which both counts are equal.
    """
    page, settings = Page(lang, ax), trace.settings
    _draw_squares(page, trace)
    even = find_even(settings)
    lengths = np.unique(np.linspace(1, longest or 2 * even, 60).astype(int)).tolist()
    counts = [count_products(n, settings) for n in lengths]
    rest = [each["projections"] + each["feed-forward"] for each in counts]
    _plot(
        page,
        276,
        (lengths, [each["attention"] for each in counts], rest),
        page.say(
            "counted: million multiplications in one encoder layer",
            "计数：编码器一层的乘法次数（百万）",
        ),
        even,
    )
    timed = read_timed(settings)
    if timed:
        machine, told = timed
        _plot(
            page,
            730,
            (told["lengths"], told["attention"], told["rest"]),
            page.say("timed: milliseconds of such a layer", "计时：这样一层的毫秒数"),
            _find_crossing(told),
            dots=True,
        )
    return page.finish(
        page.say("Twice the tokens, four times the square", "词元加倍，方阵四倍"),
        page.say(
            "Counted for this model's sizes: attention grows with L², projections and feed-forward "
            f"with L. They are equal at {even} tokens.",
            f"按该模型尺寸计数：注意力随 L² 增长，投影与前馈随 L 增长，在 {even} 个词元处相等。",
        )
        + (_tell_timed(page, machine) if timed else ""),
    )


def _tell_timed(page: Page, machine: str) -> str:
    """Return how the times were taken, and why they differ from the counts."""
    return page.say(
        f" Timed in NumPy, one sentence at a time, on one core ({machine}): the softmax, which a "
        "count of multiplications leaves out, makes attention cost more, and sooner.",
        f"用 NumPy 逐句计时，单核（{machine}）：乘法计数未计入的 softmax 使注意力更早、更贵。",
    )


def _find_crossing(told: dict[str, list[float]]) -> float | None:
    """Return the length from which attention takes longer than the rest; None if there is none.

    The times are interpolated linearly between the lengths that were timed.
    """
    ahead = np.subtract(told["attention"], told["rest"])
    after = int(np.argmax(ahead > 0))
    if not after:
        return None
    share = -ahead[after - 1] / (ahead[after] - ahead[after - 1])
    lengths = told["lengths"]
    return float(lengths[after - 1] + share * (lengths[after] - lengths[after - 1]))


def _draw_squares(page: Page, trace: Any) -> None:
    """Draw the weights of this sentence, and their size at two and four times its length."""
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


def _plot(
    page: Page,
    left: float,
    curves: tuple[Sequence[float], Sequence[float], Sequence[float]],
    title: str,
    even: float | None,
    dots: bool = False,
) -> None:
    """Draw the cost of attention and of the rest by length, with a dot where they are equal."""
    lengths, attention, rest = curves
    chart = Chart(
        page,
        Rect(left, 0, 300, 220),
        (0, lengths[-1]),
        (0, max(*attention, *rest) * 1.02),
        across=page.say("tokens", "词元数"),
        up=title,
    )
    names = (
        (attention, page.say("attention", "注意力"), "weights"),
        (rest, page.say("projections +\nfeed-forward", "投影 + 前馈"), "feed_forward"),
    )
    last = -1e9
    for values, name, role in sorted(names, key=lambda each: -each[0][-1]):
        ink = theme.role(role).ink
        chart.curve(lengths, values, ink, width=2, dots=dots)
        x, y = chart.at(lengths[-1], values[-1])
        last = max(y, last + 22)
        page.text(x + 6, last, name, size=theme.SMALL, color=ink, bold=True)
    if even is not None and even <= lengths[-1]:
        x, y = chart.at(even, float(np.interp(even, lengths, rest)))
        page.box(x - 4, y - 4, 8, 8, round=4, fill=theme.INK, edge=theme.PAPER, layer=5)
        page.line([(x, y + 4), (x, 220)], color=theme.SOFT, width=0.8, dashed=True)
        label = spell_rounded(even, 3)
        page.text(x - 6, y - 10, label, size=theme.SMALL, bold=True, ha="right", gid="measured")

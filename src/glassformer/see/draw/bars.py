"""The weights of one query as bars, with the weights left out and the sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import theme
from .canvas import Page

LONGEST = 150.0


def draw_weights(
    page: Page,
    x: float,
    y: float,
    trace: Any,
    name: str,
    place: tuple[int, int],
    texts: Sequence[str],
    shown: Sequence[int],
    step: float,
) -> float:
    """Draw weights as bars, with names right-aligned at x; return the y of their sum.

    name: the tensor of the weights; place: head and query.
    """
    head, row = place
    weights = trace[name][head, row]
    unit = LONGEST / float(weights.max())
    for i in shown:
        weight = float(weights[i])
        page.text(x, y, texts[i], mono=True, ha="right", width=84, bold=i == row)
        page.box(
            x + 8,
            y - 6,
            max(unit * weight, 0.5),
            12,
            round=0,
            fill=theme.role("weights").ink,
            edge=None,
        )
        page.number(x + 14 + unit * weight, y, weight, (name, (head, row, i)), ha="left", digits=3)
        y += step
    rest = [i for i in range(len(weights)) if i not in shown]
    if rest:
        others = page.say(f"{len(rest)} others", f"其余 {len(rest)} 个")
        page.text(x, y, others, size=theme.SMALL, color=theme.SOFT, ha="right")
        of = f"derived:trace['{name}'][{head},{row},{rest}].sum()"
        page.number(x + 14, y, float(weights[rest].sum()), of, ha="left", digits=3)
        y += step
    of = f"derived:trace['{name}'][{head},{row}].sum()"
    page.number(x + 14, y, float(weights.sum()), of, ha="left", digits=3, before="Σ ", bold=True)
    return y

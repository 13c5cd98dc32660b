"""The figure of why vectors are normalised: a sketch, and what is measured (V67)."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from . import grammar as g
from . import style
from .measures import deviation
from .selection import count_layers, find_unnormed

RADIUS, RINGS, STEPS = 56.0, 4, 12
MOST = 40  # tokens measured


class Valley(g.Node):
    """A sketch of the loss over two weights, `ratio` times as steep one way, and a descent."""

    def __init__(self, ratio: float):
        self.ratio, self.width, self.height = ratio, 2 * RADIUS + 8, 2 * RADIUS / ratio + 8

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        a, b = x + self.width / 2, y + self.height / 2
        for n in range(1, RINGS + 1):
            r, turns = RADIUS * n / RINGS, [2 * pi * k / 72 for k in range(73)]
            ring = tuple((a + r * cos(t), b + r * sin(t) / self.ratio) for t in turns)
            sheet.line(*ring, ink=style.FAINT, line=1.0)
        path = tuple((a + RADIUS * u, b + RADIUS * v) for u, v in descend(self.ratio))
        sheet.line(*path, ink=style.LIT, line=1.8, layer=3)


def descend(ratio: float) -> list[g.Point]:
    """Return the path of gradient descent on (u² + (ratio v)²) / 2.

    If `ratio` is above 1, the learning rate is the largest that does not diverge, or nearly.
    """
    rate, place = (1.85 / ratio**2, (0.9, 0.25)) if ratio > 1 else (0.35, (0.7, 0.5))
    path = [place]
    for _ in range(STEPS):
        u, v = path[-1]
        path.append((u - rate * u, v - rate * ratio**2 * v))
    return path


@g.figure("why_norm")
def draw_why_norm(plan: g.Outline, *, side: str = "encoder") -> g.Scene:
    """Show a loss with and without a valley, and the deviation of vectors around a norm (V67)."""
    layers, d = count_layers(plan.trace, side), plan.settings.d_model
    sketches = [
        g.Down(plan.small(key), Valley(ratio).named(key), gap=6)
        for key, ratio in (("without", 3.2), ("with", 1.0))
    ]
    spreads = {}
    for key in ("before", "after"):
        tensors = [
            find_unnormed(plan.trace, side, n, "self_attention")
            if key == "before"
            else f"{side}.{n}.self_attention_residual.normed"
            for n in range(layers)
        ]
        found = [plan.of(deviation(f"{name}[q,d]", d)).values[:MOST] for name in tensors]
        spreads[key] = np.stack(found)
    curves = []
    for key, role, shift in (("before", "residual", -0.1), ("after", "norm", 0.1)):
        values, xs = spreads[key], [n + shift for n in range(layers)]
        curves += [g.Curve(xs, column.tolist(), role, 0.0, dots=True) for column in values.T]
        middle = np.median(values, axis=1).tolist()
        curves.append(g.Curve(xs, middle, role, 1.6, plan.say(key), name=key))
    top = 1.05 * max(float(values.max()) for values in spreads.values())
    look = {"x": (-0.4, layers - 0.6), "y": (0.0, top), "x_ticks": range(layers)}
    plot = plan.plot(curves, "layer", "sigma", width=270, beside=84, **look)
    low, high = (float(np.median(spreads["before"][n])) for n in (0, -1))
    key = "title" if high > 1.5 * low else "title_even"
    return plan.compose(
        g.Across(g.Down(*sketches, gap=18), plot, gap=84),
        title=key,
        callouts=[g.Callout("without", "astray", "right", 70)],
        one=f"{low:.1f}",
        two=f"{high:.1f}",
        side=plan.say(side),
    )

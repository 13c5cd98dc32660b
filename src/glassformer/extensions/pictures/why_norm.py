"""The figures of why vectors are normalised: how large they are, and what that costs (V67)."""

from __future__ import annotations

from math import cos, pi, sin

import numpy as np

from .measures import deviation
from .parts import grammar as g
from .parts import style
from .parts.selection import count_layers, find_unnormed

MOST = 40  # tokens measured
GROWN = 1.5  # times as large: a growth that is worth a title
START = 0.8, 0.6  # where a descent begins
ARRIVED = 0.01  # of the distance at the start: a descent ends
RADIUS, RINGS = 105.0, 4


@g.figure("why_norm")
def draw_why_norm(plan: g.Outline, *, side: str = "encoder", subject: str = "vectors") -> g.Scene:
    """Show the deviation of each token's vector before and after a norm, by layer (V67).

    subject: vectors, or loss for a descent on the contours that such vectors make.
    """
    spreads = measure_spreads(plan, side)
    if subject == "loss":
        return draw_valleys(plan.trace, spreads=spreads["before"], lang=plan.lang)
    layers = len(spreads["before"])
    curves = []
    for key, role, shift in (("before", "residual", -0.1), ("after", "norm", 0.1)):
        values, xs = spreads[key], [n + shift for n in range(layers)]
        curves += [g.Curve(xs, column.tolist(), role, 0.0, dots=True) for column in values.T]
        middle = np.median(values, axis=1).tolist()
        curves.append(g.Curve(xs, middle, role, 2.0, plan.say(key), name=key))
    top = 1.05 * max(float(values.max()) for values in spreads.values())
    plot = plan.plot(
        curves,
        "layer",
        "sigma",
        width=420,
        height=230,
        beside=110,
        x=(-0.4, layers - 0.6),
        y=(0.0, top),
        x_ticks=range(layers),
    )
    low, high = (float(np.median(spreads["before"][n])) for n in (0, -1))
    level = np.median(spreads["after"], axis=1)
    key = "title" if high > GROWN * low and level.max() < GROWN * level.min() else "title_even"
    most, least = (float(pick(spreads["before"][-1])) for pick in (np.max, np.min))
    return plan.compose(
        plot,
        title=key,
        callouts=[g.Callout("after", "level", "above", 150)] if key == "title" else [],
        one=g.spell(low, 1),
        two=g.spell(high, 1),
        times=g.spell(high / low, 1),
        most=g.spell(most, 1),
        least=g.spell(least, 1),
        low=g.spell(float(level.min()), 1),
        high=g.spell(float(level.max()), 1),
        side=plan.say(side),
    )


def measure_spreads(plan: g.Outline, side: str) -> dict[str, g.Array]:
    """Return the deviations of vectors, layer by token, before and after the first norm."""
    layers, d = count_layers(plan.trace, side), plan.settings.d_model
    tensors = {
        "before": [find_unnormed(plan.trace, side, n, "self_attention") for n in range(layers)],
        "after": [f"{side}.{n}.self_attention_residual.normed" for n in range(layers)],
    }
    return {
        key: np.stack([plan.of(deviation(f"{name}[q,d]", d)).values[:MOST] for name in names])
        for key, names in tensors.items()
    }


class Valley(g.Node):
    """Contours of a loss over two weights, `ratio` times as narrow one way, and a descent."""

    def __init__(self, ratio: float):
        self.ratio, self.path = ratio, descend(ratio)
        self.width, self.height = 2 * RADIUS + 8, 2 * RADIUS / ratio + 8

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        a, b = x + self.width / 2, y + self.height / 2
        for n in range(1, RINGS + 1):
            r, turns = RADIUS * n / RINGS, [2 * pi * k / 72 for k in range(73)]
            ring = tuple((a + r * cos(t), b + r * sin(t) / self.ratio) for t in turns)
            sheet.line(*ring, ink=style.FAINT, line=1.0)
        path = tuple((a + RADIUS * u, b + RADIUS * v / self.ratio) for u, v in self.path)
        sheet.line(*path, ink=style.LIT, line=1.4, layer=3)


def descend(ratio: float) -> list[g.Point]:
    """Return the way of gradient descent on (u² + (ratio v)²) / 2, to near its minimum at 0.

    The rate is the best constant one, 2 / (1 + ratio²). A place is (u, ratio v), so that the start
    lies on the same contour whatever the ratio.
    """
    rate = 2 / (1 + ratio**2)
    path = [START]
    while np.hypot(*path[-1]) > ARRIVED * np.hypot(*START):
        u, v = path[-1]
        path.append((u - rate * u, v - rate * ratio**2 * v))
    return path


@g.figure("valleys")
def draw_valleys(plan: g.Outline, *, spreads: g.Array) -> g.Scene:
    """Show a descent where inputs are as unlike in size as the layers' vectors, or alike."""
    medians = np.median(spreads, axis=1)
    ratio = float(medians.max() / medians.min())
    valleys = {"unlike": Valley(ratio), "alike": Valley(1.0)}
    steps = {key: len(valley.path) - 1 for key, valley in valleys.items()}
    columns = [
        g.Down(g.small(plan.say(key, n=steps[key])), valley.named(key), gap=10)
        for key, valley in valleys.items()
    ]
    return plan.compose(
        g.Across(*columns, gap=70),
        title="title" if steps["unlike"] > 2 * steps["alike"] else "title_even",
        callouts=[],
        ratio=g.spell(ratio, 1),
        many=steps["unlike"],
        few=steps["alike"],
    )

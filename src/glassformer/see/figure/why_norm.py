"""The figure of why vectors are normalised: how large they are before and after a norm (V67)."""

from __future__ import annotations

import numpy as np

from . import grammar as g
from .measures import deviation
from .selection import count_layers, find_unnormed

MOST = 40  # tokens measured
GROWN = 1.5  # times as large: a growth that is worth a title


@g.figure("why_norm")
def draw_why_norm(plan: g.Outline, *, side: str = "encoder") -> g.Scene:
    """Show the deviation of each token's vector before and after a norm, by layer (V67)."""
    layers, d = count_layers(plan.trace, side), plan.settings.d_model
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
        curves.append(g.Curve(xs, middle, role, 2.0, plan.say(key), name=key))
    top = 1.05 * max(float(values.max()) for values in spreads.values())
    look = {"x": (-0.4, layers - 0.6), "y": (0.0, top), "x_ticks": range(layers)}
    plot = plan.plot(curves, "layer", "sigma", width=420, height=230, beside=110, **look)
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

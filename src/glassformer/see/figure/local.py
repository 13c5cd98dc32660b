"""The figure of what local attention costs, beside full attention, as it was measured (V114)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from . import grammar as g
from . import style

MEASURED = Path(__file__).with_name("local_attention.json")  # the table of docs/attention.md
INKS = {"full": "weights", "local": "model"}


@g.figure("local_attention")
def draw_local_cost(plan: g.Outline) -> g.Scene:
    """Show time and memory of full and local attention by length, and where they cross (V114)."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    lengths, plots, meets = measured["lengths"], list[g.Node](), {}
    for what in ("milliseconds", "mebibytes"):
        full, local = (measured[what][name] for name in INKS)
        at, height = meets[what] = find_meeting(lengths, full, local)
        curves = [
            g.Curve(lengths, values, style.role(ink).ink, 2.2, plan.say(name), dots=True)
            for (name, ink), values in zip(INKS.items(), (full, local), strict=True)
        ]
        dot = g.Curve([at], [height], style.INK, 0.0, dots=True, name=f"{what} even")
        ticks = [10.0**n for n in range(-1, 4)]
        plot = g.Plot(
            [*curves, replace(dot, of=f"{at:.9f}")],
            width=210,
            height=190,
            x=(lengths[0], lengths[-1]),
            y=(ticks[0], 2 * ticks[-1]),
            across=plan.say("length"),
            up=plan.say(what),
            x_ticks=lengths[::2],
            y_ticks=ticks,
            log=True,
            log_x=True,
            beside=60,
        )
        plots.append(plot)
    times = measured["milliseconds"]["full"][-1] / measured["milliseconds"]["local"][-1]
    return plan.compose(
        g.Across(*plots, gap=style.APART, align="top"),
        callouts=[g.Callout("milliseconds even", "even", "below", 90)],
        origin="measured",
        n=f"{meets['milliseconds'][0]:.0f}",
        most=g.spell(lengths[-1], 0),
        times=f"{times:.0f}",
        width=measured["width"],
    )


def find_meeting(lengths: list[int], one: list[float], two: list[float]) -> tuple[float, float]:
    """Return the length at which two costs become equal for the last time, and that cost.

    Between two lengths that were measured, costs are lines on logarithmic scales.
    """
    apart = np.log(one) - np.log(two)
    before = int(np.flatnonzero(apart <= 0)[-1])
    share = float(-apart[before] / (apart[before + 1] - apart[before]))

    def between(values: list[float]) -> float:
        first, last = np.log(values[before : before + 2])
        return float(np.exp(first + share * (last - first)))

    return between(list(map(float, lengths))), between(two)

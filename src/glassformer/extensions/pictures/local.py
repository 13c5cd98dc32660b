"""The figure of what local attention costs, beside full attention, as it was measured (V114)."""

from __future__ import annotations

import json
from pathlib import Path

from .parts import grammar as g
from .parts import style

MEASURED = Path(__file__).with_name("local_attention.json")  # the table of docs/attention.md
INKS = {"full": "weights", "local": "model"}


@g.figure("local_attention")
def draw_local_cost(plan: g.Outline) -> g.Scene:
    """Show time and memory of full and local attention by length, and where they cross (V114)."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    lengths, plots = measured["lengths"], list[g.Node]()
    for what in ("milliseconds", "mebibytes"):
        full, local = (measured[what][name] for name in INKS)
        curves = [
            g.Curve(lengths[: len(values)], values, ink, 2.2, plan.say(name), dots=True)
            for (name, ink), values in zip(INKS.items(), (full, local), strict=True)
        ]
        ticks = [10.0**n for n in range(-1, 5)]
        plots.append(
            plan.plot(
                curves,
                "length",
                what,
                width=210,
                beside=60,
                x=(lengths[0], lengths[-1]),
                y=(ticks[0], ticks[-1]),
                x_ticks=lengths[::2],
                y_ticks=ticks,
                log=True,
                log_x=True,
            )
        )
    full, local = (measured["milliseconds"][name] for name in INKS)
    last = len(full) - 1  # the longest of full attention
    before, after = find_meeting(lengths, full, local)
    held = [g.spell(measured["mebibytes"][name][last], 0) for name in INKS]
    return plan.compose(
        g.Across(*plots, gap=style.APART, align="top"),
        origin="measured",
        before=before,
        after=after,
        most=g.spell(lengths[last], 0),
        held=held[0],
        little=held[1],
        width=measured["width"],
    )


def find_meeting(lengths: list[int], one: list[float], two: list[float]) -> tuple[int, int]:
    """Return the two lengths measured between which the first cost begins to stay the higher."""
    lower = [n for n, (a, b) in enumerate(zip(one, two, strict=False)) if a <= b]
    return lengths[lower[-1]], lengths[lower[-1] + 1]

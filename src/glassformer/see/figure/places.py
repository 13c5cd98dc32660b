"""Figures of the positional encoding: added to words, and its two layouts (V19-V22)."""

from __future__ import annotations

import numpy as np

from . import style
from .grids import Tall
from .links import Callout
from .nodes import Across, Chip, Down, Held, Label, Node, Panel, Spacer, Strip
from .plan import Outline, figure
from .scene import Scene
from .selection import show_tokens
from .waves import encode_waves

WIDE = 560.0


@figure("sum")
def draw_sum(plan: Outline) -> Scene:
    """Show word plus position, for three tokens on their way into layer 0 (V19)."""
    texts, columns = show_tokens(plan.trace.source), []
    count = min(3, len(texts))
    for i in range(count):
        strips: list[Node] = []
        for window, role, sign in (
            ("sum", "sum", "="),
            ("positions", "positions", "+"),
            ("embedded", "embedded", ""),
        ):
            strip = Strip(plan.of(f"source_embedding.{window}[{i},d]"), role, cell=(36.0, 22.0))
            mark = Held(Label(sign, style.HEADING, style.SOFT), 12)
            strips.append(Across(mark, strip, gap=4))
        chip = Held(Chip(texts[i], lit=True), strips[0].width)
        told = Held(Label(plan.say("position", n=i), style.SMALL, style.SOFT), strips[0].width)
        columns.append(Down(strips[0], strips[1], strips[2], chip, told, gap=10))
    names = [
        Label(plan.say(key), style.SMALL, style.role(role).ink, bold=True, width=80, align="end")
        for key, role in (("both", "sum"), ("where", "positions"), ("what", "embedded"))
    ]
    left = Down(*(Tall(name, 22.0) for name in names), gap=10, align="end")
    body = Across(left, *columns, gap=18, align="top")
    words = plan.of("source_embedding.embedded[q,d]").values
    places = plan.of("source_embedding.positions[q,d]").values
    loud = float(np.linalg.norm(places, axis=1).mean() / np.linalg.norm(words, axis=1).mean())
    return plan.compose(
        body,
        title=plan.say("title"),
        note=plan.say("note", d=plan.trace.settings.d_model, share=f"{loud:.1f}"),
    )


@figure("four")
def draw_four_wide(plan: Outline) -> Scene:
    """Show three positions of width 4, in the paper's layout and in Tensor2Tensor's (V20)."""
    tables: list[Node] = []
    for layout, waves in (("interleaved", "sin cos sin cos"), ("concatenated", "sin sin cos cos")):
        values = plan.give(layout, encode_waves([0, 1, 2], 4, layout))
        panel = Panel(
            values, width=240, height=102, scale="wave", limit=1.0, digits=4, size=style.BODY
        )
        heads = [Held(Label(name, style.SMALL, style.SOFT), 60) for name in waves.split()]
        rows = Down(*(Tall(Label(str(n), style.SMALL, style.SOFT), 34) for n in range(3)), gap=0)
        name = Label(plan.say(layout), style.BODY, bold=True)
        grid = Down(Across(*heads, gap=0), panel.named(layout), gap=4)
        body = Across(Down(Spacer(8, 18), rows, gap=0), grid, gap=6, align="top")
        tables.append(Down(name, body, gap=8, align="middle"))
    return plan.compose(
        Across(*tables, gap=style.FAR, align="top"),
        origin=plan.say("formulas"),
        title=plan.say("title"),
        note=plan.say("note"),
        callouts=[Callout("concatenated", plan.say("slow"), "below", 200)],
    )


@figure("concatenated")
def draw_concatenated(plan: Outline, *, positions: int = 20, d_model: int = 512) -> Scene:
    """Show Tensor2Tensor's layout: all sines, then all cosines, with the seam between (V21)."""
    values = plan.give("waves", encode_waves(range(positions), d_model, "concatenated"))
    panel = Panel(values, width=WIDE, height=220, scale="wave", limit=1.0).named("table")
    heads = [Held(Label(name, style.BODY, bold=True), WIDE / 2) for name in ("sin", "cos")]
    seam = Spacer(0, 0).named("seam")
    body = Down(Across(*heads, gap=0), panel, Held(seam, WIDE), gap=4)
    return plan.compose(
        body,
        origin=plan.say("formulas"),
        title=plan.say("title"),
        note=plan.say("note", n=positions, d=d_model),
        callouts=[Callout("seam", plan.say("seam"), "below", 200)],
    )


@figure("interleaved")
def draw_interleaved(plan: Outline) -> Scene:
    """Show the paper's layout, and its sines and cosines taken apart (V22)."""
    values = plan.give("waves", encode_waves(range(20), 64, "interleaved"))
    whole = Panel(values, width=WIDE, height=150, scale="wave", limit=1.0).named("whole")
    halves: list[Node] = []
    for n, name in enumerate(("sin", "cos")):
        part = plan.give(name, encode_waves(range(20), 512, "interleaved")[:, n::2])
        panel = Panel(part, width=(WIDE - 20) / 2, height=110, scale="wave", limit=1.0).named(name)
        told = Label(plan.say(name), style.SMALL, style.SOFT)
        halves.append(Down(panel, told, gap=4, align="middle"))
    body = Down(
        Label(plan.say("turns"), style.SMALL, style.SOFT),
        whole,
        Across(*halves, gap=20, align="top"),
        gap=18,
        align="middle",
    )
    origin, note = plan.say("formulas"), plan.say("note")
    return plan.compose(body, title=plan.say("title"), note=note, origin=origin)

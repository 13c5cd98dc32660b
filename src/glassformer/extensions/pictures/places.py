"""Figures of the positional encoding: added to words, and its two layouts (V19-V22)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .measures import length
from .parts import grammar as g
from .parts import style
from .waves import encode_waves

WIDE = 560.0


@g.figure("sum")
def draw_sum(plan: g.Outline) -> g.Scene:
    """Show word plus position, for three tokens on their way into layer 0 (V19)."""
    shown = range(min(3, len(plan.source)))
    rows: list[list[g.Part]] = [
        [None, None, *(g.small(plan.say("position", n=i)) for i in shown), plan.small("long")],
        [None, None, *(g.Chip(plan.source[i], lit=True) for i in shown)],
    ]
    for window, role, key, sign in (
        ("embedded", "embedded", "what", ""),
        ("positions", "positions", "where", "+"),
        ("sum", "sum", "both", "="),
    ):
        vectors = (f"source_embedding.{window}[{i},d]" for i in shown)
        cells = [plan.strip(each, role, shown=3, digits=3, cell=(38.0, 22.0)) for each in vectors]
        name = plan.small(key, role, bold=True, width=80, align="end")
        longest = length(f"source_embedding.{window}[q,d]")
        mean = g.Numeral(plan.of(f"(sum[q] {longest}) / {len(plan.source)}"), style.BODY, role)
        rows.append([name, g.Label(sign, style.HEADING, style.SOFT), *cells, mean])
    body = g.Columns(rows, gap=(style.NEAR, 10), align="rml")
    words = plan.of("source_embedding.embedded[q,d]").values
    places = plan.of("source_embedding.positions[q,d]").values
    loud = float(np.linalg.norm(places, axis=1).mean() / np.linalg.norm(words, axis=1).mean())
    return plan.compose(body, d=plan.settings.d_model, share=f"{loud:.1f}")


@g.figure("four")
def draw_four_wide(plan: g.Outline) -> g.Scene:
    """Show three positions of width 4, in the paper's layout and in Tensor2Tensor's (V20)."""
    tables: list[g.Node] = []
    for layout, waves in (("interleaved", "sin cos sin cos"), ("concatenated", "sin sin cos cos")):
        values = plan.give(layout, encode_waves([0, 1, 2], 4, layout))
        panel = g.Panel(
            values, width=240, height=102, scale="wave", limit=1.0, digits=4, size=style.BODY
        )
        heads = [g.Slot(g.small(name), 60) for name in waves.split()]
        rows = g.Down(*(g.Slot(g.small(str(n)), 0, height=34) for n in range(3)), gap=0)
        name = plan.label(layout, bold=True)
        grid = g.Down(g.Across(*heads, gap=0), panel.named(layout), gap=4)
        body = g.Across(g.Down(g.Spacer(8, 18), rows, gap=0), grid, gap=6, align="top")
        tables.append(g.middle(name, body, gap=8))
    return plan.compose(
        g.Across(*tables, gap=style.FAR, align="top"),
        origin="formulas",
        callouts=[g.Callout("concatenated[2,1]", "slow", "below", 200)],
    )


def _mark(panel: g.Panel, columns: Sequence[int]) -> g.Node:
    """Return a table of positions with the numbers of some rows, and of columns evenly apart."""
    numbers = (g.tiny(str(n)) if n % 5 == 0 else None for n in range(len(panel.values)))
    rows = g.Down(*(g.Slot(each, 0, height=panel.cell[1]) for each in numbers), gap=0)
    wide = panel.width / len(columns)
    ticks = g.Across(*(g.Slot(g.tiny(str(n)), wide, "start") for n in columns), gap=0)
    return g.Across(rows, g.Down(panel, ticks, gap=2), gap=5, align="top")


@g.figure("concatenated")
def draw_concatenated(plan: g.Outline, *, positions: int = 20, d_model: int = 512) -> g.Scene:
    """Show Tensor2Tensor's layout: all sines, then all cosines, with the seam between (V21)."""
    values = plan.give("waves", encode_waves(range(positions), d_model, "concatenated"))
    panel = g.Panel(values, width=WIDE, height=220, scale="wave", limit=1.0).named("table")
    heads = [g.Slot(g.Label(name, bold=True), WIDE / 2) for name in ("sin", "cos")]
    table = _mark(panel, range(0, d_model, d_model // 8))
    body = g.Down(g.Across(*heads, gap=0), table, gap=4, align="end")
    return plan.compose(
        body,
        origin="formulas",
        callouts=[g.Callout(f"table[0,{d_model // 2}]", "seam", "above", 200)],
        n=positions,
        d=d_model,
    )


@g.figure("interleaved")
def draw_interleaved(plan: g.Outline) -> g.Scene:
    """Show the paper's layout, and its sines and cosines taken apart (V22)."""
    values = plan.give("waves", encode_waves(range(20), 64, "interleaved"))
    whole = g.Panel(values, width=WIDE, height=150, scale="wave", limit=1.0).named("whole")
    halves: list[g.Node] = []
    for n, name in enumerate(("sin", "cos")):
        part = plan.give(name, encode_waves(range(20), 512, "interleaved")[:, n::2])
        panel = g.Panel(part, width=(WIDE - 20) / 2, height=110, scale="wave", limit=1.0)
        halves.append(g.middle(_mark(panel, range(n, 512, 128)), plan.small(name), gap=4))
    marked = _mark(whole, range(0, 64, 8))
    body = g.middle(plan.small("turns"), marked, g.Across(*halves, gap=20, align="top"), gap=18)
    return plan.compose(body, origin="formulas")

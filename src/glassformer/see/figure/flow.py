"""Figures of what flows through layers, as numbers and as shapes (V30, V31, V70)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from . import grammar as g
from . import style
from .selection import find_input, find_output, pick

CELL, MOST = (32.0, 20.0), 380.0  # of a number; the widest panel
COLUMN = 4 * CELL[0] + 24


@g.figure("flow")
def draw_flow(plan: g.Outline, *, tokens: int = 3, layer: int = 0) -> g.Scene:
    """Show tokens on their ways through one encoder layer, which meet in self-attention (V30).

    With two tokens, up to the next layer (V31).
    """
    trace = plan.trace
    layer = pick(layer, trace.settings.encoder_layers, "layer")
    count, name = min(tokens, len(trace.source)), f"encoder.{layer}"
    stages = (
        ("x", "sum", find_input(trace, "encoder", layer, "self_attention")),
        ("z", "heads", f"{name}.self_attention.output"),
        ("r", "residual", find_output(trace, "encoder", layer)),
    )
    shown, links = range(count), list[g.Link]()

    def spread(nodes: Iterable[g.Node]) -> g.Node:
        return g.Across(*(g.Held(node, COLUMN + 24) for node in nodes), gap=0)

    def vector(letter: str, role: str, tensor: str, i: int) -> g.Node:
        strip = plan.strip(f"{tensor}[{i},d]", role, cell=CELL)
        name = g.Label(f"${letter}_{{{i}}}$", ink=role)
        held = g.Held(
            name, strip.width - strip.body - 4, "end"
        )  # so that the cells are in the middle
        return g.Across(held, strip, gap=4).named(f"{letter} {i}")

    x, z, r = (spread(vector(*stage, i) for i in shown) for stage in stages)
    look: dict[str, Any] = {"text": plan.say("feed_forward"), "role": "feed_forward", "width": 130}
    feeds = spread(g.Component(**look).named(f"f {i}") for i in shown)
    chips = spread(g.Chip(plan.source[i], lit=True).named(f"t {i}") for i in shown)
    attention = g.Component(plan.say("self_attention"), "attention", width=x.width)
    layered = g.middle(r, feeds, z, attention.named("attention"), x, gap=24)
    for i in shown:
        way = (f"t {i}", f"x {i}", "attention", f"z {i}", f"f {i}", f"r {i}")
        links += [g.Link(a, b) for a, b in pairwise(way)]
    body: g.Node = g.middle(layered, chips, gap=18)
    if tokens == 2:
        encoder = style.role("encoder")
        frame = g.Card(layered, fill=style.PAPER, edge=encoder.ink, round=12, pad=16)
        following = layer + 1 < trace.settings.encoder_layers
        above = plan.say("next", n=layer + 1) if following else plan.say("end")
        box = g.Component(above, "encoder", width=frame.width, height=30).named("next")
        body = g.middle(box, frame, chips, gap=22)
        links += [g.Link(f"r {i}", "next") for i in range(count)]
    pre = trace.settings.norm == "pre"
    callouts = [
        g.Callout("attention", "meet", "right", 100),
        g.Callout(f"f {count - 1}", "alone", "right", 100),
    ]
    return plan.compose(
        body,
        left=(count, len(trace.source)),
        title="title" if count > 2 else "title_two",
        note="note_pre" if pre else "note",
        links=links,
        callouts=callouts,
        layer=layer,
    )


@g.figure("shapes")
def draw_layer_shapes(plan: g.Outline) -> g.Scene:
    """Show the shape at each place of an encoder layer: as it goes in, it comes out (V70)."""
    settings, n = plan.settings, len(plan.trace.source)
    d, heads, wide = settings.d_model, settings.heads, settings.d_ff
    unit, high = min(MOST / max(d, wide), 2.0), min(48.0, max(14.0, 3.5 * n))  # of a number
    name = "encoder.0"
    stages = (
        ("in", "sum", f"{find_input(plan.trace, 'encoder', 0, 'self_attention')}[q,d]"),
        ("self_attention", "attention", f"{name}.self_attention.weights"),
        ("after", "heads", f"{name}.self_attention.output[q,d]"),
        ("feed_forward", "feed_forward", f"{name}.feed_forward.hidden[q,f]"),
        ("out", "residual", f"{find_output(plan.trace, 'encoder', 0)}[q,d]"),
    )
    rows: list[list[g.Node]] = []
    for key, role, tensor in reversed(stages):
        if key == "self_attention":
            shape, each = f"{heads} × {n} × {n}", {"width": high, "height": high, "edge": role}
            squares = (
                plan.panel(f"{tensor}[{h},q,m]", scale="share", **each)
                for h in range(min(heads, 8))
            )
            shown: g.Node = g.Across(*squares, gap=3)
        else:
            values = plan.of(tensor)
            shape = " × ".join(map(str, values.shape))
            shown = g.Panel(values, width=values.shape[1] * unit, height=high, edge=role)
        told = g.Down(plan.label(key, ink=role, bold=True), g.small(shape), gap=0, align="end")
        rows.append([told, shown.named(key)])
    links = [g.Link(a[0], b[0], line=1.8) for a, b in pairwise(stages)]
    callouts = [
        g.Callout("self_attention", plan.say("grows", n=n), "right", 130),
        g.Callout("feed_forward", plan.say("widens", n=f"{wide / d:g}"), "right", 110),
    ]
    return plan.compose(
        g.Columns(rows, gap=(24, 26), align="rm"), links=links, callouts=callouts, n=n, d=d, h=heads
    )

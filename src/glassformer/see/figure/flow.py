"""Figures of what flows through layers, as numbers and as shapes (V30, V31, V70)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

from . import grammar as g
from . import style
from .selection import find_input, find_output, pick

CELL = (32.0, 20.0)
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
        strip = plan.strip(f"{tensor}[{i},d]", role, cell=CELL).named(f"{letter} {i}")
        return g.Across(g.Label(f"${letter}_{{{i}}}$", ink=role), strip, gap=5)

    x, z, r = (spread(vector(*stage, i) for i in shown) for stage in stages)
    look: dict[str, Any] = {"text": plan.say("feed_forward"), "role": "feed_forward", "width": 130}
    feeds = spread(g.Component(**look).named(f"f {i}") for i in shown)
    chips = spread(g.Chip(plan.source[i], lit=True).named(f"t {i}") for i in shown)
    attention = g.Component(plan.say("self_attention"), "attention", width=x.width - 20)
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
    stages = (
        ("in", "sum", f"{n} × {d}", 130.0),
        ("self_attention", "attention", f"{heads} × {n} × {n}", 210.0),
        ("after", "heads", f"{n} × {d}", 130.0),
        ("feed_forward", "feed_forward", f"{n} × {wide}", 300.0),
        ("out", "residual", f"{n} × {d}", 130.0),
    )
    rows: list[list[g.Node]] = []
    for key, role, shape, width in reversed(stages):
        look = style.role(role)
        box = g.Component(shape, role, width=width, height=32).named(key)
        rows.append([plan.label(key, ink=look.ink, bold=True), box])
    links = [g.Link(a[0], b[0], line=1.8) for a, b in pairwise(stages)]
    callouts = [
        g.Callout("self_attention", plan.say("grows", n=n), "right", 130),
        g.Callout("feed_forward", plan.say("widens", n=f"{wide / d:g}"), "right", 110),
    ]
    return plan.compose(
        g.Columns(rows, gap=(24, 26), align="rm"), links=links, callouts=callouts, n=n, d=d, h=heads
    )

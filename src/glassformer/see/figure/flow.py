"""Figures of what flows through layers, as numbers and as shapes (V30, V31, V70)."""

from __future__ import annotations

from itertools import pairwise

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
    rows: dict[str, g.Node] = {}
    links = []
    for letter, role, tensor in stages:
        vectors = []
        for i in range(count):
            strip = plan.strip(f"{tensor}[{i},d]", role, cell=CELL).named(f"{letter} {i}")
            head = g.Label(f"${letter}_{{{i}}}$", ink=role)
            vectors.append(g.Held(g.Across(head, strip, gap=5), COLUMN + 24))
        rows[letter] = g.Across(*vectors, gap=0)
    wide = rows["x"].width - 20
    attention = g.Component(plan.say("self_attention"), "attention", width=wide).named("attention")
    feeds = [
        g.Held(
            g.Component(plan.say("feed_forward"), "feed_forward", width=130).named(f"f {i}"),
            COLUMN + 24,
        )
        for i in range(count)
    ]
    texts = plan.source
    chips = [g.Held(g.Chip(texts[i], lit=True).named(f"t {i}"), COLUMN + 24) for i in range(count)]
    layered = g.middle(rows["r"], g.Across(*feeds, gap=0), rows["z"], attention, rows["x"], gap=24)
    for i in range(count):
        way = (f"t {i}", f"x {i}", "attention", f"z {i}", f"f {i}", f"r {i}")
        links += [g.Link(a, b) for a, b in pairwise(way)]
    body: g.Node = g.middle(layered, g.Across(*chips, gap=0), gap=18)
    if tokens == 2:
        encoder = style.role("encoder")
        frame = g.Card(layered, fill=style.PAPER, edge=encoder.ink, round=12, pad=16)
        following = layer + 1 < trace.settings.encoder_layers
        above = plan.say("next", n=layer + 1) if following else plan.say("end")
        box = g.Component(above, "encoder", width=frame.width, height=30).named("next")
        body = g.middle(box, frame, g.Across(*chips, gap=0), gap=22)
        links += [g.Link(f"r {i}", "next") for i in range(count)]
    pre = trace.settings.norm == "pre"
    callouts = [
        g.Callout("attention", plan.say("meet"), "right", 100),
        g.Callout(f"f {count - 1}", plan.say("alone"), "right", 100),
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

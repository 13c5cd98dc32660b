"""Figures of what flows through layers, as numbers and as shapes (V30, V31, V70)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise

from .parts import grammar as g
from .parts import style
from .parts.selection import find_input, find_output, find_stream, pick

CELL, MOST = (36.0, 21.0), 380.0  # of a number; the widest panel
NUMBERS, LANE = 3, 176.0  # of a vector that are drawn; the width of a token's way


class TokenRows:
    """Rows of parts, one part for each of the first tokens, all in the middle of its lane."""

    def __init__(self, plan: g.Outline, count: int):
        self.plan, self.count = plan, count

    def each(self, make: Callable[[int], g.Node]) -> g.Node:
        return g.Across(*(g.Slot(make(i), LANE) for i in range(self.count)), gap=0)

    def vectors(self, letter: str, role: str, tensor: str) -> g.Node:
        """Return the first numbers of a vector of each token, with its name."""

        def draw(i: int) -> g.Node:
            strip = self.plan.strip(f"{tensor}[{i},d]", role, cell=CELL, shown=NUMBERS)
            name = g.Label(f"${letter}_{{{i}}}$", ink=role)
            held = g.Slot(name, strip.width - strip.body - 4, "end")  # the cells in the middle
            return g.Across(held, strip, gap=4).named(f"{letter} {i}")

        return self.each(draw)

    def boxes(self, name: str, text: str, role: str) -> g.Node:
        """Return a part of the network for each token, as wide as the cells of a vector."""
        show = partial(g.Component, text, role, width=NUMBERS * CELL[0])
        if role != "feed_forward":
            show = partial(show, height=18, size=style.SMALL, strong=False)
        return self.each(lambda i: show().named(f"{name} {i}"))


def _join_stages(count: int, pre: bool) -> list[g.Link]:
    """Return the arrows of each token through the layer, and its two residual connections."""
    way = ("t", "x", *(["norm1"] * pre), "attention", "z", "add1", *(["norm2"] * pre))
    links = list[g.Link]()
    for i in range(count):
        names = [n if n == "attention" else f"{n} {i}" for n in (*way, "f", "add2", "r")]
        links += [g.Link(a, b, gap=2) for a, b in pairwise(names)]
        for n in (1, 2):
            sides: tuple[g.Side, g.Side] = ("right", "right")
            past = f"fork{n} {i}", f"add{n} {i}"
            links.append(
                g.Link(*past, "around", style.SOFT, 1.2, dashed=True, sides=sides, gap=1, layer=1)
            )
    return links


@g.figure("flow")
def draw_flow(plan: g.Outline, *, tokens: int = 3, layer: int = 0) -> g.Scene:
    """Show tokens on their ways through one encoder layer, which meet in self-attention (V30).

    With two tokens, up to the next layer (V31).
    """
    trace, pre = plan.trace, plan.settings.norm == "pre"
    layer = pick(layer, trace.settings.encoder_layers, "layer")
    count, name = min(tokens, len(trace.source)), f"encoder.{layer}"
    lanes = TokenRows(plan, count)
    norm, add = plan.say("layer_norm"), plan.say("add" if pre else "add_norm")
    wide = LANE * count - 8
    forks = [lanes.each(lambda i, n=n: g.Spacer().named(f"fork{n} {i}")) for n in (1, 2)]  # type: ignore[misc]
    x = lanes.vectors("x", "sum", find_stream(trace, "encoder", layer, "self_attention"))
    stages = (
        lanes.vectors("r", "residual", find_output(trace, "encoder", layer)),
        lanes.boxes("add2", add, "residual"),
        lanes.boxes("f", plan.say("feed_forward"), "feed_forward"),
        lanes.boxes("norm2", norm, "norm") if pre else None,
        g.Down(forks[1], lanes.boxes("add1", add, "residual"), gap=7),
        lanes.vectors("z", "heads", f"{name}.self_attention.output"),
        g.Component(plan.say("self_attention"), "attention", width=wide).named("attention"),
        lanes.boxes("norm1", norm, "norm") if pre else None,
        g.Down(forks[0], x, gap=7),
    )
    layered = g.middle(*(each for each in stages if each), gap=14)
    chips = lanes.each(lambda i: g.Chip(plan.source[i], lit=True).named(f"t {i}"))
    body, links = g.middle(layered, chips, gap=16), _join_stages(count, pre)
    if tokens == 2:
        frame = g.Card(layered, fill=style.PAPER, edge="encoder", round=12, pad=16)
        end = f"{f'{norm}, ' * pre}{plan.say('end')}"
        above = plan.say("next", n=layer + 1) if layer + 1 < trace.settings.encoder_layers else end
        box = g.Component(above, "encoder", width=frame.width, height=30).named("next")
        body = g.middle(box, frame, chips, gap=20)
        links += [g.Link(f"r {i}", "next") for i in range(count)]
    at, key = ("attention", "meet") if count > 2 else (f"f {count - 1}", "alone")
    return plan.compose(
        body,
        left=(count, len(trace.source)),
        title="title" if count > 2 else "title_two",
        links=links,
        callouts=[g.Callout(at, key, "right", 100)],
        layer=layer,
        shown=NUMBERS,
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
            shape = f"{heads} × {n} × {n}"
            show = partial(plan.panel, width=high, height=high, edge=role, scale="share")
            squares = (show(f"{tensor}[{h},q,m]") for h in range(min(heads, 8)))
            shown: g.Node = g.Across(*squares, gap=3)
        else:
            values = plan.of(tensor)
            shape = " × ".join(map(str, values.shape))
            shown = g.Panel(values, width=values.shape[1] * unit, height=high, edge=role)
        text = g.Down(plan.label(key, ink=role, bold=True), g.small(shape), gap=0, align="end")
        rows.append([text, shown.named(key)])
    links = [g.Link(a[0], b[0], line=1.8) for a, b in pairwise(stages)]
    callouts = [
        g.Callout("self_attention", plan.say("grows", n=n), "right", 130),
        g.Callout("feed_forward", plan.say("widens", n=f"{wide / d:g}"), "right", 110),
    ]
    return plan.compose(
        g.Columns(rows, gap=(24, 26), align="rm"), links=links, callouts=callouts, n=n, d=d, h=heads
    )

"""Figures of one layer: what stands in it, in the order in which a vector passes (V05, V06)."""

from __future__ import annotations

from itertools import pairwise

from .parts import grammar as g
from .parts import style
from .parts.selection import count_layers

SUBLAYERS = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}


@g.figure("layer")
def draw_layers(plan: g.Outline, *, sides: str = "encoder decoder") -> g.Scene:
    """Show an encoder layer (V05), or it beside a decoder layer (V06)."""
    shown = sides.split()
    cards, links = [], []
    for side in shown:
        card, own = _draw_layer(plan, side)
        cards.append(card)
        links += own
    callouts = [g.Callout("encoder self_attention", "meet", "right", 120)]
    if "decoder" in shown:
        ends = "encoder out", "decoder cross_attention"
        links.append(g.Link(*ends, "elbow", "memory", 2, sides=("right", "left"), lane=0.86))
        callouts = [g.Callout("decoder cross_attention", "looks", "right", 120)]
    else:
        callouts.append(g.Callout("encoder feed_forward", "alone", "right", 120))
    settings = plan.settings
    sizes = {"h": settings.heads, "k": settings.width, "d": settings.d_model, "f": settings.d_ff}
    return plan.compose(
        g.Across(*cards, gap=100, align="bottom"),
        title="title_both" if "decoder" in shown else "title",
        note=plan.say("note", **sizes),
        links=links,
        callouts=callouts,
    )


def _draw_layer(plan: g.Outline, side: str) -> tuple[g.Node, list[g.Link]]:
    """Return a layer, its sub-layers from the bottom up, and the arrows through it."""
    parts, names = [], SUBLAYERS[side]
    for name in names:
        role = "feed_forward" if name == "feed_forward" else "attention"
        key = "masked" if (side, name) == ("decoder", "self_attention") else name
        part = g.Component(plan.say(key), role, width=150, height=36)
        parts.append(part.named(f"{side} {name}"))
    layer = g.Card(g.Down(*reversed(parts), gap=26), edge=side, fill=style.PAPER, pad=22, round=12)
    heading = plan.label(side, style.HEADING, side, bold=True)
    times = g.small(plan.say("times", n=count_layers(plan.trace, side)), side)
    goes_in = plan.small(f"{side}_in").named(f"{side} in")
    comes_out = plan.small(f"{side}_out").named(f"{side} out")
    body = g.middle(g.middle(heading, times, gap=0), comes_out, layer, goes_in, gap=20)
    way = [f"{side} in", *(f"{side} {name}" for name in names), f"{side} out"]
    return body, [g.Link(a, b, line=1.6) for a, b in pairwise(way)]

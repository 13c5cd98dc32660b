"""Figures of one layer: what stands in it, in the order in which a vector passes (V05, V06)."""

from __future__ import annotations

from itertools import pairwise

from . import style
from .links import Callout, Link
from .nodes import Across, Card, Component, Down, Label, Node
from .plan import Outline, figure
from .scene import Scene

SUBLAYERS = {
    "encoder": ("self_attention", "feed_forward"),
    "decoder": ("self_attention", "cross_attention", "feed_forward"),
}


@figure("layer")
def draw_layers(plan: Outline, *, sides: str = "encoder decoder") -> Scene:
    """Show an encoder layer (V05), or it beside a decoder layer (V06)."""
    shown = sides.split()
    cards, links = [], []
    for side in shown:
        card, own = _draw_layer(plan, side)
        cards.append(card)
        links += own
    callouts = [Callout("encoder self_attention", plan.say("meet"), "right", 120)]
    if "decoder" in shown:
        memory = Link(
            "encoder out",
            "decoder cross_attention",
            "elbow",
            ink=style.role("memory").ink,
            line=2,
            sides=("right", "left"),
            lane=0.86,
        )
        links.append(memory)
        callouts = [Callout("decoder cross_attention", plan.say("looks"), "right", 120)]
    else:
        callouts.append(Callout("encoder feed_forward", plan.say("alone"), "right", 120))
    settings = plan.trace.settings
    sizes = {"h": settings.heads, "k": settings.width, "d": settings.d_model, "f": settings.d_ff}
    return plan.compose(
        Across(*cards, gap=100, align="bottom"),
        title=plan.say("title_both" if "decoder" in shown else "title"),
        note=plan.say("note", **sizes),
        links=links,
        callouts=callouts,
    )


def _draw_layer(plan: Outline, side: str) -> tuple[Node, list[Link]]:
    """Return a layer, its sub-layers from the bottom up, and the arrows through it."""
    parts, names = [], SUBLAYERS[side]
    for name in names:
        role = "feed_forward" if name == "feed_forward" else "attention"
        part = Component(plan.say(name), role, width=150, height=36)
        parts.append(part.named(f"{side} {name}"))
    ink = style.role(side).ink
    layer = Card(Down(*reversed(parts), gap=26), edge=ink, fill=style.PAPER, pad=22, round=12)
    settings = plan.trace.settings
    count = settings.encoder_layers if side == "encoder" else settings.decoder_layers
    heading = Label(plan.say(side), style.HEADING, ink, bold=True)
    times = Label(plan.say("times", n=count), style.SMALL, ink)
    goes_in = Label(plan.say(f"{side}_in"), style.SMALL, style.SOFT).named(f"{side} in")
    comes_out = Label(plan.say(f"{side}_out"), style.SMALL, style.SOFT).named(f"{side} out")
    body = Down(
        Down(heading, times, gap=0, align="middle"),
        comes_out,
        layer,
        goes_in,
        gap=20,
        align="middle",
    )
    way = [f"{side} in", *(f"{side} {name}" for name in names), f"{side} out"]
    return body, [Link(a, b, line=1.6) for a, b in pairwise(way)]

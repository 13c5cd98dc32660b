"""Figure 1 of the paper for the recorded model: as a plan (V07), and with vectors (V08)."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from . import grammar as g
from . import style
from .measures import cosine, length
from .selection import show_token
from .typesetting import quote

WIDE = 176.0
PARTS = ("embedding", "attention", "feed_forward", "norm", "output")
SUBLAYERS = {  # the window of each sub-layer, and the name that figure 1 gives it
    "encoder": {"self_attention": "self_attention", "feed_forward": "feed_forward"},
    "decoder": {
        "self_attention": "masked",
        "cross_attention": "cross_attention",
        "feed_forward": "feed_forward",
    },
}
TIED = {"three-way": ("target_embedding.table", "output_table"), "two-way": ("output_table",)}


def count_parameters(trace: Any, *parts: str) -> int:
    """Return the number of learned parameters in whose names any of the parts occurs."""
    return sum(v.size for k, v in trace.parameters.items() if any(part in k for part in parts))


def count_all(trace: Any) -> tuple[int, int]:
    """Return the number of all parameters, and that of the names that a table has more than one."""
    shared = TIED.get(trace.settings.tie, ())  # one table by several names counts once
    doubled = count_parameters(trace, *(f"{name}.weight" for name in shared))
    return count_parameters(trace, "") - doubled, doubled


class Tower:
    """One side of the network, from the bottom up.

    vectors: how many layers are drawn one by one, with a vector at each arrow; 0 draws one layer
    for all. lit: the part that is not pale.
    """

    def __init__(self, plan: g.Outline, side: str, vectors: int = 0, lit: str = ""):
        self.plan, self.side, self.vectors, self.lit = plan, side, vectors, lit
        self.pre = plan.settings.norm == "pre"
        self.links: list[g.Link] = []
        self.gap = 9.0 if vectors else 13.0
        self.below = ""  # the name of what an arrow leaves next
        self.crosses: list[str] = []  # the cross-attentions

    def add(self, node: g.Node, name: str, part: str = "", join: bool = True) -> g.Node:
        """Return a node with its name, and an arrow to it from what is below."""
        name = f"{self.side} {name}"
        if self.below and join:
            self.links.append(g.Link(self.below, name, line=1.5, gap=1))
        self.below = name
        if self.lit and part != self.lit:
            node.faded(0.3)
        return node.named(name)

    def box(self, name: str, text: str, role: str, part: str, count: int = 0) -> g.Node:
        """Return a part of the network, with its number of parameters."""
        strong = role not in ("norm",)
        under: list[g.Node] = []
        if count and not self.vectors:
            number = self.plan.give(f"parameters_{self.side}_{name}".replace(" ", "_"), count)
            under = [g.Numeral(number, style.TINY, style.SOFT, digits=0)]
        height = 30.0 if strong else 19.0
        size = style.BODY if strong else style.SMALL
        look: dict[str, Any] = {"height": height, "size": size, "strong": strong, "under": under}
        return self.add(g.Component(text, role, width=WIDE, **look), name, part)

    def vector(self, tensor: str, name: str, role: str) -> list[g.Node]:
        """Return the vector of the first token at a place, as colours, and its length."""
        if not self.vectors:
            return []
        cell = f"{tensor}[0,d]"
        long = self.plan.number(length(cell), style.TINY, style.SOFT)
        panel = self.plan.panel(cell, width=112, height=10)
        strip = g.Across(g.Spacer(long.width, 1), self.add(panel, name), long, gap=6)
        return [strip]

    def sublayer(self, layer: int, window: str, kind: str) -> list[g.Node]:
        """Return a sub-layer with its residual connection and its norm, from the bottom up."""
        plan, trace, name = self.plan, self.plan.trace, f"{layer} {window}"
        residual = f"{self.side}.{layer}.{window}_residual"
        norm = count_parameters(trace, f"{residual}.norm")
        fork = g.Spacer(0, 4).named(f"{self.side} {name} fork")
        nodes: list[g.Node] = [fork]
        if self.pre:
            nodes.append(self.box(f"{name} norm", "LayerNorm", "norm", "norm", norm))
        part = "feed_forward" if window == "feed_forward" else "attention"
        count = count_parameters(trace, f"{self.side}.{layer}.{window}.")
        nodes.append(self.box(name, plan.say(kind), part, part, count))
        if window == "cross_attention":
            self.crosses.append(self.below)
        key = "add" if self.pre else "add_norm"
        nodes.append(
            self.box(f"{name} add", plan.say(key), "norm", "norm", 0 if self.pre else norm)
        )
        edge: g.Side = "left" if self.side == "encoder" else "right"
        ends = f"{self.side} {name} fork", f"{self.side} {name} add"
        look: dict[str, Any] = {"ink": "residual", "dashed": True, "gap": 0}
        self.links.append(g.Link(*ends, "around", sides=(edge, edge), **look))
        window = "sum" if self.pre else "normed"
        return [*nodes, *self.vector(f"{residual}.{window}", f"{name} out", "residual")]

    def stack(self) -> list[g.Node]:
        """Return the layers, each in a frame, from the bottom up."""
        plan, settings = self.plan, self.plan.trace.settings
        total = getattr(settings, f"{self.side}_layers")
        frames: list[g.Node] = []
        for layer in range(min(self.vectors, total) or 1):
            nodes: list[g.Node] = []
            for window, kind in SUBLAYERS[self.side].items():
                nodes += self.sublayer(layer, window, kind)
            told = plan.say("layer", n=layer) if self.vectors else f"× {total}"
            name = g.Label(told, style.HEADING, self.side, bold=True)
            column, fill = g.middle(*reversed(nodes), gap=self.gap), style.role(self.side).fill
            card = g.Card(column, fill=fill, edge=self.side, pad=12, round=10)
            frames.append(g.Down(name, card, gap=2, align="start"))
        left = total - self.vectors
        if self.vectors and left > 0:
            more = g.small(plan.say("more", n=left))
            frames.append(self.add(more, "more"))
        return frames

    def build(self) -> g.Node:
        """Return the whole side: the words below, the layers, and for the decoder the output."""
        plan, trace, source = self.plan, self.plan.trace, self.side == "encoder"
        name = "source" if source else "target"
        ink = self.side
        token = show_token((trace.source if source else trace.target)[0].text)
        text = quote(trace.text) if source else f"{plan.say('begin')} {quote(trace.translation)}"
        text = token if self.vectors else text
        nodes: list[g.Node] = [self.add(g.Label(text, ink=ink, bold=True, fit=WIDE + 40), "text")]
        if self.vectors:
            nodes += self.vector(f"{name}_embedding.sum", "sum", "sum")
        else:
            same = not source and trace.settings.tie == "three-way"
            table = 0 if same else count_parameters(trace, f"{name}_embedding.table")
            told = plan.say("same_table" if same else f"{name}_embedding")
            nodes.append(self.box("embedding", told, "embedded", "embedding", table))
            low: dict[str, Any] = {"height": 19, "size": style.SMALL, "strong": False}
            plus = g.Component(plan.say("plus_positions"), "positions", width=WIDE, **low)
            nodes.append(self.add(plus, "positions", "embedding"))
        nodes += self.stack()
        if self.pre:
            count = count_parameters(trace, f"{self.side}_norm.")
            nodes.append(self.box("last norm", "LayerNorm", "norm", "norm", count))
        if source:
            nodes += self.vector("memory", "memory", "memory")
            memory = plan.label("memory", ink="memory", bold=True)
            nodes.append(self.add(memory, "memory word"))
        else:
            count = 0 if trace.settings.tie != "none" else count_parameters(trace, "output_table")
            nodes.append(self.box("linear", plan.say("linear"), "linear", "output", count))
            nodes.append(self.box("softmax", "softmax", "softmax", "output"))
            word = show_token(trace.predicted[0].text) if self.vectors else plan.say("next")
            nodes.append(self.add(g.Label(word, style.HEADING, ink, bold=True), "next"))
        return g.middle(*reversed(nodes), gap=self.gap + 2)


def _join(plan: g.Outline, vectors: int = 0, lit: str = "") -> tuple[g.Node, list[g.Link]]:
    """Return both sides, and the arrows of both with those of the memory."""
    towers = [Tower(plan, side, vectors, lit) for side in ("encoder", "decoder")]
    body = g.Across(*(tower.build() for tower in towers), gap=92, align="bottom")
    links = [link for tower in towers for link in tower.links]
    for cross in towers[1].crosses:
        look: dict[str, Any] = {"sides": ("right", "left"), "layer": 6}
        links.append(g.Link("encoder memory word", cross, "elbow", "memory", 2.2, **look))
    return body, links


def _tell_sizes(plan: g.Outline) -> str:
    settings = plan.settings
    sizes = {"d": settings.d_model, "f": settings.d_ff, "h": settings.heads}
    return plan.say("note", **sizes) + plan.say(f"norm_{settings.norm}")


def _tell_share(plan: g.Outline) -> str:
    """Return a title: the part of the network with most parameters, and its share."""
    trace = plan.trace
    total, doubled = count_all(trace)
    counts = {
        "in_attention": count_parameters(trace, "attention."),
        "in_feed_forward": count_parameters(trace, "feed_forward."),
        "in_tables": count_parameters(trace, "_table.weight", "embedding.table") - doubled,
    }
    if not total:
        return plan.say("title_plain")
    most = max(counts, key=lambda key: counts[key])
    return plan.say(
        "title", n=g.spell(total, 0), share=g.percent(counts[most] / total), part=plan.say(most)
    )


@g.figure("architecture")
def draw_figure_1(plan: g.Outline, *, lit: str = "") -> g.Scene:
    """Show figure 1 of the paper with the sizes of this model (V07).

    lit: the part to highlight while the rest is pale, one of embedding, attention,
    feed_forward, norm, output.
    """
    if lit not in ("", *PARTS):
        raise ValueError(f"lit={lit}: one of {', '.join(PARTS)}")
    body, links = _join(plan, lit=lit)
    return plan.compose(
        body,
        title=_tell_share(plan),
        note=_tell_sizes(plan),
        links=links,
        callouts=[g.Callout("decoder 0 cross_attention", "meet", "right", 96)],
    )


@g.figure("architecture")
def draw_two_layers(plan: g.Outline) -> g.Scene:
    """Show two layers of each side, with the vector of the first token at each arrow (V08)."""
    trace = plan.trace
    body, links = _join(plan, vectors=2)
    last = min(2, trace.settings.encoder_layers) - 1
    window = "sum" if trace.settings.norm == "pre" else "normed"
    end = f"encoder.{last}.feed_forward_residual.{window}[0,d]"
    kept = float(plan.of(cosine("source_embedding.sum[0,d]", end)))
    word = show_token(trace.source[0].text)
    turned = math.degrees(math.acos(min(1.0, max(-1.0, kept))))
    windows = [f"{n} {sub}" for n in range(last + 1) for sub in SUBLAYERS["encoder"]]
    places = [f"encoder.{each.replace(' ', '.')}_residual.{window}" for each in windows]
    long = [length(f"{each}[0,d]") for each in ("source_embedding.sum", *places)]
    grows = [plan.of(f"({b}) / ({a})") for a, b in pairwise(long)]
    most = max(range(len(grows)), key=lambda n: float(grows[n]))
    told = plan.say("longer", times=f"{float(grows[most]):.1f}")
    return plan.compose(
        body,
        title="turns",
        note=plan.say("note_vectors", d=trace.settings.d_model)
        + plan.say(f"norm_{trace.settings.norm}"),
        links=links,
        callouts=[g.Callout(f"encoder {windows[most]} out", told, "left", 84, of=grows[most])],
        word=word,
        turned=f"{turned:.0f}",
        n=last,
    )

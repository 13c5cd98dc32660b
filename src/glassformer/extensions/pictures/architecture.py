"""Figure 1 of the paper for the recorded model, with the sizes of its parts (V07)."""

from __future__ import annotations

from typing import Any

from .parts import grammar as g
from .parts import style
from .parts.typesetting import quote

WIDE, GAP = 176.0, 13.0  # of a part; between parts
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
    """One side of the network, from the bottom up, with one layer for all.

    lit: the part that is not pale.
    """

    def __init__(self, plan: g.Outline, side: str, lit: str = ""):
        self.plan, self.side, self.lit = plan, side, lit
        self.pre = plan.settings.norm == "pre"
        self.links: list[g.Link] = []
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

    def box(
        self, name: str, text: str, role: str, part: str, count: int = 0, facts: str = ""
    ) -> g.Node:
        """Return a part of the network, with its number of parameters or what is told instead."""
        strong = role not in ("norm",)
        under: list[g.Node] = [g.tiny(facts)] if facts else []
        if count:
            number = self.plan.give(f"parameters_{self.side}_{name}".replace(" ", "_"), count)
            under = [g.Numeral(number, style.TINY, style.SOFT, digits=0)]
        height = 30.0 if strong else 19.0
        size = style.BODY if strong else style.SMALL
        return self.add(
            g.Component(
                text, role, width=WIDE, height=height, size=size, strong=strong, under=under
            ),
            name,
            part,
        )

    def sublayer(self, layer: int, window: str, kind: str) -> list[g.Node]:
        """Return a sub-layer with its residual connection and its norm, from the bottom up."""
        plan, trace, name = self.plan, self.plan.trace, f"{layer} {window}"
        residual = f"{self.side}.{layer}.{window}_residual"
        norm = count_parameters(trace, f"{residual}.norm")
        fork = g.Spacer(0, 4).named(f"{self.side} {name} fork")
        nodes: list[g.Node] = [fork]
        if self.pre:
            nodes.append(self.box(f"{name} norm", plan.say("layer_norm"), "norm", "norm", norm))
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
        self.links.append(
            g.Link(*ends, "around", sides=(edge, edge), ink="residual", dashed=True, gap=0)
        )
        return nodes

    def stack(self) -> g.Node:
        """Return the layer in its frame, with how many there are."""
        total = getattr(self.plan.trace.settings, f"{self.side}_layers")
        nodes: list[g.Node] = []
        for window, kind in SUBLAYERS[self.side].items():
            nodes += self.sublayer(0, window, kind)
        name = g.Label(f"× {total}", style.HEADING, self.side, bold=True)
        column, fill = g.middle(*reversed(nodes), gap=GAP), style.role(self.side).fill
        card = g.Card(column, fill=fill, edge=self.side, pad=12, round=10)
        return g.Down(name, card, gap=2, align="start")

    def build(self) -> g.Node:
        """Return the whole side: the words below, the layers, and for the decoder the output."""
        plan, trace, source = self.plan, self.plan.trace, self.side == "encoder"
        name = "source" if source else "target"
        ink = self.side
        text = quote(trace.text) if source else f"{plan.say('begin')} {quote(trace.translation)}"
        nodes: list[g.Node] = [self.add(g.Label(text, ink=ink, bold=True, fit=WIDE + 40), "text")]
        same = not source and trace.settings.tie == "three-way"
        table = 0 if same else count_parameters(trace, f"{name}_embedding.table")
        texts = plan.say("same_table" if same else f"{name}_embedding")
        nodes.append(self.box("embedding", texts, "embedded", "embedding", table))
        plus = g.Component(
            plan.say("plus_positions"),
            "positions",
            width=WIDE,
            height=19,
            size=style.SMALL,
            strong=False,
        )
        nodes.append(self.add(plus, "positions", "embedding"))
        nodes.append(self.stack())
        if self.pre:
            count = count_parameters(trace, f"{self.side}_norm.")
            nodes.append(self.box("last norm", plan.say("layer_norm"), "norm", "norm", count))
        if source:
            memory = plan.label("memory", ink="memory", bold=True)
            nodes.append(self.add(memory, "memory word"))
        else:
            tied = trace.settings.tie != "none"
            count = 0 if tied else count_parameters(trace, "output_table")
            texts = plan.say("same") if tied else ""
            nodes.append(self.box("linear", plan.say("linear"), "linear", "output", count, texts))
            nodes.append(self.box("softmax", "softmax", "softmax", "output"))
            word = plan.label("next", style.HEADING, ink, bold=True)
            nodes.append(self.add(word, "next"))
        return g.middle(*reversed(nodes), gap=GAP + 2)


def _join(plan: g.Outline, lit: str = "") -> tuple[g.Node, list[g.Link]]:
    """Return both sides, and the arrows of both with those of the memory."""
    towers = [Tower(plan, side, lit) for side in ("encoder", "decoder")]
    body = g.Across(*(tower.build() for tower in towers), gap=92, align="bottom")
    links = [link for tower in towers for link in tower.links]
    for cross in towers[1].crosses:
        links.append(
            g.Link(
                "encoder memory word",
                cross,
                "elbow",
                "memory",
                2.2,
                sides=("right", "left"),
                layer=6,
            )
        )
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

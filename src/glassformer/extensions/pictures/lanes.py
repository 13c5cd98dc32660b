"""The figure of the whole network as lanes, one for each token, that run side by side (V09)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from .parts import grammar as g
from .parts import style

LANES = {"encoder": 6, "decoder": 4}  # that are drawn
PITCH, BOX, HIGH = 52.0, 44.0, 58.0  # of a lane; of what stands in it; height of an attention
REST = 14.0  # beside the last lane, for the dots of those that are not drawn
NUMBERS = 12  # of a vector
STEPS: tuple[str, ...] = (
    *("in", "self_attention", "feed_forward", "times"),
    *("so_far", "masked", "cross_attention", "alone", "out"),
)


class Meeting(g.Node):
    """An attention: a line from each lane to each that reads it, the thicker, the more it reads.

    weights: a row for each lane that reads. What is read comes from below, or from the left.
    """

    def __init__(self, weights: g.Array, from_left: bool = False):
        self.weights, self.from_left = weights, from_left
        self.width, self.height = PITCH * len(weights), HIGH

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        role = style.role("attention")
        sheet.box(
            x, y, self.width, self.height, layer=1, fill=role.fill, edge=role.ink, line=1.3, round=8
        )
        for n in range(len(self.weights)):
            sheet.places[f"{self.name} {n}"] = g.Area(x + n * PITCH, y, PITCH, self.height)
        top, low = y + 2, y + self.height - 2
        for reads, row in enumerate(self.weights.tolist()):
            for read, weight in enumerate(row):
                if weight:
                    end, start = x + (reads + 0.5) * PITCH, x + (read + 0.5) * PITCH
                    bend, alpha = (top + low) / 2, min(1.0, 0.2 + weight)
                    points = ((start, low), (start, bend), (end, bend), (end, top))
                    if self.from_left:  # the query, and what it reads
                        sheet.line((end, low), (end, top), ink="decoder", line=1.0, alpha=0.5)
                        points = ((x, bend), (end - PITCH / 4, bend), (end, bend), (end, top))
                    line = 0.5 + 5 * weight
                    sheet.line(*points, ink="attention", line=line, curved=True, alpha=alpha)


class Lanes:
    """One side of the network, from the bottom up: `rows` of nodes beside their names."""

    def __init__(self, plan: g.Outline, side: str, tokens: Sequence[str]):
        self.plan, self.side, self.tokens = plan, side, tokens[: LANES[side]]
        self.rest = REST if len(tokens) > LANES[side] else 0.0
        self.rows: list[list[g.Part]] = []
        self.links: list[g.Link] = []
        self.below: list[str] = []  # the names of what the lanes leave next

    def add(
        self, step: str, node: g.Node, names: list[str], key: str = "", dots: bool = False
    ) -> None:
        """Put a row on top of the others, and join each lane of it to what is below.

        dots: those stand beside it if lanes are left out.
        """
        if self.rest:
            more = g.Label("…", style.BODY, style.SOFT) if dots else None
            node = g.Across(node, g.Slot(more, self.rest), gap=0)
        at = STEPS.index(step) + 1
        for n, below in enumerate(self.below):
            self.links.append(g.Link(below, names[n], ink=self.side, line=1.6, gap=1, step=at))
        self.below = names
        settings = self.plan.settings
        text = self.plan.say(key, n=getattr(settings, f"{self.side}_layers")) if key else ""
        align: g.Align = "end" if self.side == "encoder" else "start"
        label = g.small(text, style.INK, width=76, align=align).at(at)
        row: list[g.Part] = [label, node.at(at)]
        self.rows.insert(0, row if self.side == "encoder" else row[::-1])

    def spread(
        self, step: str, name: str, make: Callable[[int], g.Node], key: str = "", dots: bool = False
    ) -> None:
        """Put something of its own into each lane."""
        names = [f"{self.side} {name} {n}" for n in range(len(self.tokens))]
        nodes = [g.Slot(make(n).named(names[n]), PITCH) for n in range(len(names))]
        self.add(step, g.Across(*nodes, gap=0), names, key, dots)

    def chips(
        self, step: str, name: str, texts: Sequence[str], key: str = "", lit: bool = False
    ) -> None:
        """Put a token into each lane, and dots beside the last one if lanes are left out."""
        self.spread(
            step,
            name,
            lambda n: g.Chip(texts[n], self.side, size=style.SMALL, fit=BOX - 6, lit=lit),
            key,
            dots=True,
        )

    def vectors(self, step: str, name: str, tensor: str, key: str) -> None:
        """Put the vector of each token into its lane."""
        self.spread(
            step,
            name,
            lambda n: self.plan.panel(f"{tensor}[{n},d]", width=BOX, height=11.0, shown=NUMBERS),
            key,
        )

    def attend(self, step: str, name: str) -> None:
        """Put an attention of the first layer across all lanes, the mean of its heads."""
        weights = self.plan.trace[f"{self.side}.0.{name}.weights"].mean(0)[: len(self.tokens)]
        is_cross = name == "cross_attention"
        shown = np.full((len(weights), 1), 0.3) if is_cross else weights[:, : len(weights)]
        node = Meeting(shown, is_cross).named(f"{self.side} {name}")
        self.add(step, node, [f"{node.name} {n}" for n in range(len(self.tokens))], step)

    def feed(self, step: str) -> None:
        """Put a feed-forward network into each lane."""
        self.spread(
            step,
            "feed_forward",
            lambda n: g.Component(
                self.plan.say("network"), "feed_forward", width=BOX, height=24, size=style.SMALL
            ),
            "feed_forward",
        )


@g.figure("lanes")
def draw_lanes(plan: g.Outline) -> g.Scene:
    """Show the network as lanes of tokens: where they meet, and where each is alone (V09)."""
    trace, settings = plan.trace, plan.settings
    reads, writes = Lanes(plan, "encoder", plan.source), Lanes(plan, "decoder", plan.target)
    reads.chips("in", "token", plan.source)
    reads.vectors("in", "sum", "source_embedding.sum", "vectors")
    reads.attend("self_attention", "self_attention")
    reads.feed("feed_forward")
    reads.vectors("times", "memory", "memory", "kept")
    writes.chips("so_far", "token", plan.target)
    writes.vectors("so_far", "sum", "target_embedding.sum", "vectors")
    writes.attend("masked", "self_attention")
    writes.attend("cross_attention", "cross_attention")
    writes.feed("alone")
    writes.chips("out", "next", plan.predicted, "next", lit=True)
    body = g.Across(
        g.Columns(reads.rows, gap=(10, 20), align="rm"),
        g.Columns(writes.rows, gap=(10, 20), align="ml"),
        gap=style.FAR,
        align="bottom",
    )
    step = STEPS.index("cross_attention") + 1
    ends = reads.below[-1], "decoder cross_attention"
    links = [
        *reads.links,
        *writes.links,
        g.Link(*ends, "elbow", "memory", 2.4, sides=("right", "left"), step=step, layer=6),
    ]
    return plan.compose(
        body,
        links=links,
        callouts=[g.Callout("encoder self_attention", "meet", "left", 80, 2)],
        captions=[plan.say(f"caption_{step}") for step in STEPS],
        left=(len(reads.tokens) + len(writes.tokens), len(trace.source) + len(trace.target)),
        n=len(trace.source),
        layers=settings.encoder_layers,
        more=settings.decoder_layers,
    )

"""Vectors that turn on their way: two layers of each side (V08), one token up the stack (V71)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from .architecture import SUBLAYERS
from .attention import Query, choose_token
from .measures import cosine, length
from .parts import grammar as g
from .parts import style
from .parts.selection import count_layers, find_output, list_shown, tell_token, tell_tokens
from .residual import SIDES

LAYERS, MOST = 2, 8  # of each side, in V08; drawn one by one, in V71
UNIT, BOX, ADD, SIDE = 80.0, 62.0, 28.0, 24.0  # widths in a lane; the radius of a dial
EVEN = 1.5  # times as long: a vector hardly grows


def measure_turn(plan: g.Outline, one: str, two: str) -> float:
    """Return the angle between two vectors, in degrees."""
    kept = float(plan.of(cosine(one, two)))
    return math.degrees(math.acos(min(1.0, max(-1.0, kept))))


class Fan(g.Node):
    """Arrows from one point. Each is turned from the first direction, which points to the right."""

    def __init__(
        self,
        degrees: Sequence[float],
        lengths: Sequence[float],
        inks: Sequence[str],
        *,
        line: float = 1.6,
        steps: Sequence[int] = (),
    ):
        turns = np.radians(degrees)
        self.tips = np.stack([np.cos(turns), -np.sin(turns)], 1) * np.asarray(lengths)[:, None]
        self.inks, self.line, self.steps = inks, line, steps or [0] * len(inks)
        reach = max(lengths)
        self.left = max(0.0, -float(self.tips[:, 0].min()))
        self.width = self.left + max(reach, float(self.tips[:, 0].max()))
        self.height = max(reach / 3, -float(self.tips[:, 1].min()))
        self.base = reach

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        at, low = x + self.left, y + self.height
        ends = ((at, low), (at + self.base, low))
        sheet.line(*ends, ink=style.SOFT, line=0.9, dashed=True, layer=1)
        for n, ((a, b), ink) in enumerate(zip(self.tips.tolist(), self.inks, strict=True)):
            step, turn = self.steps[n], math.atan2(b, a)
            size = 3.0 + 1.7 * self.line
            back = [
                (at + a - size * math.cos(turn + s), low + b - size * math.sin(turn + s))
                for s in (0.45, -0.45)
            ]
            tip = (at + a, low + b)
            short = (at + a - 0.7 * size * math.cos(turn), low + b - 0.7 * size * math.sin(turn))
            sheet.line((at, low), short, ink=ink, line=self.line, layer=4, step=step)
            sheet.line(tip, *back, tip, fill=ink, line=0, layer=4, step=step)
            sheet.places[f"{self.name} {n}"] = g.Area(tip[0] - 2, tip[1] - 2, 4, 4)


def show_degrees(plan: g.Outline, name: str, degrees: float, ink: str = style.INK) -> g.Node:
    """Return an angle as text."""
    result = plan.give(name, [degrees])[0]
    return g.Label(f"{degrees:.0f}°", style.SMALL, ink, bold=ink == style.LIT, of=result)


class Sublayer(g.Node):
    """A sub-layer over the residual connection that runs past it, and the vector that leaves.

    Left: the fork. Right: where what the sub-layer computed is added.
    """

    def __init__(self, name: str, box: g.Node, norm: g.Node | None, add: g.Node, out: g.Node):
        self.name, self.box, self.norm, self.add, self.out = name, box, norm, add, out
        self.top = box.height + (norm.height + 9 if norm else 0.0) + 10
        self.low = add.height + 6
        self.width, self.height = UNIT, self.top + self.low + out.height

    @property
    def axis(self) -> float:
        return self.top + self.add.height / 2

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        middle = x + BOX / 2
        g.Spacer().named(f"{self.name} fork").place(sheet, middle, y + self.axis)
        self.box.place(sheet, middle - self.box.width / 2, y)
        if self.norm:
            down = y + self.box.height + 9
            self.norm.place(sheet, middle - self.norm.width / 2, down)
        self.add.place(sheet, x + UNIT - ADD, y + self.top)
        self.out.place(sheet, x + UNIT - self.out.width, y + self.top + self.low)


class Lane:
    """Two layers of one side, from left to right, with the vector of its first token."""

    def __init__(self, plan: g.Outline, side: str):
        self.plan, self.side = plan, side
        self.pre = plan.settings.norm == "pre"
        self.start = f"{SIDES[side]}_embedding.sum[0,d]"
        self.links: list[g.Link] = []
        self.crosses: list[str] = []
        self.layers = min(LAYERS, count_layers(plan.trace, side))
        units = [(n, window) for n in range(self.layers) for window in SUBLAYERS[side]]
        turns = [
            measure_turn(plan, self.start, f"{self.name_output(*unit)}[0,d]") for unit in units
        ]
        steps = np.diff([0.0, *turns])
        most, self.turned = int(steps.argmax()), turns[-1]
        self.is_sudden = steps[most] >= self.turned / 2 >= 0.5
        self.lit = units[most if self.is_sudden else -1] if side == "encoder" else None
        self.before, self.after = turns[most] - steps[most], turns[most]

    def name_output(self, layer: int, window: str) -> str:
        """Return the tensor that leaves a sub-layer with its residual connection and its norm."""
        residual = f"{self.side}.{layer}.{window}_residual"
        return f"{residual}.{'sum' if self.pre else 'normed'}"

    def show_vector(self, tensor: str, lit: bool = False) -> g.Node:
        """Return a vector as colours, and how far it has turned from where it began."""
        plan, cell = self.plan, f"{tensor}[0,d]"
        turn = measure_turn(plan, self.start, cell)
        ink = style.LIT if lit else self.side
        fan = g.Slot(Fan([turn], [SIDE], [ink]), 2 * SIDE, "end", SIDE)
        text = show_degrees(
            plan, f"turned_{tensor}".replace(".", "_"), turn, ink if lit else style.INK
        )
        dial = g.Across(fan, text, gap=5, align="bottom")
        strip = plan.panel(cell, width=58, height=8)
        return g.Down(strip, dial, gap=5, align="end")

    def show_sublayer(self, layer: int, window: str, kind: str) -> g.Node:
        """Return a sub-layer with its residual connection, its norm and its links."""
        plan, name = self.plan, f"{self.side} {layer} {window}"
        role = "feed_forward" if window == "feed_forward" else "attention"
        box = g.Component(plan.say(kind), role, width=BOX, height=32, size=style.TINY)
        low = partial(g.Component, height=17, size=style.TINY, strong=False)
        norm = low(plan.say("layer_norm"), "norm", width=BOX - 6) if self.pre else None
        text = plan.say("add" if self.pre else "add_norm")
        add = low(text, "norm", width=ADD).named(f"{name} add")
        out = self.show_vector(self.name_output(layer, window), (layer, window) == self.lit)
        join = partial(g.Link, line=1.3, gap=0)
        path = [f"{name} fork", *([f"{name} norm"] if norm else []), f"{name} box"]
        up: tuple[g.Side, g.Side] = ("above", "below")
        over: tuple[g.Side, g.Side] = ("right", "above")
        self.links += [join(a, b, sides=up) for a, b in pairwise(path)]
        self.links.append(join(path[-1], f"{name} add", "elbow", sides=over, lane=1))
        ends = (path[0], f"{name} add")
        self.links.append(join(*ends, ink="residual", dashed=True))
        if norm:
            norm.named(path[1])
        if window == "cross_attention":
            self.crosses.append(path[-1])
        return Sublayer(name, box.named(path[-1]), norm, add, out)

    def build(self) -> g.Node:
        """Return the token, its layers, and what follows them."""
        plan, trace, source = self.plan, self.plan.trace, self.side == "encoder"
        token = tell_token((trace.source if source else trace.target)[0].text)
        word = g.Label(token, style.BODY, self.side, bold=True, fit=56).named(f"{self.side} token")
        begin = g.Down(word, self.show_vector(self.start.removesuffix("[0,d]")), gap=8)
        begin.stands_on = 0
        parts: list[g.Node] = [begin]
        way = [f"{self.side} token"]
        for layer in range(self.layers):
            units = [self.show_sublayer(layer, *each) for each in SUBLAYERS[self.side].items()]
            way += [name for unit in units for name in (f"{unit.name} fork", f"{unit.name} add")]
            head = g.Label(plan.say("layer", n=layer), style.SMALL, self.side, bold=True)
            inside = g.Down(head, g.Across(*units, gap=2), gap=3, stands_on=1)
            fill = style.role(self.side).fill
            parts.append(g.Card(inside, fill=fill, edge=self.side, pad=5, round=8))
        tail = self._show_tail(count_layers(trace, self.side) - self.layers)
        way.append(tail[0].name)
        pairs = list(pairwise(way))[::2]
        self.links += [
            g.Link(a, b, head=b == way[-1], sides=("right", "left"), gap=2) for a, b in pairs
        ]
        return g.Across(*parts, *self._stack(tail), gap=9)

    def _show_tail(self, left: int) -> list[g.Node]:
        """Return what follows the layers, in the order of the way."""
        plan, source = self.plan, self.side == "encoder"
        low = partial(g.Component, width=58, height=19, size=style.TINY)
        names = ["more"] if left > 0 else []
        nodes: list[g.Node] = [g.small(plan.say("more", n=left), width=44)] if left > 0 else []
        if self.pre:
            names.append("last norm")
            nodes.append(low(plan.say("layer_norm"), "norm", strong=False))
        if source:
            names.append("memory")
            nodes.append(plan.label("memory", ink="memory", bold=True))
        else:
            names += ["linear", "softmax", "next"]
            nodes += [low(plan.say("linear"), "linear")]
            nodes += [low("softmax", "softmax")]
            word = tell_token(plan.trace.predicted[0].text)
            nodes += [g.Label(word, style.BODY, self.side, bold=True, fit=70)]
        for name, node in zip(names, nodes, strict=True):
            node.named(f"{self.side} {name}")
        return nodes

    def _stack(self, tail: list[g.Node]) -> list[g.Node]:
        """Return the tail with its links: that of the encoder runs on, the decoder's goes up."""
        if self.side == "encoder":
            sides: tuple[g.Side, g.Side] = ("right", "left")
            parts = tail
        else:
            sides = ("above", "below")
            parts = [g.Down(*reversed(tail), gap=11, align="middle", stands_on=len(tail) - 1)]
        pairs = pairwise(tail)
        self.links += [g.Link(a.name, b.name, sides=sides, gap=1) for a, b in pairs]
        return parts


@g.figure("two_layers")
def draw_two_layers(plan: g.Outline) -> g.Scene:
    """Show two layers of each side, and how far a vector has turned at each arrow (V08)."""
    lanes = [Lane(plan, side) for side in ("encoder", "decoder")]
    body = g.Down(*(lane.build() for lane in lanes), gap=30)
    links = [link for lane in lanes for link in lane.links]
    for cross in lanes[1].crosses:
        links.append(
            g.Link(
                "encoder memory",
                cross,
                "elbow",
                "memory",
                2.0,
                sides=("below", "above"),
                lane=0.66,
                layer=6,
            )
        )
    last, first = lanes[0].layers - 1, lanes[0]
    several = "title" if last else "title_one"
    return plan.compose(
        body,
        title=f"sudden_{first.lit[1]}"
        if first.is_sudden and first.lit
        else several
        if first.turned >= 1
        else "stays",
        note=plan.say("note", d=plan.settings.d_model) + plan.say(f"norm_{plan.settings.norm}"),
        links=links,
        word=tell_token(plan.trace.source[0].text),
        turned=f"{first.turned:.0f}",
        before=f"{first.before:.0f}",
        after=f"{first.after:.0f}",
        n=last + 1,
    )


@g.figure("climb")
def draw_climb(plan: g.Outline, *, side: str = "encoder", query: Query = None) -> g.Scene:
    """Show one token's vector after each layer: how long it is, and how far it turned (V71)."""
    trace, count = plan.trace, count_layers(plan.trace, side)
    tokens = trace.source if side == "encoder" else trace.target
    row = choose_token(tokens, query)
    word = tell_tokens(tokens)[row]
    start = f"{SIDES[side]}_embedding.sum"
    names = [start, *(find_output(trace, side, n) for n in range(count))]
    shown = list_shown(len(names), MOST)
    cells = [f"{names[n]}[{row},d]" for n in shown]
    long = [float(plan.of(length(cell))) for cell in cells]
    turns = [measure_turn(plan, cells[0], cell) for cell in cells]
    rows: list[list[g.Part]] = []
    shades = np.linspace(0.45, 1.0, len(shown)).tolist()
    for step, (n, cell, turn) in enumerate(zip(shown, cells, turns, strict=True), 1):
        label = plan.say("after", n=n - 1) if n else plan.say("start")
        parts = [
            g.Label(label, ink=side, bold=True),
            plan.panel(cell, width=150, height=16),
            g.Numeral(plan.of(length(cell)), style.BODY, digits=1),
            show_degrees(plan, f"turned_{n}", turn),
        ]
        rows.append([part.at(step, (0, 24)) for part in parts])
    reach = 250.0 / max(long)
    inks = [_pale(style.role(side).ink, shade) for shade in shades]
    inks[-1] = style.LIT
    steps = list(range(1, len(shown) + 1))
    fan = Fan(turns, [reach * each for each in long], inks, line=2.0, steps=steps).named("fan")
    heads = plan.heads("", "thumbnail", "length", "turned")
    times, turned = long[-1] / long[0], turns[-1]
    key = "turns" if times < EVEN else "grows"
    return plan.compose(
        g.Across(g.Columns([heads, *reversed(rows)], gap=(12, 10), align="rlrr"), fan, gap=36),
        title=key,
        callouts=[g.Callout(f"fan {len(shown) - 1}", "end", "above", 140, len(shown))],
        captions=[
            plan.say("caption_after", n=n - 1) if n else plan.say("caption_start", word=word)
            for n in shown
        ],
        word=word,
        turned=f"{turned:.0f}",
        n=count,
        last=count - 1,
        times=g.spell(times, 1),
    )


def _pale(ink: str, share: float) -> str:
    """Return a colour on the way from white to an ink."""
    parts = (int(ink[n : n + 2], 16) for n in (1, 3, 5))
    return "#" + "".join(f"{round(255 - share * (255 - part)):02x}" for part in parts)

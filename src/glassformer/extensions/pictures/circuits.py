"""The figures of why a word was written: its circuit, methods, circuits by size (V119-V121)."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from glassformer.see.tokens import name_invisible

from .parts import grammar as g
from .parts import style
from .parts.render import save_scene

MEASURED = Path(__file__).with_name("circuits.json")  # by `benchmarks circuits --pictures`
SUBLAYERS: dict[str, tuple[str, ...]] = {
    "source": ("self_attention", "feed_forward"),
    "target": ("self_attention", "cross_attention", "feed_forward"),
}
INKS = {"source": "encoder", "target": "decoder", "across": "memory"}
FILLS = {"feed_forward": "feed_forward", "cross_attention": "memory"}
BOX, SHIFT = (64.0, 14.0), 42.0  # of a part; between two parts of a layer, across
FLOOR, NARROW = 46.0, 13.0  # the height of a layer; the width of a word at which nothing is
LEFT, BETWEEN, RIGHT, CLEAR = 44.0, 54.0, 74.0, 34.0  # beside and between both sides; of bows
TOP, SOON = 48.0, 1.0  # above the last layer; layers that an edge rises without a bow
CELL = (29.0, 21.0)  # of the table of methods
Answer = Mapping[str, Any]


class NodeSpot(NamedTuple):
    """The place of a part of the network: over a word, in a layer."""

    side: str
    position: int
    layer: int  # -1: the token
    kind: str


class Edges(NamedTuple):
    """The edges of a circuit between places, with what each carries, and the heads of each."""

    losses: dict[tuple[NodeSpot, NodeSpot], float]
    heads: dict[NodeSpot, set[int]]


def describe_drawing(why: Any) -> dict[str, Any]:
    """Return what is drawn of an answer of `why`, as JSON."""
    circuit, trace, row = why.circuits[0], why.trace, why.asked.row
    edges = [
        [*edge, round(loss, 6)] for edge, loss in zip(circuit.edges, circuit.losses, strict=True)
    ]
    answer = {
        "text": trace.text,
        "source": [each.text for each in trace.source],
        "target": [each.text for each in trace.target[: row + 1]],
        "word": why.asked.word,
        "rival": why.asked.rival,
        "layers": {
            "source": trace.settings.encoder_layers,
            "target": trace.settings.decoder_layers,
        },
        "elsewhere": None if circuit.elsewhere == "mean" else why.counterpart or "",
    }
    numbers = ("lead", "nothing", "of", "kept", "without", "random", "connected")
    return answer | {name: getattr(circuit, name) for name in numbers} | {"edges": edges}


def draw_circuit(why: Any, path: Path, lang: str = "en") -> None:
    """Draw the first circuit of an answer of `why` into a file: .svg, .pdf, .png.

    Raises ValueError if it has none, or for a language that cannot be written.
    """
    plan = g.Outline("circuit", why.trace, lang)
    if not why.circuits:
        raise ValueError("there is no circuit to draw: nothing that is replaced matters")
    save_scene(compose_circuit(plan, describe_drawing(why)), path)


@g.figure("circuit")
def draw_measured_circuit(plan: g.Outline) -> g.Scene:
    """Show the circuit of elle against il in the shipped model (V119)."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))["circuit"]
    return compose_circuit(plan, measured, "measured")


def compose_circuit(plan: g.Outline, answer: Answer, origin: str = "") -> g.Scene:
    """Return the picture of a circuit: its parts and edges, and what it keeps beside others."""
    chart = CircuitMap(plan, answer)
    places = [
        plan.say(f"at_{side}", word=_strip(answer[side][position]))
        for side, position in sorted(chart.used)
    ]
    return plan.compose(
        g.Down(chart, _compare(plan, answer), gap=style.APART),
        title="title_places" if len(places) == 2 else "title",
        origin=origin,
        word=_strip(answer["word"]),
        rival=_strip(answer["rival"]),
        size=g.spell(len(answer["edges"]), 0),
        of=g.spell(answer["of"], 0),
        kept=g.percent(answer["kept"]),
        places=plan.say("and").join(places),
        elsewhere=_tell_elsewhere(plan, answer["elsewhere"]),
        lead=g.spell(answer["lead"]),
        nothing=g.spell(answer["nothing"]),
        joints=plan.say("joints") if chart.joints else "",
        numbers=_tell_heads(plan, chart.edges.heads),
    )


def _tell_heads(plan: g.Outline, heads: Mapping[NodeSpot, set[int]]) -> str:
    """Return what the numbers in the boxes are, and which of those heads have which habit."""
    if not any(heads.values()):
        return ""
    places: dict[str, list[str]] = defaultdict(list)
    for spot in sorted(heads, key=lambda each: each.layer):
        block = f"{'encoder' if spot.side == 'source' else 'decoder'}.{spot.layer}.{spot.kind}"
        for head in sorted(heads[spot]):
            place = f"{spot.layer}.{head}"
            known = places[plan.tell_habit(block, head)]
            known += [place] * (place not in known)
    parts = [f"{habit} {', '.join(each)}" for habit, each in places.items() if habit]
    listed = plan.say("habits", list="; ".join(parts)) if parts else ""
    return plan.say("numbers") + listed


def _tell_elsewhere(plan: g.Outline, counterpart: str | None) -> str:
    """Return where all other edges carry what they carry; a counterpart may be ids without text."""
    if counterpart is None:
        return plan.say("mean")
    text = counterpart.rstrip(".")
    return plan.say("counterpart", text=text) if text else plan.say("no_text")


def _compare(plan: g.Outline, answer: Answer) -> g.Node:
    """Return what the circuit keeps, what random ones keep, and what is left without it."""
    shares = {
        "kept": answer["kept"],
        "random": max(answer["random"]),
        "connected": max(answer["connected"]),
        "without": answer["without"],
    }
    values = plan.give("share", [*shares.values()])
    size, count = g.spell(len(answer["edges"]), 0), len(answer["random"])
    rows: list[list[g.Part]] = []
    for n, name in enumerate(shares):
        is_own = name == "kept"
        text = plan.say(f"bar_{name}", size=size, count=count)
        bar = g.Bar(
            values[n],
            1.0,
            style.LIT if is_own else style.SOFT,
            width=250,
            track=True,
            show=lambda share: g.percent(share, 1),
        )
        rows.append([g.small(text, style.LIT if is_own else style.INK, bold=is_own), bar])
    return g.Columns(rows, gap=(style.NEAR, 3), align="rl")


class CircuitMap(g.Node):
    """The parts of the network that a circuit joins, over their words, and its edges.

    An edge is as thick as what is lost without it. Words at which nothing is are narrow.
    """

    def __init__(self, plan: g.Outline, answer: Answer):
        self.plan, self.answer, self.row = plan, answer, len(answer["target"]) - 1
        self.edges = gather_edges(answer)
        spots = {spot for pair in self.edges.losses for spot in pair}
        self.used = {(spot.side, spot.position) for spot in spots} | {("target", self.row)}
        self.spots = sorted(spot for spot in spots if spot.kind not in ("token", "answer"))
        self.lanes: dict[tuple[str, int], tuple[float, float]] = {}  # their middle and width
        x = LEFT
        for side in SUBLAYERS:
            for position in range(len(answer[side])):
                wide = NARROW
                if (side, position) in self.used:
                    wide = BOX[0] + SHIFT * (len(SUBLAYERS[side]) - 1) + 12
                self.lanes[side, position] = x + wide / 2, wide
                x += wide
            x += BETWEEN if side == "source" else RIGHT
        self.words = {at: self._name_word(*at) for at in self.lanes}
        self.floor = TOP + FLOOR * max(answer["layers"].values())
        self.width = x
        self.height = self.floor + 10 + max(each.height for each in self.words.values())

    def _name_word(self, side: str, position: int) -> g.Label:
        text = _strip(self.answer[side][position])
        if (side, position) in self.used:
            return g.Label(text, style.BODY, style.role(INKS[side]).ink, bold=True)
        return g.tiny(text, fit=80, upright=True)

    def find(self, spot: NodeSpot) -> g.Area:
        """Return the place of a part, beside the upper left corner of the map."""
        middle, _ = self.lanes[spot.side, spot.position]
        if spot.kind == "token":
            return g.Area(middle - 8, self.floor + 8, 16, 0)
        if spot.kind == "answer":
            return g.Area(middle - 12, 26, 24, 0)
        kinds = SUBLAYERS[spot.side]
        own = kinds.index(spot.kind) if spot.kind in kinds else 0  # an SSRU, in place of attention
        x = middle + SHIFT * (own - (len(kinds) - 1) / 2)
        y = self.floor - FLOOR * (spot.layer + (own + 0.5) / len(kinds))
        return g.Area(x - BOX[0] / 2, y - BOX[1] / 2, *BOX)

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        self._draw_floors(sheet, x, y)
        for at, label in self.words.items():
            middle, wide = self.lanes[at]
            if at in self.used:
                high = FLOOR * self.answer["layers"][at[0]]
                left, top = x + middle - wide / 2, y + self.floor - high
                sheet.box(left, top, wide, high, fill=style.GROUND, round=6, layer=0)
            label.place(sheet, x + middle - label.width / 2, y + self.floor + 10)
        for joint in self.joints:
            ends = ((x + a, y + b) for a, b in joint)
            sheet.line(*ends, ink=style.SOFT, line=1.0, dashed=True, layer=2)
        most = max(self.edges.losses.values())
        for (start, end), loss in self.edges.losses.items():
            self._draw_edge(sheet, (x, y), start, end, sqrt(max(loss, 0.0) / most))
        for spot in self.spots:
            self._draw_part(sheet, x, y, spot)
        self._name_answer(sheet, x, y)

    def _draw_floors(self, sheet: g.Sheet, x: float, y: float) -> None:
        """Draw a line under each layer, and name both sides."""
        for side, layers in self.answer["layers"].items():
            first, wide = self.lanes[side, 0]
            last, far = self.lanes[side, len(self.answer[side]) - 1]
            left, right = x + first - wide / 2, x + last + far / 2
            for layer in range(layers):
                low = y + self.floor - FLOOR * layer
                sheet.line((left, low), (right, low), ink=style.HAIR, line=0.8, layer=1)
                label = g.tiny(self.plan.say("layer", number=layer))
                beside = left - label.width - 5 if side == "source" else right + CLEAR
                label.place(sheet, beside, low - FLOOR / 2 - label.height / 2)
            heading = self.plan.small(INKS[side], INKS[side], bold=True)
            heading.place(sheet, left, y + self.floor - FLOOR * layers - heading.height - 4)

    @cached_property
    def joints(self) -> list[tuple[g.Point, g.Point]]:
        """Return lines between the words at which one attention reads and writes."""
        blocks = defaultdict(list)
        for spot in self.spots:
            if spot.kind in ("self_attention", "ssru"):
                blocks[spot.side, spot.layer].append(self.find(spot).middle)
        return [ends for middles in blocks.values() for ends in pairwise(middles)]

    def _draw_edge(
        self, sheet: g.Sheet, corner: g.Point, start: NodeSpot, end: NodeSpot, share: float
    ) -> None:
        ink = INKS["across" if start.side != end.side else start.side]
        points = tuple((corner[0] + a, corner[1] + b) for a, b in self._run(start, end))
        line, alpha = 0.5 + 4.5 * share, 0.3 + 0.6 * share
        sheet.line(*points, ink=style.role(ink).ink, line=line, alpha=alpha, curved=True, layer=3)

    def _run(self, start: NodeSpot, end: NodeSpot) -> tuple[g.Point, ...]:
        """Return the curve of an edge: across, straight up, or around what is between."""
        one, two = self.find(start), self.find(end)
        (a, b), (c, d) = one.middle, two.middle
        if start.side != end.side:
            reach = 0.45 * (two.x - one.right)
            return ((one.right, b), (one.right + reach, b), (two.x - reach, d), (two.x, d))
        rise = (b - d) / FLOOR
        if rise < SOON:
            bend = (one.y - two.bottom) / 2
            return ((a, one.y), (a, one.y - bend), (c, two.bottom + bend), (c, two.bottom))
        is_left = start.side == "source"
        e, f = (one.x, two.x) if is_left else (one.right, two.right)
        out = min(e, f) - 10 - 9 * rise if is_left else max(e, f) + 6 + 6 * rise
        if end.kind == "answer":
            return ((e, b), (out, b), (c, d + FLOOR), (c, d))
        return ((e, b), (out, b), (out, d), (f, d))

    def _draw_part(self, sheet: g.Sheet, x: float, y: float, spot: NodeSpot) -> None:
        """Draw a box with the name of a part, or with those of its heads."""
        area, look = self.find(spot), style.role(FILLS.get(spot.kind, "attention"))
        text = self.plan.say(spot.kind)
        if heads := sorted(self.edges.heads[spot]):
            text = self.plan.say(f"heads_{spot.kind}", heads=", ".join(map(str, heads)))
        sheet.box(x + area.x, y + area.y, *BOX, fill=look.fill, edge=look.ink, round=4, layer=4)
        label = g.tiny(text, look.ink, fit=BOX[0] - 2)
        label.place(
            sheet, x + area.middle[0] - label.width / 2, y + area.middle[1] - label.height / 2
        )

    def _name_answer(self, sheet: g.Sheet, x: float, y: float) -> None:
        middle, _ = self.lanes["target", self.row]
        word = g.Label(_strip(self.answer["word"]), style.HEADING, style.LIT, bold=True)
        word.place(sheet, x + middle - word.width / 2, y + 4)


def gather_edges(answer: Answer) -> Edges:
    """Return the edges of a circuit between places; those of several heads are one."""
    losses: dict[tuple[NodeSpot, NodeSpot], float] = defaultdict(float)
    heads: dict[NodeSpot, set[int]] = defaultdict(set)
    row = len(answer["target"]) - 1
    for node, reader, side, position, loss in answer["edges"]:
        crosses = side == "source" and reader.startswith("decoder")
        start = locate_node(node, side, position)
        end = locate_node(reader, *(("target", row) if crosses else (side, position)))
        if start != end:  # not what the norm of a part reads of the part itself
            losses[start, end] += loss
        for name, spot in ((node, start), (reader, end)):
            heads[spot] |= {int(part) for part in name.split(".")[3:4] if part.isdigit()}
    return Edges(losses, heads)


def locate_node(node: str, side: str, position: int) -> NodeSpot:
    """Return the place of a node, or of a part that reads."""
    _, _, rest = node.partition(".")
    layer, _, kind = rest.partition(".")
    if not layer.isdigit():
        return NodeSpot(side, position, -1, "answer" if node == "answer" else "token")
    kind = kind.partition(".")[0].removesuffix("_residual")
    return NodeSpot(side, position, int(layer), kind)


@g.figure("methods")
def draw_methods(plan: g.Outline) -> g.Scene:
    """Show which word each method names, and whether the translation needs it (V120)."""
    table = json.loads(MEASURED.read_text(encoding="utf-8"))["methods"]
    words, rows = table["words"], table["methods"]
    sizes = np.abs([row["scores"] for row in rows])
    shares = plan.give("share", sizes / sizes.sum(1, keepdims=True))
    named = [row["named_at"] for row in rows]
    right = [words[n]["decoder_changed"] for n in named]
    panel = g.Panel(
        shares,
        width=CELL[0] * len(words),
        height=CELL[1] * len(rows),
        scale="share",
        limit=1.0,
        lit=[(n, at) for n, at in enumerate(named) if right[n]],
        gray=[(n, at) for n, at in enumerate(named) if not right[n]],
    )
    verdicts = [
        g.small(plan.say("right" if good else "wrong", word=words[at]["word"]), ink, bold=good)
        for at, good in zip(named, right, strict=True)
        for ink in [style.LIT if good else style.SOFT]
    ]
    matrix = g.Matrix(
        panel,
        rows=[_name_method(plan, row["method"]) for row in rows],
        columns=[each["word"] for each in words],
        sums=verdicts,
        fit=130,
    ).named("methods")
    changing = [each for each in words if each["decoder_changed"]]
    return plan.compose(
        matrix,
        origin="measured",
        right=sum(right),
        count=len(rows),
        wrong=len(rows) - sum(right),
        word=_strip(table["word"]),
        changing=plan.say("comma").join(
            plan.say("becomes", word=each["word"], written=_strip(each["decoder"]))
            for each in changing
        ),
        of=len(words),
        text=table["text"],
    )


@g.figure("sizes")
def draw_sizes(plan: g.Outline) -> g.Scene:
    """Show how much circuits of each size keep, well chosen ones and random ones (V121)."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    table, word = measured["sizes"], _strip(measured["circuit"]["word"])
    curves = []
    for name, ink in {"found": style.LIT, "attributed": "model", "random": style.SOFT}.items():
        sizes, shares = zip(*table[name], strict=True)
        ink = style.role(ink).ink if ink in style.ROLES else ink
        label = "" if name == "found" else plan.say(name)  # it ends beside another curve
        percents = [100 * share for share in shares]
        curves.append(g.Curve(sizes, percents, ink, 2.4, label, dots=True, name=name))
    (size, kept), (most, luck) = table["found"][-1], table["random"][-1]
    plot = plan.plot(
        curves,
        "edges",
        "kept",
        width=400,
        height=230,
        beside=150,
        x=(1, table["all"]),
        y=(-5, 110),
        x_ticks=[1, 10, 100, 1000],
        y_ticks=[0, 25, 50, 75, 100],
        log_x=True,
    )
    return plan.compose(
        plot,
        callouts=[g.Callout("found", "found", "left", 110)],
        origin="measured",
        size=size,
        kept=g.percent(kept),
        most=g.spell(most, 0),
        luck=g.percent(luck),
        of=g.spell(table["all"], 0),
        word=word,
        text=measured["circuit"]["text"],
    )


def _name_method(plan: g.Outline, method: str) -> str:
    """Return a method's name; one without words has the same in all languages."""
    key = re.sub(r"\W+", "_", method)
    return plan.say(f"method_{key}") if plan.has(f"method_{key}") else method


def _strip(token: str) -> str:
    return name_invisible(token).strip(" ▁") or "▁"

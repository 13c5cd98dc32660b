"""Figures of the residual connection, of LayerNorm, and of the residual stream (V65-V69, V29)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from .attention import Query, choose_token
from .measures import cosine, deviation, length, mean
from .parts import grammar as g
from .parts import style
from .parts.selection import (
    count_layers,
    find_output,
    find_stream,
    find_unnormed,
    pick,
    tell_tokens,
)

SIDES = {"encoder": "source", "decoder": "target"}
LISTED = 13  # rows of the table of means and deviations
WIDE = 210.0


class Spot:
    """One token at one sub-layer: the names of the tensors there."""

    def __init__(self, plan: g.Outline, side: str, layer: int, sublayer: str, query: Query):
        trace = plan.trace
        self.layer = pick(layer, count_layers(trace, side), "layer")
        tokens = trace.source if side == "encoder" else trace.target
        self.row = choose_token(tokens, query)
        self.texts = tell_tokens(tokens)
        self.text = self.texts[self.row]
        self.stream = find_stream(trace, side, self.layer, sublayer)
        self.unnormed = find_unnormed(trace, side, self.layer, sublayer)
        self.name = f"{side}.{self.layer}.{sublayer}"
        self.where = plan.say(
            "where", side=plan.say(side), layer=self.layer, sublayer=plan.say(sublayer)
        )
        self.d = trace.settings.d_model

    def cell(self, tensor: str, row: int | None = None) -> str:
        return f"{tensor}[{self.row if row is None else row},d]"


def _show_vector(plan: g.Outline, cell: str, role: str, label: str, limit: float) -> list[g.Node]:
    """Return a row: the name of a vector, its first numbers, all of them, and its length."""
    vector, ink = plan.of(cell), role
    return [
        g.Label(label, style.HEADING, ink).named(f"name of {label}"),
        g.Strip(vector, role).named(label),
        g.Panel(vector, width=WIDE, height=20, limit=limit),
        plan.number(length(cell), before=plan.say("long")),
    ]


@g.figure("residual")
def draw_residual(
    plan: g.Outline,
    *,
    side: str = "encoder",
    layer: int = 0,
    sublayer: str = "self_attention",
    query: Query = None,
) -> g.Scene:
    """Show x, what a sub-layer makes of it, and their sum (V65)."""
    spot, pre = Spot(plan, side, layer, sublayer, query), plan.settings.norm == "pre"
    names = (spot.stream, f"{spot.name}.output", f"{spot.name}_residual.sum")
    cells, labels = [spot.cell(name) for name in names], ("$x$", "$f(x)$", "$x + f(x)$")
    limit, roles = g.find_largest([plan.of(cell) for cell in cells]), ("residual", "heads", "sum")
    x, result, total = (
        [node.at(step, start) for node in _show_vector(plan, cell, role, label, limit)]
        for cell, role, label, (step, start) in zip(
            cells, roles, labels, ((1, None), (3, (0, -40)), (4, (0, -40))), strict=True
        )
    )
    role = "feed_forward" if sublayer == "feed_forward" else "attention"
    width = style.CELL[0] * 4
    box: g.Node = g.Component(plan.say(sublayer), role, width=width, height=28).named("f")
    if pre:
        text = plan.say("layer_norm")
        norm = g.Component(text, "norm", width=width, height=22, strong=False)
        box = g.Down(norm.named("norm"), box, gap=16)
    plus = g.Columns([[g.Label("+", style.TITLE, bold=True).named("plus")]], align="m").at(3)
    way = ["$x$", *(["norm"] if pre else []), "f", "$f(x)$", "plus", "$x + f(x)$"]
    comes = {"norm": 2, "f": 2, "$f(x)$": 3, "plus": 3, "$x + f(x)$": 4}  # at which step
    links = [g.Link(a, b, line=1.5, gap=2, step=comes[b]) for a, b in pairwise(way)]
    past = g.Link("name of $x$", "plus", "around", style.LIT, 1.8, dashed=True, step=3)
    same = plan.of(cosine(cells[0], cells[2]))
    texts: list[list[g.Part]] = [
        ["$cos( x, x + f(x) ) =$", g.Numeral(same, style.BODY, bold=True)],
        ["$cos( x, f(x) ) =$", plan.number(cosine(cells[0], cells[1]), style.BODY)],
    ]
    stage = g.Columns(
        [x, [None, box.at(2)], result, [None, plus], total], gap=(12, 16), align="rml"
    )
    return plan.compose(
        g.middle(stage, g.Columns(texts, gap=(6, 2), align="rl").at(4), gap=style.APART),
        title="keeps" if float(same) > 0.9 else "turns" if float(same) > 0.5 else "replaced",
        note=spot.where + plan.say("note_pre" if pre else "note"),
        links=[*links, replace(past, sides=("left", "left"))],
        captions=[plan.say(f"caption_{n}", sublayer=plan.say(sublayer)) for n in range(1, 5)],
        word=spot.text,
        angle=f"{np.degrees(np.arccos(np.clip(float(same), -1, 1))):.0f}",
        sublayer=plan.say(sublayer),
    )


@g.figure("norm")
def draw_norm(
    plan: g.Outline,
    *,
    side: str = "encoder",
    layer: int = 0,
    sublayer: str = "self_attention",
    query: Query = None,
) -> g.Scene:
    """Show a vector before and after LayerNorm, with mean and deviation (V66)."""
    spot = Spot(plan, side, layer, sublayer, query)
    cells = [spot.cell(spot.unnormed), spot.cell(f"{spot.name}_residual.normed")]
    rows = []
    for cell, role, key in zip(cells, ("sum", "norm"), ("before", "after"), strict=True):
        row = _show_vector(plan, cell, role, key, g.find_largest([plan.of(cell)]))
        row[0] = plan.label(key, ink=role, bold=True)
        spread, middle = plan.of(deviation(cell, spot.d)), plan.of(mean(cell, spot.d))
        row[3] = g.Down(
            g.Numeral(middle, style.BODY, before="μ = "),
            g.Numeral(spread, style.BODY, before="σ = "),
            gap=0,
        )
        rows.append(row)
    formula = g.Label("$α · (x − μ) / √(σ^2 + ε) + β$", style.TITLE, "norm")
    name = g.Component("LayerNorm", "norm", width=style.CELL[0] * 4, height=34).named("norm")
    stage = g.Columns([rows[0], [g.Spacer(), name, formula], rows[1]], gap=(12, 26), align="rml")
    before, after = (float(plan.of(deviation(cell, spot.d))) for cell in cells)
    key = "shrinks" if after < before else "grows"
    return plan.compose(
        stage,
        title=key,
        note=spot.where + plan.say(f"note_{plan.settings.norm}"),
        links=[g.Link("before", "norm"), g.Link("norm", "after")],
        word=spot.text,
        before=g.spell(before),
        after=g.spell(after),
    )


@g.figure("norm_steps")
def draw_norm_steps(
    plan: g.Outline,
    *,
    side: str = "encoder",
    layer: int = 0,
    sublayer: str = "self_attention",
    query: Query = None,
) -> g.Scene:
    """Show the formula of LayerNorm line by line, on the first numbers of one vector (V68)."""
    spot = Spot(plan, side, layer, sublayer, query)
    x, residual = spot.cell(spot.unnormed), f"{spot.name}_residual"
    middle = f"{residual}.mean[{spot.row}]"
    spread = f"{residual}.deviation[{spot.row}]"
    lines = (
        ("$x$", x, "sum", False),
        ("$x − μ$", f"{x} - {middle}", "plain", False),
        ("$(x − μ) / σ$", f"({x} - {middle}) / {spread}", "plain", False),
        ("$α$", f"{residual}.norm.weight[d]", "linear", True),
        ("$β$", f"{residual}.norm.bias[d]", "linear", True),
        ("$α (x − μ) / σ + β$", spot.cell(f"{residual}.normed"), "norm", False),
    )
    rows = [
        [g.Label(label, ink=role), plan.strip(expression, role, shown=6, learned=learned)]
        for label, expression, role, learned in lines
    ]
    facts = g.Across(
        plan.number(middle, style.HEADING, before="μ = "),
        plan.number(spread, style.HEADING, before="σ = "),
        gap=style.APART,
    )
    left = g.middle(g.Columns(rows, gap=(12, 9), align="rl"), facts, gap=16)
    return plan.compose(
        g.Across(left, _list_spreads(plan, spot, f"{residual}.normed"), gap=style.FAR),
        note=spot.where + plan.say("note", word=spot.text),
        left=(min(LISTED, len(spot.texts)), len(spot.texts)),
        middle=g.spell(float(plan.of(middle))),
        spread=g.spell(float(plan.of(spread))),
    )


def _list_spreads(plan: g.Outline, spot: Spot, after: str) -> g.Node:
    """Return a table of the deviation of tokens before and after LayerNorm."""
    first = max(0, min(spot.row - LISTED // 2, len(spot.texts) - LISTED))
    rows = [plan.heads("", "before", "after")]
    for i in range(first, min(first + LISTED, len(spot.texts))):
        own = i == spot.row
        spreads = (deviation(spot.cell(tensor, i), spot.d) for tensor in (spot.unnormed, after))
        name = g.Label(spot.texts[i], style.SMALL, bold=own, fit=70)
        rows.append([name, *(plan.number(each, bold=own) for each in spreads)])
    return g.Columns(rows, gap=(12, 3), align="r")


@g.figure("stream")
def draw_stream(plan: g.Outline, *, side: str = "encoder") -> g.Scene:
    """Show length, and cosine with the input, of each token's vector layer by layer (V69)."""
    trace, layers = plan.trace, count_layers(plan.trace, side)
    names = [f"{SIDES[side]}_embedding.sum", *(find_output(trace, side, n) for n in range(layers))]
    lengths = np.stack([plan.of(length(f"{name}[q,d]")).values for name in names])
    turned = np.stack(
        [plan.of(cosine(f"{name}[q,d]", f"{names[0]}[q,d]")).values for name in names]
    )
    texts = tell_tokens(trace.source if side == "encoder" else trace.target)
    grown = lengths[-1] / lengths[0]
    median = np.argsort(grown)[len(grown) // 2]
    ends = (grown.argmax(), median, turned[-1].argmin(), *np.argsort(-lengths[-1])[:2])
    named = list(dict.fromkeys(map(int, ends)))
    plots: list[g.Node] = []
    spans = ((0.0, float(lengths.max()) * 1.05), (min(0.0, float(turned.min())), 1.0))
    for key, values, span in zip(("length", "cosine"), (lengths, turned), spans, strict=True):
        curves = []
        for i in sorted(range(len(texts)), key=lambda i: i in named):
            look = (style.FAINT, 0.8, "", False)
            if i in named:
                look = (style.HEADS[named.index(i)], 2.2, texts[i], True)
            curves.append(g.Curve(range(layers + 1), values[:, i].tolist(), *look))
        plots.append(
            plan.plot(
                curves, "across", key, width=220, x=(0, layers), y=span, x_ticks=range(layers + 1)
            )
        )
    times, most = float(grown.max()), texts[int(grown.argmax())]
    least = float(grown.min())
    key = "stays" if times <= 1.5 else "grows" if least > 1.5 and len(texts) > 1 else "grows_some"
    return plan.compose(
        g.Across(*plots, gap=style.APART, align="top"),
        title=key,
        note=f"note_{side}",
        word=most,
        n=len(texts),
        least=f"{least:.1f}",
        times=f"{times:.1f}",
        turned=f"{np.degrees(np.arccos(np.clip(turned[-1].min(), -1, 1))):.0f}",
    )


@g.figure("amplitude")
def draw_amplitude(plan: g.Outline) -> g.Scene:
    """Show the length of each word's vector beside that of its position (V29)."""
    texts = plan.source
    words = plan.of(length("source_embedding.embedded[q,d]"))
    place = plan.of(length("source_embedding.positions[q,d]"))
    order = np.argsort(words.values)
    shown = order if len(order) <= 16 else order[np.linspace(0, len(order) - 1, 16).astype(int)]
    limit = float(max(words.values.max(), place.values.max()))
    rows: list[list[g.Part]] = [
        [g.Label(texts[i], fit=100), _Dots(words[int(i)], place[int(i)], limit)] for i in shown
    ]
    rows.append([None, plan.small("long", "embedded")])
    quiet = sum(words.values < place.values)
    key = "louder" if quiet == 0 else "quieter" if quiet == len(texts) else "mixed"
    return plan.compose(
        g.Columns(rows, gap=(style.NEAR, 4), align="rl"),
        title=key,
        note=plan.say(
            "note",
            d=plan.settings.d_model,
            n=len(shown),
            all=len(texts),
            amplitude=f"{plan.settings.positions.amplitude:g}",
        ),
        callouts=[g.Callout("place", "place", "above", 150, of=place[0])],
        louder=len(texts) - quiet,
        all=len(texts),
        long=g.spell(float(place.values.max())),
    )


class _Dots(g.Node):
    """The length of a word as a dot with its number, and that of its position as a tick."""

    def __init__(self, word: g.Quantity, place: g.Quantity, limit: float, width: float = 320.0):
        self.word, self.place_, self.limit, self.long = word, place, limit, width
        self.number = g.Numeral(word)
        self.width, self.height = width + 40, 16.0

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        middle, word = y + self.height / 2, x + self.long * float(self.word) / self.limit
        tick = x + self.long * float(self.place_) / self.limit
        sheet.places.setdefault("place", g.Area(tick - 2, y, 4, self.height))
        sheet.line((x, middle), (word, middle), ink=style.HAIR, line=1.0)
        sheet.line((tick, y - 2), (tick, y + self.height + 2), ink="positions", line=2.2)
        sheet.dot(word, middle, 4.0, "embedded", layer=4)
        self.number.place(sheet, word + 8, middle - self.number.height / 2)

"""Figures of the feed-forward network: one token through it, and its bend (V63, V64)."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from glassformer.see.catalogue import look_up
from glassformer.see.expression import parse_equation
from glassformer.see.recompute import Along, Where, evaluate_expression

from .attention import Query, choose_token
from .parts import grammar as g
from .parts import style
from .parts.selection import count_layers, find_input, list_shown, pick, tell_tokens

MOST, DOTS = 13, 400  # tokens whose units are counted; units drawn on the curve
SIDE = 112.0  # of a raster of units


class Unit(NamedTuple):
    """One token in the feed-forward network of one layer."""

    name: str  # encoder.2.feed_forward
    side: str
    layer: int
    row: int
    texts: list[str]

    def count_active(self, plan: g.Outline, row: int) -> g.Quantity:
        """Return how many inner units of a token are above 0."""
        return plan.of(f"sum[f] where(0 < {self.name}.hidden[{row},f], 1, 0)")


def find_unit(plan: g.Outline, side: str, layer: int, query: Query) -> Unit:
    """Return the token that is asked for, or a word of the sentence."""
    layer = pick(layer, count_layers(plan.trace, side), "layer")
    tokens = plan.trace.source if side == "encoder" else plan.trace.target
    row = choose_token(tokens, query)
    return Unit(f"{side}.{layer}.feed_forward", side, layer, row, tell_tokens(tokens))


def as_raster(values: g.Array) -> g.Array:
    """Return a long vector in rows, about as wide as high, filled up with NaN."""
    wide = 2 ** math.ceil(math.log2(math.sqrt(len(values))))
    rows = -(-len(values) // wide)
    padded = np.full(rows * wide, np.nan)
    padded[: len(values)] = values
    return padded.reshape(rows, wide)


@g.figure("feed_forward")
def draw_feed_forward(
    plan: g.Outline, *, side: str = "encoder", layer: int = 0, query: Query = None
) -> g.Scene:
    """Show one token through the feed-forward network; each inner unit is a cell (V63)."""
    unit, settings = find_unit(plan, side, layer, query), plan.settings
    inputs = find_input(plan.trace, side, unit.layer, "feed_forward")
    inner, hidden = (plan.of(f"{unit.name}.{w}[{unit.row},f]") for w in ("inner", "hidden"))
    limit, ink = g.find_largest([inner]), "feed_forward"
    bend = "ReLU" if settings.activation == "relu" else settings.activation.upper()
    show = partial(plan.strip, shown=2, cell=(36.0, 22.0))
    x = show(f"{inputs}[{unit.row},d]", "residual")
    y = show(f"{unit.name}.output[{unit.row},d]", "feed_forward")
    rasters = []
    for key, values, step in (("inner", inner, 2), ("hidden", hidden, 3)):
        raster = as_raster(values.values)
        high = SIDE * raster.shape[0] / raster.shape[1]
        size = {"width": SIDE, "height": high, "limit": limit}
        panel = g.Panel(np.nan_to_num(raster), hidden=np.isnan(raster), **size)
        text = g.small(plan.say(key, bend=bend), ink, width=SIDE + 20, align="middle")
        result = g.middle(panel.named(key), text, gap=4, stands_on=0)
        rasters.append(result.at(step, (-70, 0)))
    w_1, w_2 = (
        g.Component(f"$W_{n}$", "linear", width=42, height=42, size=style.HEADING).named(f"W {n}")
        for n in (1, 2)
    )
    ends = []
    for letter, role, strip in (("x", "residual", x), ("f(x)", "feed_forward", y)):
        text = g.Label(f"${letter}$", style.HEADING, role)
        ends.append(g.middle(text, strip.named(letter), gap=2, stands_on=1))
    way = g.Across(ends[0].at(1), w_1, rasters[0], rasters[1], w_2, ends[1].at(4, (-60, 0)), gap=20)
    names = ("x", "W 1", "inner", "hidden", "W 2", "f(x)")
    links = [g.Link(a, b, step=n // 2 + 1) for n, (a, b) in enumerate(pairwise(names))]
    dark = "dark" if bend == "ReLU" else "bent"
    on, units = int(float(unit.count_active(plan, unit.row))), len(inner)
    return plan.compose(
        g.middle(way, _count_units(plan, unit, units).at(5, (0, 30)), gap=style.APART),
        left=(len(list_shown(len(unit.texts), MOST)), len(unit.texts)),
        links=links,
        callouts=[g.Callout("hidden", plan.say(dark), "above", 150, 3)],
        captions=[plan.say(f"caption_{n}", bend=bend, f=units) for n in range(1, 6)],
        word=unit.texts[unit.row],
        n=on,
        all=units,
        d=settings.d_model,
        f=units,
        layer=unit.layer,
        side=plan.say(side),
    )


def _count_units(plan: g.Outline, unit: Unit, units: int) -> g.Node:
    """Return a bar for each token: how many of its units are on."""
    bars, shown = list[g.Node](), list_shown(len(unit.texts), MOST)
    counts = {n: unit.count_active(plan, n) for n in shown}
    limit = max(1.0, *map(float, counts.values()))
    for n in shown:
        ink = style.LIT if n == unit.row else "feed_forward"
        bar = g.Pillar(counts[n], limit, ink, width=24, height=72, digits=0)
        name = g.tiny(unit.texts[n], style.LIT if n == unit.row else style.INK, fit=42)
        bars.append(g.Slot(g.middle(bar, name, gap=2), 45))
    text = g.small(plan.say("units", n=units))
    return g.middle(text, g.Across(*bars, gap=2, align="bottom"), gap=4)


@g.figure("bend")
def draw_activation(
    plan: g.Outline, *, side: str = "encoder", layer: int = 0, query: Query = None
) -> g.Scene:
    """Show the activation function, and the inner units of one token on it (V64)."""
    unit, activation = find_unit(plan, side, layer, query), plan.settings.activation
    bend = "ReLU" if activation == "relu" else activation.upper()
    inner, hidden = (plan.of(f"{unit.name}.{w}[{unit.row},f]").values for w in ("inner", "hidden"))
    limit = 1.1 * g.find_largest([inner])
    grid = np.linspace(-limit, limit, 201)
    curves = [g.Curve(grid.tolist(), activate(activation, grid).tolist(), style.FAINT, 2.5)]
    order = np.argsort(inner)
    kept = order[np.unique(np.linspace(0, len(order) - 1, min(DOTS, len(order))).astype(int))]
    inks = {"off": "query", "on": style.LIT}
    for name, colour in inks.items():
        own = kept[(inner[kept] > 0) == (name == "on")]
        if len(own):
            xs, ys = inner[own].tolist(), hidden[own].tolist()
            curves.append(g.Curve(xs, ys, colour, 0.0, dots=True, alpha=0.45, name=name))
    plot = g.Plot(
        curves,
        width=420,
        height=200,
        x=(-limit, limit),
        y=(min(-0.08 * limit, float(hidden.min())), limit),
        across=plan.say("before"),
        up=plan.say("after", bend=bend),
    )
    name = f"{unit.name}.inner[{unit.row},f]"
    tests = {"off": f"{name} <= 0", "on": f"0 < {name}"}
    counts = {key: plan.of(f"sum[f] where({test}, 1, 0)") for key, test in tests.items()}
    heads: list[g.Node] = []
    for key, count in counts.items():
        number = g.Numeral(count, 24.0, inks[key], digits=0, bold=True)
        heads.append(g.Slot(g.Across(number, plan.label(key, ink=inks[key])), 210))
    off = int(float(counts["off"]))
    key = "title" if activation == "relu" else "title_bent"
    return plan.compose(
        g.Down(g.Across(g.Spacer(30), *heads, gap=0), plot, gap=0),
        title=key,
        note=plan.say("note", side=plan.say(side), layer=unit.layer)
        + (plan.say("thinned", n=len(kept), all=len(inner)) if len(kept) < len(inner) else ""),
        callouts=[g.Callout("off", "why", "above", 190)] if off else [],
        word=unit.texts[unit.row],
        n=off,
        all=len(inner),
        bend=bend,
    )


def activate(activation: str, x: g.Array) -> g.Array:
    """Return the activation of numbers, by the equation of the catalogue."""
    entry = look_up("encoder.0.feed_forward.hidden")
    assert entry
    _, right = parse_equation(entry.choose_equation({"activation": activation}))
    where: Where = {"q": 0, "f": Along(0, np.arange(len(x)))}
    return evaluate_expression(right, where, lambda name: x[None], {}).cells

"""Figures of the frequencies of the positional encoding: waves, one by hand, code (V23-V27)."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import style
from .links import Callout, Link
from .nodes import (
    Across,
    Align,
    Card,
    Columns,
    Down,
    Held,
    Label,
    Node,
    Numeral,
    Panel,
    Strip,
    spell,
)
from .plan import Outline, figure
from .plot import Curve, Plot
from .scene import Scene
from .waves import encode_waves, wave_rates

Array = NDArray[Any]
LENGTHS = Path(__file__).with_name("lengths.json")
FEW = 8  # numbers of position 0 that are drawn at its beginning


@figure("waves")
def draw_waves(plan: Outline) -> Scene:
    """Show dimensions 4 to 7 of 20, over a hundred positions (V23)."""
    places = np.arange(0, 100.01, 0.25)
    values = encode_waves(places, 20)
    lengths = plan.give("wavelength", 2 * np.pi / wave_rates(20)[[2, 3]])
    curves = [
        Curve(
            places.tolist(),
            values[:, dimension].tolist(),
            style.HEADS[dimension // 2 - 2],
            2.2,
            f"{dimension}: {'cos' if dimension % 2 else 'sin'}",
            dashed=bool(dimension % 2),
            name=f"dimension {dimension}",
        )
        for dimension in range(4, 8)
    ]
    ticks = range(0, 101, 20)
    across, up = plan.say("position"), plan.say("value")
    plot = Plot(curves, width=470, x=(0, 100), y=(-1, 1), across=across, up=up, x_ticks=ticks)
    told = Across(
        *(
            Numeral(length, style.BODY, style.HEADS[n], digits=1, before=plan.say("pair", n=n + 2))
            for n, length in enumerate(lengths)
        ),
        gap=style.APART,
    )
    slower = float(lengths[1]) / float(lengths[0])
    return plan.compose(
        Down(plot, told, gap=style.NEAR, align="middle"),
        title=plan.say("title", times=f"{slower:.1f}"),
        note=plan.say("note"),
        callouts=[Callout("dimension 7 label", plan.say("quarter"), "below", 88)],
        origin=plan.say("formulas"),
    )


@figure("by_hand")
def draw_one_word(plan: Outline) -> Scene:
    """Show the encoding of "love" in "I love AI", number by number, at width 4 (V24)."""
    formulas = ("$i$", "$2i / d$", "$10000^{2i/d}$", "$pos / 10000^{2i/d}$")
    ink = style.role("positions").ink
    rows: list[list[Node]] = [[Label(""), *(Label(each, style.BODY, ink) for each in formulas)]]
    found = plan.give("encoding", encode_waves([1], 4)[0])
    for n, value in enumerate(found):
        i = n // 2
        scale = 10000 ** (2 * i / 4)
        steps = plan.give(f"steps{n}", [i, 2 * i / 4, scale, 1 / scale])
        row: list[Node] = [Label(plan.say("dimension", n=n), style.SMALL, style.SOFT)]
        digits = (0, 1, 0, 2)
        row += [Numeral(s, style.BODY, digits=d) for s, d in zip(steps, digits, strict=True)]
        name = "cos" if n % 2 else "sin"
        row.append(Numeral(value, style.BODY, digits=4, before=f"{name} = ", bold=True))
        rows.append(row)
    align: list[Align] = ["start", "middle", "middle", "middle", "middle", "end"]
    table = Columns(rows, gap=(24, 9), align=align).named("table")
    strip = Strip(found, "positions", digits=4, cell=(54.0, 26.0), size=style.BODY).named("love")
    words = Label(plan.say("sentence"), style.HEADING)
    return plan.compose(
        Down(words, table, strip, gap=26, align="middle"),
        title=plan.say("title", fast=spell(1.0, 0), slow=spell(float(wave_rates(4)[1]))),
        note=plan.say("note"),
        links=[Link("table", "love", line=2)],
        callouts=[Callout("love", plan.say("love"), "right", 120)],
        origin=plan.say("formulas"),
    )


@figure("position_0")
def draw_position_0(plan: Outline, *, d_model: int = 512) -> Scene:
    """Show position 0: every sine is 0, every cosine is 1 (V25)."""
    values = plan.give("encoding", encode_waves([0], d_model)[0])
    last = [n for n in (d_model - 2, d_model - 1) if n >= FEW]
    ink = style.role("positions").ink
    cells: list[Node] = []
    for n in [*range(min(FEW, d_model)), *last]:
        if n == d_model - 2:
            cells.append(Label("…", style.TITLE, style.SOFT))
        wave = Label("cos 0" if n % 2 else "sin 0", style.SMALL, ink)
        box = Card(Numeral(values[n], style.HEADING, digits=0), fill=style.role("positions").fill)
        index = Label(str(n), style.TINY, style.SOFT)
        cells.append(Down(wave, box, index, gap=4, align="middle").named(f"cell {n}"))
    long = float(np.sqrt((values.values**2).sum()))
    return plan.compose(
        Across(*cells, gap=6),
        title=plan.say("title", long=f"{long:g}"),
        note=plan.say("note", d=d_model, pairs=d_model // 2, long=f"{long:g}"),
        callouts=[Callout("cell 1", plan.say("cosine"), "below", 200)],
        origin=plan.say("formulas"),
    )


@figure("properties")
def draw_properties(plan: Outline, *, shift: int = 5) -> Scene:
    """Show the encoding's properties: similarity, rotation, wavelengths, lengths (V26).

    shift: the shift of positions whose rotation is drawn.
    """
    panels = (_show_likeness(plan), _show_rotation(plan, shift), _show_paces(plan))
    cards = [
        Down(Label(plan.say(key, shift=shift), style.BODY, bold=True, width=300), panel, gap=10)
        for key, panel in zip(("alike", "rotation", "paces"), panels, strict=True)
    ]
    lengths, seen, unseen = _show_lengths(plan)
    beyond = Label(plan.say("beyond"), style.BODY, bold=True, width=300)
    cards.append(Down(beyond, lengths, gap=10))
    shares = {"seen": f"{seen:.0f}", "unseen": f"{unseen:.1f}"}
    return plan.compose(
        Down(*(Across(*row, gap=30, align="top") for row in (cards[:2], cards[2:])), gap=30),
        title=plan.say("title", **shares),
        note=plan.say("note"),
        callouts=[
            Callout("within", plan.say("knows", **shares), "right", 110),
            Callout("past", plan.say("fails", **shares), "above", 84),
        ],
        origin=plan.say("origin"),
    )


def _show_likeness(plan: Outline) -> Node:
    """Return the cosine of two positions against their distance."""
    table = encode_waves(np.arange(101), 512)
    cosine = plan.give("cosine", table @ table[0] / 256)
    ink = style.role("positions").ink
    line = Curve(range(101), cosine.values.tolist(), ink, 2)
    shown = (1, 2, 10, 50)
    dots = Curve(shown, [float(cosine[n]) for n in shown], dots=True, ink=ink, line=0)
    told = [Numeral(cosine[n], style.SMALL, ink, digits=3, before=f"{n}: ") for n in shown]
    across, up = plan.say("distance"), plan.say("likeness")
    plot = Plot([line, dots], width=240, height=120, x=(0, 100), y=(0.25, 1), across=across, up=up)
    return Down(plot, Across(*told, gap=14), gap=6, align="middle")


def _show_rotation(plan: Outline, shift: int) -> Node:
    """Return PE(p + k) = R PE(p) for one pair of dimensions; R is the same for every p."""
    rate = wave_rates(512)[40]
    c, s = np.cos(shift * rate), np.sin(shift * rate)
    rotation, pair = np.array([[c, s], [-s, c]]), encode_waves([7, 7 + shift], 512)[:, 80:82]
    assert np.allclose(rotation @ pair[0], pair[1])
    parts = []
    for name, values, title in (
        ("R", rotation, f"$R_{{{shift}}}$"),
        ("before", pair[0][:, None], "$PE(7)$"),
        ("after", pair[1][:, None], f"$PE({7 + shift})$"),
    ):
        wide = 52.0 * values.shape[1]
        panel = Panel(
            plan.give(name, values), width=wide, height=56, scale="wave", limit=1, digits=3
        )
        parts.append(Down(Label(title, style.BODY), panel, gap=3, align="middle", stands_on=1))
    times, equals = (Label(sign, style.TITLE, style.SOFT) for sign in "×=")
    whole = Across(parts[0], times, parts[1], equals, parts[2], gap=8)
    formula = Label("$R_k = ( cos k ω , sin k ω ; − sin k ω , cos k ω )$", style.BODY)
    where = Label(plan.say("pair_80"), style.SMALL, style.SOFT)
    return Down(whole, formula, where, gap=10, align="middle")


def _show_paces(plan: Outline) -> Node:
    """Return waves: the first pairs distinguish neighbours, the last ones regions."""
    rows = []
    for row, i in enumerate((0, 32, 96, 160)):
        rate = wave_rates(512)[i]
        values = np.sin(np.linspace(0, 100, 400) * rate)
        wave = Curve(np.linspace(0, 100, 400).tolist(), values.tolist(), style.HEADS[row], 1.5)
        plot = Plot([wave], width=170, height=26, x=(0, 100), y=(-1, 1), x_ticks=(), y_ticks=())
        long = plan.give(f"wave{i}", 2 * np.pi / rate)
        name = Label(plan.say("dimension", n=2 * i), style.SMALL)
        rows.append([name, plot, Numeral(long, digits=1)])
    heads: list[Node] = [Label(""), Label(plan.say("to_100"), style.SMALL, style.SOFT)]
    heads.append(Label(plan.say("wavelength"), style.SMALL, style.SOFT))
    return Columns([heads, *rows], gap=(8, 0), align=["end", "middle", "end"])


def _show_lengths(plan: Outline) -> tuple[Node, float, float]:
    """Return exact answers by length, and their shares up to the longest in training and beyond."""
    found = json.loads(LENGTHS.read_text(encoding="utf-8"))
    asked = {int(n): pair for n, pair in found["lengths"].items()}
    ink, edge = style.role("positions").ink, found["seen"] + 0.5
    shares = []
    for beyond in (False, True):
        pairs = [pair for n, pair in asked.items() if (n > found["seen"]) == beyond]
        right, count = np.sum(pairs, 0)
        shares.append(100 * right / count)
    dots = [Curve([n], [100 * a / b], ink, dots=True) for n, (a, b) in asked.items()]
    line = Curve([edge, edge], [0, 100], style.LIT, 1.4, dashed=True)
    means = [
        Curve(span, [share, share], style.LIT, 1.4, name=name)
        for name, span, share in zip(
            ("within", "past"), ((0.5, edge), (edge, max(asked))), shares, strict=True
        )
    ]
    across, up = plan.say("answer"), plan.say("right")
    plot = Plot(
        [*dots, *means, line], width=240, height=130, x=(0, 50), y=(0, 100), across=across, up=up
    )
    longest = Label(plan.say("longest", n=found["seen"]), style.SMALL, style.LIT)
    return Down(plot, longest, gap=4, align="middle"), *shares


def paper(positions: Array, d: int) -> Array:
    """Return the positional encodings of the paper: sine and cosine take turns."""
    i = np.arange(d // 2)
    angle = positions[:, None] / 10000 ** (2 * i / d)
    table = np.empty((len(positions), d))
    table[:, 0::2] = np.sin(angle)
    table[:, 1::2] = np.cos(angle)
    return table


def tensor2tensor(positions: Array, d: int) -> Array:
    """Return the positional encodings of Tensor2Tensor: all sines, then all cosines."""
    i = np.arange(d // 2)
    angle = positions[:, None] / 10000 ** (i / (d / 2 - 1))
    table = np.empty((len(positions), d))
    table[:, : d // 2] = np.sin(angle)
    table[:, d // 2 :] = np.cos(angle)
    return table


@figure("code_of_waves")
def draw_wave_code(plan: Outline, *, positions: int = 20, d_model: int = 8) -> Scene:
    """Show code for both layouts, each line with sin or cos joined to what it makes (V27)."""
    rows: list[list[Node]] = []
    half, slow = d_model // 2, []
    for function in (paper, tensor2tensor):
        name = function.__name__
        values = plan.give(name, function(np.arange(positions), d_model))
        panel = Panel(values, width=WIDE, height=130, scale="wave", limit=1.0)
        waves = ["sin", "cos"] * half if function is paper else ["sin"] * half + ["cos"] * half
        heads = [
            Held(Label(wave, style.TINY, INKS[wave], bold=True), WIDE / d_model) for wave in waves
        ]
        panel.named(name)
        made = Down(*([Across(*heads, gap=0)] if d_model <= MOST else []), panel, gap=0)
        code = Card(Down(*map(_set_code, _read_lines(function)), gap=1), pad=10)
        title = Label(plan.say(name), style.HEADING, style.role("positions").ink, bold=True)
        slowest = plan.give(f"slowest_{name}", 1 / _find_slowest(function, d_model))
        slow.append(float(slowest))
        told = Numeral(slowest, style.SMALL, style.LIT, digits=0, before=plan.say("slowest"))
        rows.append([Down(title, code, told, gap=6), made])
    return plan.compose(
        Columns(rows, gap=(34, 24), align=["start", "middle"]),
        title=plan.say("title", times=spell(slow[1] / slow[0], 1 if slow[1] < 3 * slow[0] else 0)),
        note=plan.say("note", n=positions, d=d_model),
        callouts=[Callout("tensor2tensor", plan.say("seam"), "below", 200)],
        origin=plan.say("formulas"),
    )


WIDE, MOST = 240.0, 12  # of a table of encodings; columns that are named
INKS = {"sin": style.HEADS[0], "cos": style.HEADS[1]}
EXPONENT = re.compile(r"\(2 \* i / d\)|\(i / \(d / 2 - 1\)\)")


def _find_slowest(function: Callable[..., Array], d_model: int) -> float:
    """Return the radians per position of the slowest wave of a table."""
    table = function(np.arange(2), d_model)
    return float(np.abs(np.arcsin(table[1])[table[0] == 0]).min())


def _read_lines(function: Callable[..., Array]) -> list[str]:
    """Return the lines of a function, without its signature's types and its docstring."""
    lines = inspect.getsource(function).splitlines()
    return [f"def {function.__name__}(positions, d):", *lines[2:]]


def _set_code(line: str) -> Node:
    """Return a line of code with its exponent lit, coloured if it takes a sine or cosine."""
    ink = next((ink for wave, ink in INKS.items() if f"np.{wave}(" in line), style.INK)
    found = EXPONENT.search(line)
    ends = [0, *(found.span() if found else ()), len(line)]
    parts: list[Node] = []
    for n, (start, end) in enumerate(pairwise(ends)):
        lit, part = n == 1, line[start:end].replace(" ", "\u00a0")
        parts.append(Label(part, style.SMALL, style.LIT if lit else ink, mono=True, bold=lit))
    return Across(*parts, gap=0)

"""Figures of the frequencies of the positional encoding: waves, one by hand, code (V23-V27)."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from .parts import grammar as g
from .parts import style
from .waves import encode_waves, wave_rates

Array = NDArray[Any]
LENGTHS = Path(__file__).with_name("lengths.json")
FEW = 8  # numbers of position 0 that are drawn at its beginning


@g.figure("waves")
def draw_waves(plan: g.Outline) -> g.Scene:
    """Show dimensions 4 to 7 of 20, over a hundred positions (V23)."""
    places = np.arange(0, 100.01, 0.25)
    values = encode_waves(places, 20)
    lengths = plan.give("wavelength", 2 * np.pi / wave_rates(20)[[2, 3]])
    curves = []
    for n in range(4, 8):
        ink, label = style.HEADS[n // 2 - 2], f"{n}: {'cos' if n % 2 else 'sin'}"
        curves.append(
            g.Curve(
                places.tolist(),
                values[:, n].tolist(),
                ink,
                2.2,
                label,
                dashed=bool(n % 2),
                name=f"dimension {n}",
            )
        )
    plot = plan.plot(
        curves, "position", "value", width=470, x=(0, 100), y=(-1, 1), x_ticks=range(0, 101, 20)
    )
    texts = [
        g.Numeral(each, style.BODY, style.HEADS[n], digits=1, before=plan.say("pair", n=n + 2))
        for n, each in enumerate(lengths)
    ]
    slower = float(lengths[1]) / float(lengths[0])
    return plan.compose(
        g.middle(plot, g.Across(*texts, gap=style.APART), gap=style.NEAR),
        callouts=[g.Callout("dimension 7 label", "quarter", "below", 88)],
        origin="formulas",
        times=f"{slower:.1f}",
    )


@g.figure("by_hand")
def draw_one_word(plan: g.Outline) -> g.Scene:
    """Show the encoding of "love" in "I love AI", number by number, at width 4 (V24)."""
    formulas = ("$i$", "$2i / d$", "$10000^{2i/d}$", "$pos / 10000^{2i/d}$")
    heads = (g.Label(each, ink="positions") for each in formulas)
    rows: list[list[g.Node]] = [[g.Label(""), *heads]]
    result = plan.give("encoding", encode_waves([1], 4)[0])
    for n, value in enumerate(result):
        i = n // 2
        scale = 10000 ** (2 * i / 4)
        steps = plan.give(f"steps{n}", [i, 2 * i / 4, scale, 1 / scale])
        row: list[g.Node] = [g.small(plan.say("dimension", n=n))]
        digits = (0, 1, 0, 2)
        row += [g.Numeral(s, style.BODY, digits=d) for s, d in zip(steps, digits, strict=True)]
        name = "cos" if n % 2 else "sin"
        row.append(g.Numeral(value, style.BODY, digits=5, before=f"{name} = ", bold=True))
        rows.append(row)
    table = g.Columns(rows, gap=(24, 9), align="lmmmmr").named("table")
    strip = g.Strip(result, "positions", digits=5, cell=(60.0, 26.0), size=style.BODY).named("love")
    words = plan.label("sentence", style.HEADING)
    return plan.compose(
        g.middle(words, table, strip, gap=26),
        links=[g.Link("table", "love", line=2)],
        callouts=[g.Callout("love", "love", "right", 120)],
        origin="formulas",
        fast=g.spell(1.0, 0),
        slow=g.spell(float(wave_rates(4)[1])),
    )


@g.figure("position_0")
def draw_position_0(plan: g.Outline, *, d_model: int = 512) -> g.Scene:
    """Show position 0: every sine is 0, every cosine is 1 (V25)."""
    values = plan.give("encoding", encode_waves([0], d_model)[0])
    last = [n for n in (d_model - 2, d_model - 1) if n >= FEW]
    cells: list[g.Node] = []
    for n in [*range(min(FEW, d_model)), *last]:
        if n == d_model - 2:
            cells.append(g.Label("…", style.TITLE, style.SOFT))
        wave, number = g.small("cos 0" if n % 2 else "sin 0", "positions"), values[n]
        box = g.Card(g.Numeral(number, style.HEADING, digits=0), fill=style.role("positions").fill)
        cells.append(g.middle(wave, box, g.tiny(str(n)), gap=4).named(f"cell {n}"))
    long = float(np.sqrt((values.values**2).sum()))
    return plan.compose(
        g.Across(*cells, gap=6),
        callouts=[g.Callout("cell 1", "cosine", "below", 200)],
        origin="formulas",
        long=f"{long:g}",
        d=d_model,
        pairs=d_model // 2,
    )


@g.figure("properties")
def draw_properties(plan: g.Outline, *, shift: int | None = None) -> g.Scene:
    """Show along one axis of positions what the encoding is like, and what a model does (V26).

    Waves, likeness to position 0, and exact answers by length, up to the longest in training and
    beyond. shift: how far the positions are shifted whose angles are told, by default 5; the
    rotation matrix of one wave is told too if it is given.
    """
    payload = json.loads(LENGTHS.read_text(encoding="utf-8"))
    answers, seen, unseen = _show_answers(plan, payload)
    matrix = "" if shift is None else _tell_rotation(plan, shift)
    shift = SHIFT if shift is None else shift
    edge = INSET + ACROSS * (payload["seen"] + 0.5) / LAST
    parts = [
        g.Down(plan.label(key, bold=True), _Ruled(panel, edge).named(f"{key} rule"), gap=4)
        for key, panel in (
            ("waves", _show_waves(plan, shift)),
            ("alike", _show_likeness(plan)),
            ("answers", answers),
        )
    ]
    facts = {"seen": f"{seen:.0f}", "unseen": f"{unseen:.1f}", "n": payload["seen"]}
    return plan.compose(
        g.Down(*parts, gap=12),
        title=plan.say("title", **facts),
        note=plan.say("note", shift=shift, matrix=matrix, **facts),
        callouts=[
            g.Callout("within", "knows", "right", 110),
            g.Callout("answers rule", "longest", "right", 220),
            g.Callout("past", "fails", "above", 110),
        ],
        origin="origin",
        **facts,
    )


def _tell_rotation(plan: g.Outline, shift: int) -> str:
    """Return the matrix by which a shift multiplies the sine and the cosine of one wave."""
    c, s = (wave(shift * wave_rates(D)[TURNED]) for wave in (np.cos, np.sin))
    pair = encode_waves([7, 7 + shift], D)[:, 2 * TURNED : 2 * TURNED + 2]
    assert np.allclose(np.array([[c, s], [-s, c]]) @ pair[0], pair[1])
    return plan.say("matrix", i=TURNED, c=g.spell(c, 3), s=g.spell(s, 3), t=g.spell(-s, 3))


D, TURNED, SHIFT = 512, 40, 5  # the width; the pair of dimensions whose rotation is printed
WAVES = (0, TURNED, 96, 160)  # pairs of dimensions
ACROSS, INSET, LAST = 440.0, 56.0, 50  # the common axis: its width, where it begins, its end
TICKS: dict[str, Any] = {"x": (0, LAST), "x_ticks": range(0, LAST + 1, 10), "width": ACROSS}
UNDER = 31.0  # a plot, for the numbers and the name of its axis


class _Ruled(g.Node):
    """A panel with an upright broken line through it."""

    def __init__(self, node: g.Node, across: float):
        self.node, self.across = node, across
        self.width, self.height = node.width, node.height

    def bound(self, x: float, y: float) -> g.Area:
        """Return the middle of the line."""
        return g.Area(x + self.across, y + self.height / 2, 0, 0)

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        self.node.place(sheet, x, y)
        ends = ((x + self.across, y), (x + self.across, y + self.height - UNDER))
        sheet.line(*ends, ink=style.LIT, line=1.4, dashed=True, layer=3)


def _inset(plot: g.Plot) -> g.Node:
    """Return a plot whose axis begins where that of all others does."""
    return g.Across(g.Spacer(INSET - plot.inset), plot, gap=0, align="top")


def _show_waves(plan: g.Outline, shift: int) -> g.Node:
    """Return waves along the positions, and by what angle a shift turns each of them."""
    rows: list[list[g.Part]] = []
    places = np.linspace(0, LAST, 400)
    for row, i in enumerate(WAVES):
        rate = wave_rates(D)[i]
        wave = g.Curve(places.tolist(), np.sin(places * rate).tolist(), style.HEADS[row], 1.5)
        plot = g.Plot(
            [wave], width=ACROSS, height=20, x=(0, LAST), y=(-1, 1), x_ticks=(), y_ticks=()
        )
        turned = plan.give(f"turned{i}", [np.degrees(shift * rate)])[0]
        digits = 0 if float(turned) >= 10 else 1
        text = g.Label(f"{g.spell(float(turned), digits)}°", style.SMALL, of=turned)
        name = g.tiny(plan.say("wave", n=i))
        rows.append([g.Slot(name, INSET - plot.inset, "start"), plot, text])
    head = g.tiny(plan.say("shifted", shift=shift), width=56)
    axis = g.Plot((), height=0, y=(-1, 1), y_ticks=(), across=plan.say("place"), **TICKS)
    table = g.Columns([[None, None, head], *rows], gap=(0, -8), align="llr")
    return g.Down(table, g.Across(g.Spacer(INSET - axis.inset), axis, gap=0), gap=-18)


def _show_likeness(plan: g.Outline) -> g.Node:
    """Return the cosine of two positions against their distance."""
    table = encode_waves(np.arange(LAST + 1), D)
    cosine = plan.give("cosine", table @ table[0] / (D // 2))
    ink = "positions"
    line = g.Curve(range(LAST + 1), cosine.values.tolist(), ink, 2)
    shown = (1, 2, 10, LAST)
    dots = [g.Curve([n], [float(cosine[n])], ink, dots=True) for n in shown]
    texts = [g.Numeral(cosine[n], style.SMALL, ink, digits=3, before=f"{n}: ") for n in shown]
    return _inset(
        NumberedDots(
            [line, *dots],
            texts,
            y_ticks=(0, 0.5, 1),
            height=86,
            y=(0, 1.25),
            across=plan.say("place"),
            **TICKS,
        )
    )


class NumberedDots(g.Plot):
    """Curves, the last of which are dots, each with its number at its upper right."""

    def __init__(
        self,
        curves: list[g.Curve],
        numerals: list[g.Numeral],
        *,
        across: str,
        **look: Unpack[g.PlotLook],
    ):
        super().__init__(curves, across=across, **look)
        self.numerals = numerals

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        super().draw(sheet, x, y)
        low, dots = y + self.height, self.curves[-len(self.numerals) :]
        for dot, number in reversed([*zip(dots, self.numerals, strict=True)]):
            across, down = self.find(dot.xs[0], dot.ys[0])
            low = min(low + 2, y + down + 1) - number.height
            number.place(sheet, x + across + 5, low)


def _show_answers(plan: g.Outline, fields: dict[str, Any]) -> tuple[g.Node, float, float]:
    """Return exact answers by length, and their shares up to the longest in training and beyond."""
    asked = {int(n): pair for n, pair in fields["lengths"].items()}
    edge = fields["seen"] + 0.5
    shares = []
    for beyond in (False, True):
        pairs = [pair for n, pair in asked.items() if (n > fields["seen"]) == beyond]
        right, count = np.sum(pairs, 0)
        shares.append(100 * right / count)
    dots = [g.Curve([n], [100 * a / b], "positions", dots=True) for n, (a, b) in asked.items()]
    means = [
        g.Curve(span, [share, share], style.LIT, 1.4, name=name)
        for name, span, share in zip(
            ("within", "past"), ((edge, 0.5), (edge, max(asked))), shares, strict=True
        )
    ]
    plot = g.Plot(
        [*dots, *means],
        across=plan.say("answered"),
        height=110,
        y=(0, 100),
        y_ticks=(0, 50, 100),
        **TICKS,
    )
    return _inset(plot), *shares


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


@g.figure("code_of_waves")
def draw_wave_code(plan: g.Outline, *, positions: int = 20, d_model: int = 8) -> g.Scene:
    """Show code for both layouts, each line with sin or cos joined to what it makes (V27)."""
    rows: list[list[g.Node]] = []
    half, slow = d_model // 2, []
    for function in (paper, tensor2tensor):
        name = function.__name__
        values = plan.give(name, function(np.arange(positions), d_model))
        panel = g.Panel(values, width=WIDE, height=130, scale="wave", limit=1.0)
        waves = ["sin", "cos"] * half if function is paper else ["sin"] * half + ["cos"] * half
        heads = [g.Slot(g.tiny(wave, INKS[wave], bold=True), WIDE / d_model) for wave in waves]
        panel.named(name)
        result = g.Down(*([g.Across(*heads, gap=0)] if d_model <= MOST else []), panel, gap=0)
        code = g.Card(g.Down(*map(_set_code, _read_lines(function)), gap=1), pad=10)
        title = plan.label(name, style.HEADING, "positions", bold=True)
        slowest = plan.give(f"slowest_{name}", 1 / _find_slowest(function, d_model))
        slow.append(float(slowest))
        text = g.Numeral(slowest, style.SMALL, style.LIT, digits=0, before=plan.say("slowest"))
        rows.append([g.Down(title, code, text, gap=6), result])
    return plan.compose(
        g.Columns(rows, gap=(34, 24), align="lm"),
        callouts=[g.Callout("tensor2tensor", "seam", "below", 200)],
        origin="formulas",
        times=g.spell(slow[1] / slow[0], 1 if slow[1] < 3 * slow[0] else 0),
        n=positions,
        d=d_model,
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


def _set_code(line: str) -> g.Node:
    """Return a line of code with its exponent lit, coloured if it takes a sine or cosine."""
    ink = next((ink for wave, ink in INKS.items() if f"np.{wave}(" in line), style.INK)
    match = EXPONENT.search(line)
    ends = [0, *(match.span() if match else ()), len(line)]
    parts: list[g.Node] = []
    for n, (start, end) in enumerate(pairwise(ends)):
        lit, part = n == 1, line[start:end].replace(" ", "\u00a0")
        parts.append(g.small(part, style.LIT if lit else ink, mono=True, bold=lit))
    return g.Across(*parts, gap=0)

"""Figures of time: what can run at once, and what attention costs (V72, V73)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from . import style
from .links import Callout
from .nodes import Across, Bar, Columns, Down, Held, Label, Node, Panel, Sheet
from .plan import Outline, figure
from .plot import Curve, Plot
from .scene import BoxMark, Scene
from .selection import show_tokens

TIMED = Path(__file__).with_name("costs.json")  # written by benchmarks/attention_cost.py
LEAST, MOST, SPELL = 5, 50, 40  # fewest calls, most calls, milliseconds
LAYERS, TOKENS, CELL = 6, 8, (12.0, 15.0)  # drawn in a timeline
Curves = dict[str, list[float]]


def count_products(length: int, settings: Any) -> dict[str, float]:
    """Return the multiplications of each part of one encoder layer, in millions."""
    width = settings.heads * settings.width
    parts = {
        "attention": 2 * length**2 * width,
        "projections": 4 * length * settings.d_model * width,
        "feed-forward": 2 * length * settings.d_model * settings.d_ff,
    }
    return {name: count / 1e6 for name, count in parts.items()}


def find_even(settings: Any) -> int:
    """Return the length at which attention multiplies as often as the rest of the layer."""
    counts = count_products(1, settings)
    return round((counts["projections"] + counts["feed-forward"]) / counts["attention"])


def read_timed(settings: Any) -> tuple[str, Curves] | None:
    """Return the machine and the timings of a layer of these sizes; None if none was timed.

    The timings are lists: lengths in tokens, milliseconds of attention and of the rest.
    """
    found = json.loads(TIMED.read_text(encoding="utf-8"))
    for layer in found["layers"]:
        if all(
            layer[name] == getattr(settings, name) for name in ("d_model", "d_ff", "heads", "width")
        ):
            return found["machine"], layer
    return None


def find_crossing(told: Curves) -> float | None:
    """Return the length from which attention takes longer than the rest; None if there is none.

    The times are interpolated linearly between the lengths that were timed.
    """
    ahead = np.subtract(told["attention"], told["rest"])
    after = int(np.argmax(ahead > 0))
    if not after:
        return None
    share = -ahead[after - 1] / (ahead[after] - ahead[after - 1])
    lengths = told["lengths"]
    return float(lengths[after - 1] + share * (lengths[after] - lengths[after - 1]))


@figure("cost")
def draw_cost(plan: Outline, *, longest: int | None = None) -> Scene:
    """Show the cost of attention against that of the rest of the layer, by length (V73).

    It is counted, and also timed if a layer of these sizes was timed. longest: the end of the x
    axis, by default twice the length at which both counts are equal.
    """
    settings, count = plan.trace.settings, len(plan.trace.source)
    even = find_even(settings)
    longest = longest or 2 * even
    lengths = np.unique(np.linspace(1, longest, 60).astype(int)).tolist()
    counts = [count_products(n, settings) for n in lengths]
    rest = [each["projections"] + each["feed-forward"] for each in counts]
    counted = {"lengths": lengths, "attention": [c["attention"] for c in counts], "rest": rest}
    meets = float(even) if even <= longest else None
    plots = [_plot(plan, "counted", counted, meets)]
    told = read_timed(settings)
    if told:
        plots.append(_plot(plan, "timed", told[1], find_crossing(told[1])))
    return plan.compose(
        Across(_Squares(plan, count), *plots, gap=22),
        title=plan.say("title", n=even),
        note=plan.say("note", n=even) + (plan.say("how", machine=told[0]) if told else ""),
        callouts=[Callout("counted even", plan.say("even"), "below", 78)] if meets else [],
    )


def _plot(plan: Outline, key: str, told: Curves, meets: float | None) -> Node:
    """Return the cost of attention and of the rest by length, with a dot where they are equal."""
    curves = [
        Curve(told["lengths"], told[name], style.role(role).ink, 2.2, plan.say(name))
        for name, role in (("attention", "weights"), ("rest", "feed_forward"))
    ]
    if meets:
        height = float(np.interp(meets, told["lengths"], told["rest"]))
        dot = Curve([meets], [height], style.INK, 0.0, f"{meets:.0f}", dots=True)
        curves.append(replace(dot, of=f"{meets:.9f}", name=f"{key} even"))
    top = 1.05 * max(*told["attention"], *told["rest"])
    return Plot(
        curves,
        width=140,
        height=170,
        x=(0, told["lengths"][-1]),
        y=(0, top),
        across=plan.say("tokens"),
        up=plan.say(key),
        x_ticks=[0, told["lengths"][-1] // 2, told["lengths"][-1]],
        beside=74,
    )


class _Squares(Node):
    """The weights of this sentence, and their size at two and four times its length."""

    def __init__(self, plan: Outline, count: int, side: float = 28.0):
        self.count, self.side = count, side
        weights = plan.of("encoder.0.self_attention.weights[0,q,m]")
        self.panel = Panel(weights, width=side, height=side, scale="share")
        told = plan.say("double")
        self.told = Label(told, style.SMALL, style.SOFT, width=4 * side, align="middle")
        self.width, self.height = 4 * side, 4 * side + 6 + self.told.height

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        look = style.role("weights")
        for scale in (4, 2):
            side = self.side * scale
            top = y + 4 * self.side - side
            box = BoxMark(x=x, y=top, width=side, height=side, fill=look.fill, edge=look.ink)
            sheet.add(box)
            told = Label(f"{scale * self.count} × {scale * self.count}", style.TINY, look.ink)
            told.place(sheet, x + side - told.width - 4, top + 2)
        self.panel.place(sheet, x, y + 3 * self.side)
        self.told.place(sheet, x, y + 4 * self.side + 6)


def time_layer(settings: Any, source: int, target: int, at_once: bool) -> float:
    """Return the milliseconds of a decoder layer, in NumPy, for all target rows.

    at_once: compute all rows together; otherwise one after the other, with the keys and values
    of earlier rows kept.
    """
    rng = np.random.default_rng(0)

    def make(*shape: int) -> Any:
        return rng.standard_normal(shape, np.float32)

    heads, width = settings.heads, settings.width
    x, project = make(target, settings.d_model), make(settings.d_model, heads * width)
    up, keys = make(settings.d_model, settings.d_ff), make(heads, max(source, target), width)
    query = make(heads, target, width)

    def look(rows: slice, seen: int) -> Any:
        for _ in range(4):
            x[rows] @ project
        weights = np.exp(query[:, rows] @ keys[:, :seen].transpose(0, 2, 1) / 100)
        return weights / weights.sum(-1, keepdims=True) @ keys[:, :seen]

    def run(rows: slice) -> None:
        look(rows, rows.stop)
        look(rows, source)
        np.maximum(x[rows] @ up, 0) @ up.T

    slices = [slice(0, target)] if at_once else [slice(t, t + 1) for t in range(target)]
    return time_call(lambda: list(map(run, slices)))


def time_call(part: Callable[[], Any]) -> float:
    """Return the milliseconds of the fastest of several calls.

    Other programs on the machine disturb that one least.
    """
    taken: list[float] = []
    while len(taken) < LEAST or (sum(taken) < SPELL and len(taken) < MOST):
        begun = perf_counter()
        part()
        taken.append((perf_counter() - begun) * 1e3)
    return min(taken)


class Timeline(Node):
    """A row of boxes for each token: layers, which wait for those below and for tokens before."""

    def __init__(self, texts: list[str], layers: int, waits: bool):
        self.names = [Label(text, style.SMALL, fit=60) for text in texts]
        self.layers, self.waits = layers, waits
        self.left = 66.0
        self.width = self.left + CELL[0] * layers * (len(texts) if waits else 1)
        self.height = (CELL[1] + 2) * len(texts)

    def draw(self, sheet: Sheet, x: float, y: float) -> None:
        look, (wide, high) = style.role("decoder"), CELL
        for t, name in enumerate(self.names):
            top = y + t * (high + 2)
            name.place(sheet, x + self.left - 6 - name.width, top + (high - name.height) / 2)
            for layer in range(self.layers):
                turn = t * self.layers * self.waits + layer
                box = BoxMark(
                    x=x + self.left + turn * wide,
                    y=top,
                    width=wide - 1.5,
                    height=high,
                    fill=look.fill,
                    edge=look.ink,
                    line=0.8,
                    round=2,
                )
                sheet.add(box)


@figure("parallel")
def draw_parallel(plan: Outline) -> Scene:
    """Show which layers and positions can be computed at once, and what that saves (V72)."""
    settings, target = plan.trace.settings, len(plan.trace.target)
    layers, texts = min(settings.decoder_layers, LAYERS), show_tokens(plan.trace.target)[:TOKENS]
    lanes: list[Node] = []
    for key, waits in (("training", False), ("decoding", True)):
        name = Label(plan.say(key), style.BODY, style.role("decoder").ink, bold=True)
        lanes.append(Down(name, Timeline(texts, layers, waits).named(key), gap=6))
    times = [
        plan.give(key, [time_layer(settings, len(plan.trace.source), target, once)])[0]
        for key, once in (("together", True), ("in_turn", False))
    ]
    limit = max(float(each) for each in times)
    rows: list[list[Node]] = [
        [
            Label(plan.say(key), style.BODY),
            Bar(time, limit, ink, width=220, digits=3, track=True),
            Label("ms", style.SMALL, style.SOFT),
        ]
        for key, time, ink in zip(
            ("together", "in_turn"), times, (style.role("decoder").ink, style.LIT), strict=True
        )
    ]
    told = Label(plan.say("timed", n=target), style.SMALL, style.SOFT)
    bars = Down(told, Columns(rows, gap=(10, 4), align=["end", "start", "start"]), gap=4)
    wide = max(lane.width for lane in lanes)
    steps = layers * len(texts)
    return plan.compose(
        Down(*lanes, Held(bars, wide), gap=20),
        title=plan.say("title", one=layers, n=len(texts), many=steps),
        note=plan.say("note", layers=layers, n=len(texts)),
        callouts=[Callout("training", plan.say("known"), "right", 200)],
    )

"""Figures of time: what can run at once, and what attention costs (V72, V73)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .parts import grammar as g
from .parts import style

TIMED = Path(__file__).with_name("costs.json")  # written by benchmarks/attention_cost.py
LAYERS, TOKENS, CELL = 6, 8, (12.0, 15.0)  # drawn in a timeline
ROLES = {"attention": "weights", "rest": "feed_forward"}
Curves = dict[str, Any]  # lengths, attention, rest; of rows at once and in turn: decoding


def count_products(length: int, settings: Any) -> dict[str, float]:
    """Return the multiplications of each part of one encoder layer, in millions."""
    heads, matrices = settings.heads, 3 if settings.gated else 2
    all_heads = 2 * (heads + (settings.key_value_heads or heads))  # queries, output; keys, values
    parts = {
        "attention": 2 * length**2 * heads * settings.width,
        "projections": length * settings.d_model * settings.width * all_heads,
        "feed-forward": matrices * length * settings.d_model * settings.d_ff,
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
    if settings.gated or settings.key_value_heads not in (None, settings.heads):
        return None
    payload = json.loads(TIMED.read_text(encoding="utf-8"))
    for layer in payload["layers"]:
        if all(
            layer[name] == getattr(settings, name) for name in ("d_model", "d_ff", "heads", "width")
        ):
            return payload["machine"], layer
    return None


def double_length(curves: Curves) -> dict[str, float]:
    """Return how many times as long attention and the rest take for twice the tokens, if timed.

    It is that of the longest length, `whole`, of which the half was timed too.
    """
    lengths = curves["lengths"]
    pairs = [(lengths.index(n / 2), two) for two, n in enumerate(lengths) if n / 2 in lengths]
    if not pairs:
        return {}
    one, two = pairs[-1]
    times = {name: curves[name][two] / curves[name][one] for name in ("attention", "rest")}
    return {"half": lengths[one], "whole": lengths[two], **times}


@g.figure("cost")
def draw_cost(plan: g.Outline, *, longest: int | None = None) -> g.Scene:
    """Show the cost of attention against that of the rest of the layer, by length (V73).

    It is timed if a layer of these sizes was timed, else counted. longest: the end of the x axis
    of the count, which is then what is drawn; by default twice the length at which both are equal.
    """
    settings, even = plan.settings, find_even(plan.settings)
    text = None if longest else read_timed(settings)
    grows = double_length(text[1]) if text else {}
    if text and grows and grows["attention"] > grows["rest"]:
        plan.facts |= {name: g.spell(n, int(isinstance(n, float))) for name, n in grows.items()}
        return plan.compose(
            _plot_times(plan, text[1], grows),
            title="title_timed",
            note=plan.say("note_timed", machine=text[0], n=even, **plan.facts),
        )
    longest = longest or 2 * even
    lengths = np.unique(np.linspace(1, longest, 60).astype(int)).tolist()
    counts = [count_products(n, settings) for n in lengths]
    rest = [each["projections"] + each["feed-forward"] for each in counts]
    counted = {"lengths": lengths, "attention": [c["attention"] for c in counts], "rest": rest}
    meets = even if even <= longest else None
    callouts = [g.Callout("counted even", "even", "below", 78)] if meets else []
    return plan.compose(_plot_counts(plan, counted, meets, longest), callouts=callouts, n=even)


def _plot_counts(plan: g.Outline, counted: Curves, meets: int | None, last: int) -> g.Node:
    """Return the products of attention and of the rest, with a dot where they are as many."""
    curves = [
        g.Curve(counted["lengths"], counted[name], role, 2.2, plan.say(name))
        for name, role in ROLES.items()
    ]
    if meets:
        height = float(np.interp(meets, counted["lengths"], counted["rest"]))
        dot = g.Curve([meets], [height], style.INK, 0.0, f"{meets}", dots=True)
        curves.append(replace(dot, of=plan.of(f"{meets:.9f}"), name="counted even"))
    return _plot(plan, "counted", curves, [0, last // 2, last])


def _plot_times(plan: g.Outline, facts: Curves, grows: dict[str, float]) -> g.Node:
    """Return the times of attention and of the rest, with dots at a length and its half."""
    at, curves = (
        [facts["lengths"].index(grows[name]) for name in ("half", "whole")],
        list[g.Curve](),
    )
    for name, role in ROLES.items():
        plan.give(f"time_{name}", facts[name])
        times = plan.of(f"time_{name}[{at[1]}] / time_{name}[{at[0]}]")
        label = plan.say("times", name=plan.say(name), n=g.spell(float(times), 1))
        curves.append(g.Curve(facts["lengths"], facts[name], role, 2.2, label, of=times))
        xs, ys = ([facts[key][n] for n in at] for key in ("lengths", name))
        curves.append(g.Curve(xs, ys, role, 0.0, dots=True))
    return _plot(plan, "timed", curves, [0, grows["half"], grows["whole"]])


def _plot(plan: g.Outline, key: str, curves: list[g.Curve], ticks: list[Any]) -> g.Node:
    top = 1.05 * max(max(curve.ys) for curve in curves)
    last = max(curve.xs[-1] for curve in curves)
    return plan.plot(
        curves,
        "tokens",
        key,
        width=340,
        height=210,
        beside=120,
        x=(0, last),
        y=(0, top),
        x_ticks=ticks,
    )


class Timeline(g.Node):
    """A row of boxes for each token: layers, which wait for those below and for tokens before."""

    def __init__(self, texts: list[str], layers: int, waits: bool, role: str = "decoder"):
        self.names = [g.Label(text, style.SMALL, fit=60) for text in texts]
        self.layers, self.waits, self.role = layers, waits, role
        self.left = 66.0
        self.width = self.left + CELL[0] * layers * (len(texts) if waits else 1)
        self.height = (CELL[1] + 2) * len(texts)

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        look, (wide, high) = style.role(self.role), CELL
        for t, name in enumerate(self.names):
            top = y + t * (high + 2)
            name.place(sheet, x + self.left - 6 - name.width, top + (high - name.height) / 2)
            for layer in range(self.layers):
                turn = t * self.layers * self.waits + layer
                box = (x + self.left + turn * wide, top, wide - 1.5, high)
                sheet.box(*box, fill=look.fill, edge=look.ink, line=0.8, round=2)


@g.figure("parallel")
def draw_parallel(plan: g.Outline) -> g.Scene:
    """Show which layers and positions can be computed at once, and what that saves (V72).

    The times are those of the shipped measurement nearest to as many tokens as are drawn.
    """
    layers, texts = min(plan.settings.decoder_layers, LAYERS), plan.target[:TOKENS]
    parts: list[g.Node] = []
    for key, waits in (("training", False), ("decoding", True)):
        name = plan.label(key, ink="decoder", bold=True)
        parts.append(g.Down(name, Timeline(texts, layers, waits).named(key), gap=6))
    training = parts[0]
    text, note = read_timed(plan.settings), ""
    if text:
        machine, result = text[0], text[1]["decoding"]
        at = int(np.abs(np.array(result["rows"]) - len(texts)).argmin())
        time_of = [result[key][at] for key in ("together", "in_turn")]
        rows: list[list[g.Part]] = []
        for key, ink in (("together", "decoder"), ("in_turn", style.LIT)):
            time = plan.give(key, [result[key][at]])[0]
            bar = g.Bar(time, max(time_of), ink, width=150, digits=3, track=True)
            told_of = g.small(plan.say(key, times=f"{time_of[1] / time_of[0]:.1f}"), style.INK)
            rows.append([told_of, bar])
        timed = g.small(plan.say("timed", n=result["rows"][at]))
        bars = g.Down(timed, g.Columns(rows, gap=(10, 4), align="rl"), gap=4)
        room = max(part.width for part in parts) - training.width
        parts[0] = g.Across(training, g.Slot(bars, room, "end"), gap=0)
        note = plan.say("how", machine=machine)
    return plan.compose(
        g.Down(*parts, gap=20),
        note=plan.say("note", layers=layers, n=len(texts)) + note,
        callouts=[g.Callout("training", "known", "right", 110)],
        one=layers,
        n=len(texts),
        many=layers * len(texts),
    )

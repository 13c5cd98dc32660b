"""Figures of questions about the design, as small trainings answered them (V107-V111)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np

from .parts import grammar as g
from .parts import style
from .waves import encode_waves

MEASURED = Path(__file__).with_name("questions.json")  # by `benchmarks questions --pages`
INKS = {"reverse": "model", "scan": "weights"}
POINTS = {"V107": 3, "V109": 7, "V110": 1, "V111": 5}  # the row that a callout tells of
MORE = 18  # % of weights, that concatenated positions need
USUAL = {"V109": 0, "V110": 0, "V111": 3}  # the row of the usual settings, which is marked
TOLD = {"V109": (7, 8), "V111": (4, 5)}  # the rows of which a title tells; others are grey
NEW = (1, 3, 5)  # rows of V109 that begin a group
SHIFT = 5  # of positions, that a matrix is to make


class Runs(g.Bar):
    """The mean of several trainings as a bar, and each of them as a dot."""

    def __init__(
        self, runs: g.Quantity, ink: str, width: float, guide: float | None, facts: bool = True
    ):
        middle = g.Quantity(f"(sum[i] {runs.source}) / {len(runs)}", runs.fetch)
        super().__init__(
            middle,
            1.0,
            ink if facts else style.FAINT,
            width=width,
            height=18,
            digits=None,
            track=True,
            guide=guide,
        )
        self.runs = runs.values.tolist()
        shade = style.INK if facts else style.SOFT
        self.mean = g.small(g.percent(float(middle), 1), shade, of=middle)
        self.width += 8 + self.mean.width

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        super().draw(sheet, x, y)
        middle = y + self.height / 2
        for value in self.runs:
            sheet.dot(
                x + self.length * value, middle, 3.2, style.PAPER, edge=style.INK, line=0.8, layer=4
            )
        self.mean.place(sheet, x + self.length + 8, middle - self.mean.height / 2)


@g.figure("questions")
def draw_answer(plan: g.Outline, *, question: str = "V107") -> g.Scene:
    """Show how many sequences networks with different settings get right (V107-V111)."""
    rows = json.loads(MEASURED.read_text(encoding="utf-8"))[question]
    tasks = [task for task in INKS if task in rows[0]]
    wide, usual = 270.0 if len(tasks) == 1 else 170.0, USUAL.get(question)
    text = TOLD.get(question, range(len(rows)))
    lines: list[list[g.Part]] = [
        [None, *(plan.small(task, INKS[task], bold=True) for task in tasks)]
    ]
    for n, row in enumerate(rows):
        bars: list[g.Part] = []
        for task in tasks:
            runs = plan.give(f"{task}_{n}", np.array(row[task]) / 100)
            guide = None if usual is None else mean(rows[usual][task]) / 100
            bars.append(Runs(runs, INKS[task], wide, guide, n in text).named(f"{task} {n}"))
            plan.facts[f"{task}{n}"] = f"{mean(row[task]):.1f}\u00a0%"
        look = {"ink": style.INK if n in text else style.SOFT, "bold": n in TOLD.get(question, ())}
        lines.append([_name_row(plan, row[plan.lang], n == usual, look), *bars])
        if question == "V109" and n in NEW:
            lines.insert(-1, [g.Spacer(0, 3)])
    ends = (g.tiny("0"), g.tiny("100\u00a0%"))
    room = wide - sum(end.width for end in ends)
    lines.append([None, *(g.Across(ends[0], g.Spacer(room), ends[1], gap=0) for _ in tasks)])
    note = plan.say("note", scan=plan.say("and_scan") if "scan" in tasks else "")
    title = question
    if question == "V107":
        note += plan.say("V107_more", more=MORE)
    if usual is not None:
        note += plan.say("dashed")
    if question == "V110":  # the last row is compared with the first
        one, few, two = (row["reverse"] for row in rows)
        title = "V110_match" if min(one) <= mean(two) <= max(one) else title
        plan.facts |= {"low": f"{min(few):.1f}", "high": f"{max(few):.1f}\u00a0%"}
    at = f"{tasks[-1]} {POINTS[question]}"
    return plan.compose(
        g.Columns(lines, gap=(16, 7), align="rl"),
        title=title,
        note=note,
        callouts=[g.Callout(at, f"{question}_see", "right", 110)],
        origin="measured",
    )


def _name_row(plan: g.Outline, text: str, usual: bool, look: dict[str, Any]) -> g.Label:
    """Return what a setting is called, in words; `usual` is added to the name."""
    size = re.search(r"\d+\.\d+$", text)
    width = "d_k_one" if text.startswith("1 ") else "d_k"
    for name, key in {"d_ff": "d_ff", "d_k": width}.items():
        text = text.replace(name, plan.say(key))
    text += plan.say("usual") if usual and plan.say("default") not in text else ""
    return g.Label(text, of=plan.of(size[0]) if size else None, **look)


@g.figure("questions")
def draw_shift(plan: g.Outline) -> g.Scene:
    """Show how far the best matrix is off that moves positions on, and two trainings (V108)."""
    curves, lines, runs = list[g.Curve](), list[list[g.Part]](), list[list[float]]()
    rows = json.loads(MEASURED.read_text(encoding="utf-8"))["V108"]
    for (name, errors), row, ink in zip(
        measure_shifts().items(), rows, ("model", "weights"), strict=True
    ):
        worst = plan.give(name, errors)[int(errors.argmax())]
        plan.facts[name] = f"{float(worst):.1f}"
        label = plan.say("up_to", name=row[plan.lang], most=plan.facts[name])
        xs, ys = [*range(len(errors))], errors.tolist()
        curves.append(g.Curve(xs, ys, ink, 2.2, label, name=name, of=worst))
        shares = plan.give(f"reverse_{name}", np.array(row["reverse"]) / 100)
        lines.append([g.small(row[plan.lang], ink), Runs(shares, ink, 150.0, None)])
        runs.append(row["reverse"])
    one, two = runs
    even = min(one) <= max(two) and min(two) <= max(one)
    top = max(max(curve.ys) for curve in curves)
    plot = plan.plot(
        curves,
        "position",
        "shift_error",
        width=330,
        height=130,
        beside=150,
        x=(0, len(curves[0].xs)),
        y=(0, 1.05 * top),
    )
    trained = plan.small("V108_even" if even else "V108_apart", bold=True)
    table = g.Columns(lines, gap=(12, 4), align="rl")
    return plan.compose(
        g.Down(plot, g.Down(trained, table, gap=6), gap=style.APART),
        title="V108",
        note=plan.say("shifts") + plan.say("note", scan=""),
        origin="measured",
    )


def measure_shifts(d_model: int = 64, count: int = 100) -> dict[str, g.Array]:
    """Return the error, by position, of the best matrix that shifts positions.

    It is that of sine and cosine, and of sines alone. The matrix is found by least squares; the
    error of a position is the largest of its numbers.
    """
    both = encode_waves(range(count), d_model)
    sines = encode_waves(range(count), 2 * d_model)[:, ::2]  # as many sines as there were numbers
    errors = {}
    for name, table in (("both", both), ("sines", sines)):
        shift, *_ = np.linalg.lstsq(table[:-SHIFT], table[SHIFT:], rcond=None)
        errors[name] = np.abs(table[:-SHIFT] @ shift - table[SHIFT:]).max(1)
    return errors

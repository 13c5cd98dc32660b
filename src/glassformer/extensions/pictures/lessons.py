"""Figures of what training does: smoothing, the schedule, the teacher, gradients (V89-V91)."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from .parts import grammar as g
from .parts import style
from .parts.selection import pick
from .runs import RunSnapshots, read_watched

Place = Path | str | None
UPDATES = 20_000  # of a schedule
SCHEDULES = ((512, 4000), (512, 8000), (256, 4000))  # width and warm-up
WIDE = 76.0
FEW = 6  # blocks that are all named


def learning_rate(step: float, width: int, warmup: int) -> float:
    """Return the learning rate at a step, by equation 3 of the paper (factor 1)."""
    return float(width**-0.5 * min(step**-0.5, step * warmup**-1.5))


def smoothed_loss(x: float, smoothing: float, tokens: int) -> float:
    """Return the KL divergence, in nats, of a smoothed target from a prediction.

    The prediction has 1 - x on the right token and x spread evenly over the others.
    """
    right, wrong = 1 - smoothing + smoothing / tokens, smoothing / tokens
    parts = ((1, right, 1 - x), (tokens - 1, wrong, x / (tokens - 1)))
    return sum(count * p * math.log(p / q) for count, p, q in parts if p > 0)


@g.figure("smoothing")
def draw_schedules(
    plan: g.Outline, *, smoothing: float = 0.1, tokens: int = 6, subject: str = "smoothing"
) -> g.Scene:
    """Show label smoothing and what certainty costs under it; or the learning rate (V89).

    subject: smoothing, or rate for the schedules of the paper. tokens: of the vocabulary.
    """
    if subject == "rate":
        return draw_rates(plan.trace, lang=plan.lang)
    xs = np.linspace(0.002, 0.6, 150).tolist()
    best = smoothing * (tokens - 1) / tokens
    curves = []
    for amount, ink in ((0.0, style.SOFT), (smoothing, style.LIT)):
        ys = [min(smoothed_loss(x, amount, tokens), 1.2) for x in xs]
        label = plan.say("smoothed", n=f"{amount:g}")
        curves.append(g.Curve(xs, ys, ink, 2.2, label, of=plan.of(f"{amount:.9f}")))
    least = smoothed_loss(best, smoothing, tokens)
    low = g.Curve([best], [least], style.LIT, dots=True, name="best")
    plot = plan.plot(
        [*curves, low],
        "doubt",
        "divergence",
        beside=96,
        width=280,
        height=210,
        x=(0, 0.6),
        y=(0, 1.2),
    )
    shown = min(tokens, SHOWN)
    off = smoothing / tokens
    target = plan.give("target", np.full((shown, shown), off) + (1 - smoothing) * np.eye(shown))
    digits = 3
    grid = g.Panel(target, width=32.0 * shown, height=26.0 * shown, digits=digits, **GRID)
    names = [plan.say("token", n=n) for n in range(shown)]
    text = plan.say("grid" if shown == tokens else "corner", n=shown, all=tokens)
    left = g.Down(g.small(text), g.Matrix(grid, rows=names, columns=names), gap=8)
    return plan.compose(
        g.Across(left, plot, gap=style.APART, align="top"),
        origin="formulas",
        title="title" if smoothing else "title_plain",
        callouts=[g.Callout("best", "cheapest", "above", 70)] if smoothing else [],
        n=tokens,
        best=g.percent(best, 1),
        smoothing=f"{smoothing:g}",
    )


SHOWN = 6  # tokens of the grid
GRID: dict[str, Any] = {"scale": "share", "limit": 1.0, "size": style.TINY}


@g.figure("schedules")
def draw_rates(plan: g.Outline) -> g.Scene:
    """Show the learning rate of the paper, for two widths and two warm-ups."""
    steps = np.unique(np.linspace(1, UPDATES, 241).astype(int)).tolist()
    rates, peaks = [], []
    for n, (width, warmup) in enumerate(SCHEDULES):
        ys = [1000 * learning_rate(step, width, warmup) for step in steps]
        peaks.append(learning_rate(warmup, width, warmup))
        label = plan.say("schedule", d=width, n=warmup)
        rates.append(g.Curve(steps, ys, style.HEADS[n], 2.2, label, dashed=n == 1))
    top = max(max(curve.ys) for curve in rates)
    return plan.compose(
        plan.plot(
            rates,
            "updates",
            "rate",
            width=400,
            height=220,
            x=(0, UPDATES),
            y=(0, top * 1.05),
            x_ticks=range(0, UPDATES + 1, 5000),
            beside=150,
        ),
        origin="formulas",
        times=g.spell(peaks[0] / peaks[1], 1),
    )


@g.figure("teacher")
def draw_teacher_forcing(
    plan: g.Outline, *, sentence: int | None = None, watch: Place = None
) -> g.Scene:
    """Show what a model in training is fed, what it predicts, and what is wanted (V90).

    It is drawn of the first snapshot at which the model is sometimes right and sometimes wrong.
    """
    run = read_watched(watch)
    longest = max(range(len(run.sentences)), key=lambda n: len(run.sentences[n].reference_tokens))
    sentence = longest if sentence is None else pick(sentence, len(run.sentences), "sentence")
    lesson = _find_lesson(run, sentence)
    ids, best = run.wanted(sentence), run.guesses(lesson, sentence)
    names = run.spell([*ids, *best])
    tokens, guessed = names[: len(ids)], names[len(ids) :]
    fed = [plan.say("begin"), *tokens[:-1]]
    shown = range(min(8, len(tokens)))
    wrong = [a != b for a, b in zip(best, ids, strict=True)]
    rows: list[list[g.Part]] = []
    for key, role, texts in (
        ("wanted", "decoder", tokens),
        ("predicted", "", guessed),
        ("fed", "embedded", fed),
    ):
        cells = []
        for n in shown:
            lit = key == "predicted" and wrong[n]
            chip = g.Chip(texts[n], "softmax" if lit else role, lit=lit, fit=WIDE - 18)
            cells.append(g.Slot(chip.named(f"{key} {n}"), WIDE - 6))
        rows.append([plan.label(key, bold=True), *cells])
    links = [
        g.Link(
            f"wanted {n}",
            f"fed {n + 1}",
            "ribbon",
            ink=style.FAINT,
            line=1,
            sides=("right", "left"),
        )
        for n in shown[:-1]
    ]
    for n in shown:
        ink = style.LIT if wrong[n] else style.FAINT
        up = g.Link(f"predicted {n}", f"wanted {n}", ink=ink, head=False, dashed=wrong[n], line=2)
        links += [g.Link(f"fed {n}", f"predicted {n}"), up]
    return plan.compose(
        g.Columns(rows, gap=(6, 40), align="rm"),
        title="title" if any(wrong) else "title_right",
        origin="toy" if watch is None else "own",
        links=links,
        missed=sum(wrong),
        n=len(tokens),
        step=run.steps[lesson],
    )


def _find_lesson(run: RunSnapshots, sentence: int) -> int:
    """Return the first snapshot with right and wrong predictions; else the first one."""
    targets = run.wanted(sentence)
    for number in range(len(run.steps)):
        guessed = run.guesses(number, sentence)
        right = sum(a == b for a, b in zip(guessed, targets, strict=True))
        if 0 < right < len(targets):
            return number
    return 0


@g.figure("gradients")
def draw_gradients(plan: g.Outline, *, watch: Place = None) -> g.Scene:
    """Show the gradient norm of each block at each recorded update (V91)."""
    run = read_watched(watch)
    if not run.gradients:
        raise ValueError(f"{watch}: no gradients were noted in this training")
    blocks = [name for name in run.gradients[0] if name not in ("step", "total")]
    keep = sorted({round(n) for n in np.linspace(0, len(run.gradients) - 1, 200)})
    steps = [run.gradients[n]["step"] for n in keep]
    values = np.array([[run.gradients[n].get(block, 0.0) for n in keep] for block in blocks])
    floor = float(values[values > 0].min()) if (values > 0).any() else 1e-6
    values = np.maximum(values, floor)
    low, high = math.floor(math.log10(floor)), math.ceil(math.log10(float(values.max())))
    order = np.argsort(-values[:, -1])
    middle = (int(order[0]), int(order[-1]), int(order[len(order) // 2]))
    named = {*map(int, order)} if len(order) <= FEW else {*middle}
    curves = []
    for place, n in enumerate(order):
        ink = style.HEADS[place % len(style.HEADS)] if int(n) in named else style.FAINT
        label = _name_block(plan, blocks[int(n)]) if int(n) in named else ""
        curves.append(g.Curve(steps, values[n].tolist(), ink, 2.0 if label else 0.9, label))
    ticks = [10.0**n for n in range(low, max(high, low + 1) + 1)]
    plot = plan.plot(
        curves[::-1],
        "updates",
        "norm",
        beside=130,
        width=420,
        height=230,
        y_ticks=ticks,
        log=True,
        x=(min(steps), max(steps)),
        y=(ticks[0], ticks[-1]),
    )
    falls = values[:, 0] / values[:, -1]
    return plan.compose(
        plot,
        title="falls" if falls.min() >= 2 else "title",
        origin="toy" if watch is None else "own",
        n=f"{steps[-1]:g}",
        least=g.spell(float(f"{falls.min():.2g}"), 0),
        most=g.spell(float(f"{falls.max():.2g}"), 0),
    )


def _name_block(plan: g.Outline, block: str) -> str:
    """Return the name of a block of the network, such as that of decoder.1, in words."""
    name, _, layer = block.partition(".")
    text = plan.say(name) if plan.has(name) else name.replace("_", " ")
    return f"{text} {layer}".strip()

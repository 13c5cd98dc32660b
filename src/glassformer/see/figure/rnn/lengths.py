"""Three networks on sentences of every length, as they were measured (V102)."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

from .. import style
from ..links import Callout
from ..nodes import Across, percent
from ..plan import Outline, figure
from ..plot import Curve, Plot
from ..scene import Scene

MEASURED = Path(__file__).parents[1] / "long_sentences.json"  # by benchmarks/long_sentences.py
ROLES = {"rnn": "softmax", "rnn-attention": "weights", "transformer": "model"}
FALLS = 0.75  # of the BLEU of the shortest sentences: below, it has fallen
WIDE, HIGH = 138.0, 170.0  # of a plot


def read_measured() -> dict[str, Any]:
    """Return the BLEU and the loss of each training by length of the sentence."""
    found: dict[str, Any] = json.loads(MEASURED.read_text(encoding="utf-8"))
    return found


def average_runs(measured: dict[str, Any], network: str, score: str) -> list[float]:
    """Return the mean of a score over the seeds of a network, for each bin of lengths."""
    runs = [run["bins"] for run in measured["runs"] if run["network"] == network]
    return [mean(each[score] for each in column) for column in zip(*runs, strict=True)]


@figure("rnn_lengths")
def draw_long_sentences(plan: Outline) -> Scene:
    """Show what three networks make of sentences of each length (V102)."""
    measured = read_measured()
    known, seeds = measured["known"], len({run["seed"] for run in measured["runs"]})
    left = {name: shares[-1] / shares[0] for name, shares in known["shares"].items()}
    fixed = known["shares"]["rnn"]
    bleu = average_runs(measured, "rnn", "bleu")
    falls = left["rnn"] < min(left["rnn-attention"], left["transformer"])
    holds = bleu[-1] > FALLS * bleu[0]
    losses = [average_runs(measured, name, "loss") for name in ROLES]
    key = ("title" if falls else "title_none") + ("" if holds else "_both")
    return plan.compose(
        Across(
            _plot_known(plan, known),
            *(_plot_runs(plan, measured, score) for score in ("bleu", "loss")),
            gap=22,
            align="top",
        ),
        title=plan.say(key, short=percent(fixed[0]), long=percent(fixed[-1])),
        note=plan.say(
            "note",
            lines=measured["lines"],
            seconds=f"{measured['seconds']:.0f}",
            seeds=plan.say("seeds" if seeds > 1 else "seed", n=seeds),
            questions=f"{sum(each['lines'] for each in known['bins']):,}",
        )
        + (plan.say("beginners") if holds and all(loss[-1] > loss[0] for loss in losses) else ""),
        callouts=[Callout("rnn known", plan.say("fixed"), "below", 110)],
        origin=plan.say("origin", machine=measured["machine"]),
    )


def _plot_known(plan: Outline, known: dict[str, Any]) -> Plot:
    """Return the share that the shipped networks translate exactly right, by length."""
    lengths = [each["length"] for each in known["bins"]]
    curves = [
        Curve(lengths, shares, style.role(ROLES[name]).ink, 2.2, dots=True, name=f"{name} known")
        for name, shares in known["shares"].items()
    ]
    return Plot(
        curves,
        width=WIDE,
        height=HIGH,
        x=(0, 15),
        y=(0, 1.02),
        across=plan.say("length"),
        up=plan.say("known"),
        x_ticks=[0, 5, 10, 15],
    )


def _plot_runs(plan: Outline, measured: dict[str, Any], score: str) -> Plot:
    """Return the mean of each network as a curve, and each seed as dots."""
    lengths = [each["length"] for each in measured["bins"]]
    curves, highest = list[Curve](), 0.0
    for name, role in ROLES.items():
        ink = style.role(role).ink
        for run in measured["runs"]:
            if run["network"] == name:
                values = [each[score] for each in run["bins"]]
                highest = max(highest, *values)
                curves.append(Curve(lengths, values, ink, 0.0, dots=True, alpha=0.5))
        values = average_runs(measured, name, score)
        label = plan.say(name) if score == "loss" else ""
        curves.append(Curve(lengths, values, ink, 2.2, label))
    return Plot(
        curves,
        width=WIDE,
        height=HIGH,
        x=(0, 80),
        y=(0, 1.06 * highest),
        across=plan.say("length"),
        up=plan.say(score),
        x_ticks=[0, 20, 40, 60, 80],
        beside=84,
    )

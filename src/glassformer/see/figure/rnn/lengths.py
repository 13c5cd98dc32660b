"""Three networks on sentences of every length, as they were measured (V102)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from .. import style
from ..links import Callout
from ..nodes import Across
from ..plan import Outline, figure
from ..plot import Curve, Plot
from ..scene import Scene

MEASURED = Path(__file__).parents[1] / "long_sentences.json"  # by benchmarks/long_sentences.py
ROLES = {"rnn": "softmax", "rnn-attention": "weights", "transformer": "model"}
FALLS = 0.5  # the share of BLEU that must be left at the longest sentences, or else it has fallen


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
    """Show BLEU and loss against the length of the sentence, for three networks (V102)."""
    measured = read_measured()
    lengths = [each["length"] for each in measured["bins"]]
    bleu = {name: average_runs(measured, name, "bleu") for name in ROLES}
    plots = [_plot(plan, measured, lengths, score) for score in ("bleu", "loss")]
    left = {name: values[-1] / max(values) for name, values in bleu.items()}
    fell = left["rnn"] < FALLS <= min(left["rnn-attention"], left["transformer"])
    seeds = len({run["seed"] for run in measured["runs"]})
    short, long = bleu["rnn"][0], bleu["rnn"][-1]
    last = measured["bins"][-1]["name"]
    return plan.compose(
        Across(*plots, gap=30, align="top"),
        title=plan.say("title" if fell else "title_all", short=f"{short:.0f}", long=f"{long:.0f}"),
        note=plan.say(
            "note",
            lines=measured["lines"],
            seconds=f"{measured['seconds']:.0f}",
            seeds=seeds,
            machine=measured["machine"],
        ),
        callouts=[Callout("rnn bleu", plan.say("fixed", bin=last), "below", 120)],
        origin=plan.say("origin"),
    )


def _plot(plan: Outline, measured: dict[str, Any], lengths: Sequence[float], score: str) -> Plot:
    """Return the mean of each network as a curve, and each seed as dots."""
    curves, highest = [], 0.0
    for name, role in ROLES.items():
        ink = style.role(role).ink
        runs = [run["bins"] for run in measured["runs"] if run["network"] == name]
        for run in runs:
            values = [each[score] for each in run]
            highest = max(highest, *values)
            curves.append(Curve(lengths, values, ink, 0.0, dots=True, alpha=0.5))
        values = average_runs(measured, name, score)
        label = plan.say(name) if score == "bleu" else ""
        curves.append(Curve(lengths, values, ink, 2.2, label, name=f"{name} {score}"))
    return Plot(
        curves,
        width=230,
        height=190,
        x=(0, 80),
        y=(0, 1.06 * highest),
        across=plan.say("length"),
        up=plan.say(score),
        x_ticks=[0, 20, 40, 60, 80],
        beside=84,
    )

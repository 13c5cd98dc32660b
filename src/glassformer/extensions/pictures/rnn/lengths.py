"""Three networks on sentences of every length, as they were measured (V102, V117)."""

from __future__ import annotations

from pathlib import Path
from statistics import mean
from typing import Any

from glassformer.extensions.lab.contrastive import Share
from glassformer.foundation.disk import read_json

from ..parts import grammar as g

MEASURED = Path(__file__).parents[1] / "long_sentences.json"  # by benchmarks/long_sentences.py
ROLES = {"rnn": "softmax", "rnn-attention": "weights", "transformer": "model"}
EVEN = 1.5  # so many times the least is still about the same
FEW = 30  # sentences of a length that are too few for a dot


@g.figure("rnn_lengths")
def draw_long_sentences(plan: g.Outline) -> g.Scene:
    """Show the share that three shipped networks translate exactly right, by length (V102).

    Sentences without `because`, of which training had very many, have curves of their own.
    """
    measured = read_json(MEASURED)  # of networks of each kind, by length of the sentence
    known = measured["known"]
    because = known["because"]
    curves: list[g.Curve] = []
    for name, role in ROLES.items():
        curves += _trace(known["others"], name, role, "", True)
        curves += _trace(known, name, role, plan.say(name), False)
    plot = plan.plot(
        curves, "length", "known", beside=110, width=420, height=250, x=(0, 14), y=(0, 100)
    )
    shares = known["shares"]
    left = {name: values[-1] / values[0] for name, values in shares.items()}
    falls = left["rnn"] < min(left["rnn-attention"], left["transformer"])
    most = max(range(len(because["bins"])), key=lambda n: because["bins"][n]["lines"])
    name, lines = because["bins"][most]["name"], because["bins"][most]["lines"]
    both = next(each["lines"] for each in known["bins"] if each["name"] == name)
    return plan.compose(
        plot,
        title="title" if falls else "title_none",
        callouts=[g.Callout("rnn without", "without", "left", 130)],
        origin="origin",
        machine=measured["machine"],
        questions=g.spell(sum(each["lines"] for each in known["bins"]), 0),
        drilled=g.percent(because["shares"]["rnn"][most]),
        range=name,
        lines=lines,
        both=both,
        short=g.percent(shares["rnn"][0]),
        long=g.percent(shares["rnn"][-1]),
        transformer=g.percent(shares["transformer"][-1]),
        of_corpus=g.percent(because["of_corpus"]),
    )


def _trace(fields: dict[str, Any], name: str, role: str, label: str, dashed: bool) -> list[g.Curve]:
    """Return the curve of one network, and at each dot the 95 % interval of its share."""
    curves, xs, ys = list[g.Curve](), list[float](), list[float]()
    for each, share in zip(fields["bins"], fields["shares"][name], strict=True):
        if each["lines"] < FEW:
            continue
        low, high = Share(round(share * each["lines"]), each["lines"]).interval
        xs.append(each["length"])
        ys.append(100 * share)
        curves.append(g.Curve([xs[-1]] * 2, [100 * low, 100 * high], role, 1.2))
    where = f"{name} without" if dashed else name
    line = 1.6 if dashed else 2.6
    return [*curves, g.Curve(xs, ys, role, line, label, name=where, dots=True, dashed=dashed)]


@g.figure("rnn_source_worth")
def draw_source_worth(plan: g.Outline) -> g.Scene:
    """Show how much three networks read from the source, by its length (V117).

    It is how much lower the loss of the right translation is with its source than with another.
    """
    measured = read_json(MEASURED)
    xs = [each["length"] for each in measured["bins"]]
    curves, means = list[g.Curve](), dict[str, list[float]]()
    for name, role in ROLES.items():
        runs = [each["bins"] for each in measured["runs"] if each["network"] == name]
        worth = [[_measure_worth(run[n]) for run in runs] for n in range(len(xs))]
        for x, each in zip(xs, worth, strict=True):
            curves.append(g.Curve([x] * 2, [min(each), max(each)], role, 1.2))
        means[name] = [mean(each) for each in worth]
        curves.append(g.Curve(xs, means[name], role, 2.6, plan.say(name), dots=True, name=name))
    most = max(max(curve.ys) for curve in curves)
    text, attention = means["rnn"], means["rnn-attention"]
    return plan.compose(
        plan.plot(
            curves,
            "length",
            "worth",
            beside=110,
            width=420,
            height=250,
            x=(0, 75),
            y=(0, 1.05 * most),
        ),
        title="title" if max(text) < EVEN * min(text) else "title_none",
        callouts=[g.Callout("rnn", "whole", "above", 190)],
        origin="origin",
        machine=measured["machine"],
        lines=measured["lines"],
        seconds=f"{measured['seconds']:.0f}",
        trainings=len(measured["runs"]) // len(ROLES),
        least=f"{min(text):.1f}",
        most=f"{max(text):.1f}",
        short=f"{attention[0]:.0f}",
        long=f"{attention[-1]:.0f}",
        tokens=g.spell(measured["runs"][0]["bins"][-1]["tokens"], 0),
    )


def _measure_worth(results: dict[str, float]) -> float:
    """Return the nats that a network read from the source of a line, for all its tokens."""
    return (results["loss_of_others"] - results["loss"]) * results["tokens"]

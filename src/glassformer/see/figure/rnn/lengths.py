"""Three networks on sentences of every length, as they were measured (V102)."""

from __future__ import annotations

from math import floor
from pathlib import Path

from ....disk import read_json
from .. import grammar as g

MEASURED = Path(__file__).parents[1] / "long_sentences.json"  # by benchmarks/long_sentences.py
ROLES = {"rnn": "softmax", "rnn-attention": "weights", "transformer": "model"}


@g.figure("rnn_lengths")
def draw_long_sentences(plan: g.Outline) -> g.Scene:
    """Show the share that three shipped networks translate exactly right, by length (V102)."""
    measured = read_json(MEASURED)  # of networks of each kind, by length of the sentence
    known = measured["known"]
    lengths, shares = [each["length"] for each in known["bins"]], known["shares"]
    left = {name: values[-1] / values[0] for name, values in shares.items()}
    curves = [
        g.Curve(
            lengths,
            [100 * each for each in shares[name]],
            role,
            2.6,
            plan.say(name),
            dots=True,
            name=name,
        )
        for name, role in ROLES.items()
    ]
    low = 10 * min(int(10 * each) for name in ROLES for each in shares[name])
    size, spans = {"width": 440, "height": 240}, {"x": (4, 14), "y": (low, 101)}
    plot = plan.plot(curves, "length", "known", beside=96, **size, **spans)
    falls = left["rnn"] < min(left["rnn-attention"], left["transformer"])
    return plan.compose(
        plot,
        title="title" if falls else "title_none",
        callouts=[g.Callout("rnn", "fixed", "below", 130)],
        origin="origin",
        short=g.percent(shares["rnn"][0]),
        long=g.percent(shares["rnn"][-1]),
        least=g.percent(floor(100 * min(shares["transformer"])) / 100),
        machine=measured["machine"],
        questions=g.spell(sum(each["lines"] for each in known["bins"]), 0),
    )

"""One step of a recurrent cell: a state and a token go in, the next state comes out (V94)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..parts import grammar as g
from ..parts import style
from ..parts.selection import Array, find_query

# Of each cell: the gate that says how much of the old state stays, and the rows that are drawn.
KEEPING = {"gru": "update", "lstm": "forget_gate"}
ROWS = {
    "gru": ("reset", "candidate", "update"),
    "lstm": ("input_gate", "candidate", "forget_gate", "cell", "output_gate"),
}
TERMS = {  # what the new state is the sum of
    "gru": {"stays": "{update} {before}", "comes": "(1 - {update}) * {candidate}"},
    "lstm": {},
}
WIRES = {  # which rows are used in which
    "gru": (("reset", "candidate"), ("update", "stays"), ("update", "comes")),
    "lstm": (("input_gate", "cell"), ("candidate", "cell"), ("forget_gate", "cell")),
}
GATES = ("reset", "update", "input_gate", "forget_gate", "output_gate")
WIRED = 30.0  # room for the wires on the right of the rows
ROLES = {**dict.fromkeys(GATES, "weights"), "candidate": "feed_forward", "cell": "residual"}


@g.figure("rnn_step")
def draw_recurrent_step(plan: g.Outline, *, query: str | int | None = None) -> g.Scene:
    """Show how the state after a token is made of the state before it and the token (V94).

    query: the token that is read, by default the one at which the cell keeps least of its state.
    """
    trace, kind = plan.trace, plan.settings.rnn.cell
    texts, cell = plan.source, "encoder.0.forward_cell"
    keeps = f"{cell}.{KEEPING[kind]}"
    at = find_least_kept(trace, keeps) if query is None else find_query(texts, query)
    width = trace[keeps].shape[1]
    kept = plan.of(f"(sum[d] {keeps}[{at},d]) / {width}")
    shown = find_spread(trace[keeps][at])
    steps = {"before": 1, "token": 2, **{name: 3 + n for n, name in enumerate(ROWS[kind])}}
    last = 3 + len(ROWS[kind])
    state = plan.strip(f"{cell}.before[{at},d]", "memory", only=shown)
    token = plan.strip(f"source_embedding.embedded[{at},d]", "embedded", shown=3)
    ins: list[g.Node] = []
    for name, strip, key in (("before", state, "before"), ("token", token, "reads")):
        head: g.Node = g.small(plan.say(key, t=at + (name == "token")))
        if name == "token":
            head = g.Across(head, g.Chip(texts[at], "embedded", size=style.SMALL, fit=90), gap=6)
        both = g.Down(head, strip.named(name), gap=4)
        ins.append(both.at(steps[name], (-60, 0) if name == "before" else (0, 40)))
    rows: list[list[g.Node]] = []
    for name in ROWS[kind]:
        strip = plan.strip(f"{cell}.{name}[{at},d]", ROLES[name], only=shown).named(name)
        text = plan.small(name, ROLES[name], width=112)
        rows.append([text.at(steps[name]), strip.at(steps[name], (-80, 0))])
    names = {name: f"{cell}.{name}[{at},d]" for name in (*ROWS[kind], "before")}
    for name, term in TERMS[kind].items():
        strip = plan.strip(term.format_map(names), "memory", only=shown).named(name)
        rows.append([plan.small(name, "memory").at(last), strip.at(last, (0, -30))])
    table = g.Across(g.Columns(rows, gap=(8, 10), align="rl"), g.Spacer(WIRED, 0), gap=0)
    gates = g.Card(table, fill=style.PAPER, edge=style.FAINT)
    gates.named("gates")
    after = plan.strip(f"{cell}.hidden[{at},d]", "memory", only=shown).named("after")
    share = g.Numeral(kept, style.SMALL, style.LIT, before=plan.say("kept")).named("kept")
    out = g.Down(g.small(plan.say("after", t=at + 1)), after, gap=4).at(last, (-120, 0))
    links = [
        g.Link("before", "gates", step=3),
        g.Link("token", "gates", step=3),
        g.Link("gates", "after", line=2, ink="memory", step=last),
    ]
    for one, two in WIRES[kind]:
        links.append(
            g.Link(
                one,
                two,
                step=steps.get(two, last),
                way="around",
                ink=ROLES[one],
                sides=("right", "right"),
            )
        )
    captions = [plan.say(f"caption_{name}", t=at, word=texts[at]) for name in ("before", "token")]
    captions += [plan.say(f"caption_{name}") for name in ROWS[kind]]
    captions.append(plan.say(f"caption_{kind}"))
    keys = ("title_replaces", "title_keeps")
    value = float(kept)
    right = g.Down(out, g.Spacer(0, 6), share.at(last), gap=8)
    return plan.compose(
        g.Across(g.Down(*ins, gap=26), gates, right, gap=34),
        title=keys[value >= 0.5],
        note=plan.say(f"note_{kind}", shown=", ".join(map(str, shown))),
        links=links,
        callouts=[g.Callout("kept", "gate", "below", 130, last)],
        captions=captions,
        word=texts[at],
        share=f"{100 * value:.0f} %",
    )


def find_spread(gate: Array) -> list[int]:
    """Return the numbers of a state of which a gate keeps most, the median share, and least."""
    order = np.argsort(-gate, kind="stable").tolist()
    return list(dict.fromkeys((order[0], order[len(order) // 2], order[-1])))


def find_least_kept(trace: Any, keeps: str) -> int:
    """Return the token at which the cell keeps least of its state; never the end mark alone."""
    means = np.asarray(trace[keeps]).mean(-1)
    return int(means[: max(1, len(means) - 1)].argmin())

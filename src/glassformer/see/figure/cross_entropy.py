"""The figure of the loss, token by token and term by term (V88)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import grammar as g
from . import style
from .selection import list_shown, show_token

MOST, BEST = 16, 3  # steps, and likeliest tokens, drawn
COLUMNS = ("$q$", "$p$", "$−q ln p$", "$q ln( q / p )$")


def smooth_terms(trace: Any, t: int, smoothing: float) -> g.Array:
    """Return target q, prediction p, -q ln p and q ln(q / p) of each token at step t; V 4."""
    logits = trace["logits"][t].astype(np.float64)
    logs = logits - np.logaddexp.reduce(logits)
    q = np.full(len(logits), smoothing / len(logits))
    q[trace.predicted[t].id] += 1 - smoothing
    apart = q * (np.log(np.maximum(q, 1e-300)) - logs)
    return np.stack((q, np.exp(logs), -q * logs, apart), 1)


@g.figure("loss")
def draw_loss(plan: g.Outline, *, smoothing: float = 0.1) -> g.Scene:
    """Show -ln P of each token of the translation, and cross-entropy term by term (V88)."""
    trace, total = plan.trace, len(plan.trace.predictions)
    logs = plan.give("log_prob", [each.log_prob for each in trace.predictions])
    worst, ink = int(logs.values.argmin()), "softmax"
    rows: list[list[g.Node]] = [[g.Spacer(), *(g.small(text) for text in ("$P$", "$− ln P$"))]]
    limit = max(float(-logs.values.min()), 1e-9)
    shown = list_shown(total, MOST)
    for t in shown:
        lit = style.LIT if t == worst else ink
        bar = plan.bar(f"0 - log_prob[{t}]", limit, lit, width=100, height=11, digits=3)
        name = g.Label(plan.predicted[t], bold=t == worst, fit=80)
        rows.append([name, plan.number(f"exp(log_prob[{t}])", digits=3), bar.named(f"bar {t}")])
    mean = f"(0 - sum[i] log_prob[i]) / {total}"
    facts = [
        [plan.label(key), plan.number(of, style.BODY, digits=3, bold=True)]
        for key, of in (
            ("sum", "0 - sum[i] log_prob[i]"),
            ("mean", mean),
            ("perplexity", f"exp({mean})"),
        )
    ]
    formula = g.Label("$L = − Σ_t ln P( y_t | y_{<t}, x )$", style.HEADING)
    left = g.Columns(rows, gap=(12, 3), align="rrl")
    right: list[g.Node] = [formula, g.Columns(facts, gap=(12, 2), align="lr")]
    if "logits" in trace:
        right.append(_show_terms(plan, worst, smoothing))
    share = 100 * float(logs.values.min() / logs.values.sum())
    even = total > 2 and float(logs.values.min()) > 1.5 * float(np.median(logs.values))
    callouts = [g.Callout(f"bar {worst}", "hard", "right", 60)] if total > 1 and not even else []
    return plan.compose(
        g.Across(left, g.Down(*right, gap=style.APART), gap=30),
        left=(len(shown), total),
        title="even" if even else "title",
        least=g.spell(-float(logs.values.max())),
        most=g.spell(-float(logs.values.min())),
        callouts=callouts,
        word=plan.predicted[worst],
        share=f"{share:.0f}",
        n=f"{smoothing:g}",
    )


def _show_terms(plan: g.Outline, t: int, smoothing: float) -> g.Node:
    """Return cross-entropy and KL divergence of one step, term by term, for a smoothed target."""
    trace, wanted = plan.trace, plan.trace.predicted[t]
    best = trace.top(t, BEST)
    texts = {wanted.id: wanted.text} | {each.id: each.text for each in best}
    terms = smooth_terms(trace, t, smoothing)
    ids = list(texts)
    lines = [*(terms[id] for id in ids), np.delete(terms, ids, 0).sum(0), terms.sum(0)]
    given = plan.give("terms", lines)
    names = [*(show_token(texts[id]) for id in ids), plan.say("others"), "Σ"]
    rows: list[list[g.Node]] = [[g.Spacer(), *(g.small(text) for text in COLUMNS)]]
    for n, name in enumerate(names):
        bold = n == len(names) - 1
        numbers = [g.Numeral(given[n, k], style.SMALL, digits=5, bold=bold) for k in range(4)]
        rows.append([g.Label(name, style.SMALL, bold=bold, fit=66), *numbers])
    told = plan.say("smoothed", word=show_token(wanted.text), n=f"{smoothing:g}")
    head = g.Label(told, style.SMALL, bold=True, of=plan.of(f"{smoothing:.9f}"))
    table = g.Columns(rows, gap=(11, 3), align="lr")
    return g.Down(head, table, gap=6)

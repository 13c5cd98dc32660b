"""The figure of the loss, token by token and term by term (V88)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import style
from .links import Callout
from .nodes import Across, Bar, Columns, Down, Label, Node, Numeral, Spacer
from .plan import Outline, figure
from .quantity import Array
from .scene import Scene
from .selection import elide, show_token, tell_tokens_left_out

MOST, BEST = 16, 3  # steps, and likeliest tokens, drawn
COLUMNS = ("$q$", "$p$", "$−q ln p$", "$q ln( q / p )$")


def smooth_terms(trace: Any, t: int, smoothing: float) -> Array:
    """Return target q, prediction p, -q ln p and q ln(q / p) of each token at step t; V 4."""
    logits = trace["logits"][t].astype(np.float64)
    logs = logits - np.logaddexp.reduce(logits)
    q = np.full(len(logits), smoothing / len(logits))
    q[trace.predicted[t].id] += 1 - smoothing
    apart = q * (np.log(np.maximum(q, 1e-300)) - logs)
    return np.stack((q, np.exp(logs), -q * logs, apart), 1)


@figure("loss")
def draw_loss(plan: Outline, *, smoothing: float = 0.1) -> Scene:
    """Show -ln P of each token of the translation, and cross-entropy term by term (V88)."""
    trace, total = plan.trace, len(plan.trace.predictions)
    logs = plan.give("log_prob", [each.log_prob for each in trace.predictions])
    worst, ink = int(logs.values.argmin()), style.role("softmax").ink
    rows: list[list[Node]] = [
        [Spacer(), *(Label(text, style.SMALL, style.SOFT) for text in ("$P$", "$− ln P$"))]
    ]
    limit = max(float(-logs.values.min()), 1e-9)
    shown = [t for t in elide(total, MOST) if t is not None]
    for t in shown:
        lit = style.LIT if t == worst else ink
        bar = Bar(plan.of(f"0 - log_prob[{t}]"), limit, lit, width=100, height=11, digits=3)
        name = Label(show_token(trace.predicted[t].text), style.BODY, bold=t == worst, fit=80)
        rows.append(
            [name, Numeral(plan.of(f"exp(log_prob[{t}])"), digits=3), bar.named(f"bar {t}")]
        )
    mean = f"(0 - sum[i] log_prob[i]) / {total}"
    facts = [
        [Label(plan.say(key), style.BODY), Numeral(plan.of(of), style.BODY, digits=3, bold=True)]
        for key, of in (
            ("sum", "0 - sum[i] log_prob[i]"),
            ("mean", mean),
            ("perplexity", f"exp({mean})"),
        )
    ]
    formula = Label("$L = − Σ_t ln P( y_t | y_{<t}, x )$", style.HEADING)
    left = Columns(rows, gap=(12, 3), align=["end", "end", "start"])
    right: list[Node] = [formula, Columns(facts, gap=(12, 2), align=["start", "end"])]
    if "logits" in trace:
        right.append(_show_terms(plan, worst, smoothing))
    word = show_token(trace.predicted[worst].text)
    share = 100 * float(logs.values.min() / logs.values.sum())
    callouts = [Callout(f"bar {worst}", plan.say("hard"), "above", 100)] if total > 1 else []
    return plan.compose(
        Across(left, Down(*right, gap=style.APART), gap=30),
        title=plan.say("title", word=word, share=f"{share:.0f}"),
        note=plan.say("note", n=f"{smoothing:g}")
        + tell_tokens_left_out(plan.lang, len(shown), total),
        callouts=callouts,
    )


def _show_terms(plan: Outline, t: int, smoothing: float) -> Node:
    """Return cross-entropy and KL divergence of one step, term by term, for a smoothed target."""
    trace, wanted = plan.trace, plan.trace.predicted[t]
    best = trace.top(t, BEST)
    texts = {wanted.id: wanted.text} | {each.id: each.text for each in best}
    terms = smooth_terms(trace, t, smoothing)
    ids = list(texts)
    lines = [*(terms[id] for id in ids), np.delete(terms, ids, 0).sum(0), terms.sum(0)]
    given = plan.give("terms", lines)
    names = [*(show_token(texts[id]) for id in ids), plan.say("others"), "Σ"]
    rows: list[list[Node]] = [
        [Spacer(), *(Label(text, style.SMALL, style.SOFT) for text in COLUMNS)]
    ]
    for n, name in enumerate(names):
        bold = n == len(names) - 1
        numbers = [Numeral(given[n, k], style.SMALL, digits=4, bold=bold) for k in range(4)]
        rows.append([Label(name, style.SMALL, bold=bold, fit=66), *numbers])
    told = plan.say("smoothed", word=show_token(wanted.text), n=f"{smoothing:g}")
    head = Label(told, style.SMALL, bold=True, of=plan.of(f"{smoothing:.9f}"))
    table = Columns(rows, gap=(11, 3), align=["start", *["end"] * 4])
    return Down(head, table, gap=6)

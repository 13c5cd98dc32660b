"""The figure of the loss, token by token (V88)."""

from __future__ import annotations

import numpy as np

from .parts import grammar as g
from .parts import style
from .parts.selection import list_shown

MOST, NEAR = 16, 0.1  # steps drawn; how far from the target's cost a usual one is, at most


@g.figure("loss")
def draw_loss(plan: g.Outline, *, smoothing: float = 0.1) -> g.Scene:
    """Show -ln P of each token of the translation, beside that of a smoothed target (V88)."""
    trace, total = plan.trace, len(plan.trace.predictions)
    logs = plan.give("log_prob", [each.log_prob for each in trace.predictions])
    worst, ink = int(logs.values.argmin()), "softmax"
    usual, aimed = float(np.median(-logs.values)), -float(np.log1p(-smoothing))
    even = total > 2 and float(-logs.values.min()) < 1.5 * usual
    met = even and abs(usual - aimed) < NEAR * aimed
    rows: list[list[g.Node]] = [[g.Spacer(), *(g.small(text) for text in ("$P$", "$− ln P$"))]]
    limit = max(float(-logs.values.min()), 1e-9)
    shown = list_shown(total, MOST)
    for t in shown:
        lit = style.LIT if t == worst and not even else ink
        bar = plan.bar(
            f"0 - log_prob[{t}]",
            limit,
            lit,
            digits=3,
            width=160,
            height=11,
            guide=aimed if met else None,
        )
        name = g.Label(plan.predicted[t], bold=t == worst and not even, fit=80)
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
    right = g.Down(formula, g.Columns(facts, gap=(12, 2), align="lr"), gap=style.APART)
    share = 100 * float(logs.values.min() / logs.values.sum())
    callouts = [g.Callout(f"bar {worst}", "hard", "right", 60)] if total > 1 and not even else []
    if met:
        callouts = [g.Callout(f"bar {shown[0]}, guide", "aimed", "above", 260)]
    return plan.compose(
        g.Across(left, right, gap=60),
        left=(len(shown), total),
        title="met" if met else "even" if even else "title",
        note="note_met" if met else "note",
        least=g.spell(-float(logs.values.max())),
        most=g.spell(-float(logs.values.min())),
        callouts=callouts,
        word=plan.predicted[worst],
        share=f"{share:.0f}",
        usual=g.spell(usual),
        aim=g.spell(1 - smoothing),
        asked=g.spell(aimed, 3),
    )

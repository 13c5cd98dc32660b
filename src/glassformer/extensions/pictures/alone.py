"""Figures of a language model: what a decoder expects (V115), what an encoder fills in (V116)."""

from __future__ import annotations

import numpy as np

from .choice import BEST
from .parts import grammar as g
from .parts import style
from .parts.selection import elide, tell_token

WIDE, COLUMNS, LINE = 62.0, 20, 10  # of a token; that are drawn; that stand in a line
LOOKS = 0.03  # a weight that is drawn as a line
HIDDEN = "[MASK]"


@g.figure("surprise")
def draw_surprise(plan: g.Outline) -> g.Scene:
    """Show how surprising each token was after those before it, and what was expected (V115)."""
    trace, count = plan.trace, len(plan.predicted)
    bits = plan.give("bits", [-each.log_prob / np.log(2) for each in trace.predictions])
    most, limit = int(bits.values.argmax()), float(bits.values.max()) or 1.0
    columns: list[g.Node] = []
    for t in elide(count, COLUMNS):
        if t is None:
            columns.append(g.Slot(g.Label("…", style.HEADING, style.SOFT), WIDE))
            continue
        best = trace.top(t, 1)[0]
        is_right = best.id == trace.predicted[t].id
        ink = style.LIT if t == most else "softmax"
        guess = g.tiny(tell_token(best.text), "decoder" if is_right else style.SOFT, fit=WIDE - 6)
        column = g.middle(
            g.Pillar(bits[t], limit, ink, width=26, height=96, digits=1),
            g.Chip(plan.predicted[t], "decoder", size=style.SMALL, lit=t == most, fit=WIDE - 16),
            guess,
            gap=4,
        )
        columns.append(g.Slot(column.named(f"token {t}"), WIDE))
    right = sum(each.rank == 0 for each in trace.predictions)
    mean = float(bits.values.mean())
    return plan.compose(
        g.wrap_across(columns, LINE * (WIDE + 3), gap=3, between=20),
        callouts=[g.Callout(f"token {most}", "expected", "below", 200)],
        word=plan.predicted[most],
        share=g.percent(float(np.exp(trace.predictions[most].log_prob)), 1),
        guess=tell_token(trace.top(most, 1)[0].text),
        n=right,
        all=count,
        bits=f"{mean:.1f}",
        perplexity=f"{2**mean:.1f}",
    )


@g.figure("filled")
def draw_filled(plan: g.Outline) -> g.Scene:
    """Show what an encoder puts in the place of [MASK], and where that place looks (V116)."""
    trace = plan.trace
    if HIDDEN not in plan.source:
        raise ValueError(f"nothing is hidden in “{trace.text}”: write {HIDDEN} for a word of it")
    at = plan.source.index(HIDDEN)
    last = plan.settings.encoder_layers - 1
    weights = plan.of(
        f"(sum[h] encoder.{last}.self_attention.weights[h,{at},m]) / {plan.settings.heads}"
    )
    words, links = list[g.Node](), list[g.Link]()
    for n, text in enumerate(plan.source):
        lit = n == at
        chip = g.Chip(text, "query" if lit else "", lit=lit, size=style.BODY, fit=80)
        words.append(chip.named(f"word {n}"))
        weight = float(weights[n])
        if not lit and weight >= LOOKS:
            look = g.Link(f"word {at}", f"word {n}", "arc", "query", 0.6 + 7 * weight, head=False)
            links.append(look)
    best = trace.top(at, BEST)
    rows: list[list[g.Part]] = []
    limit = float(np.exp(best[0].log_prob))
    for n, each in enumerate(best):
        share = plan.of(f"probabilities[{at},{each.id}]")
        bar = g.Bar(share, limit, "softmax" if n else style.LIT, width=200, digits=3)
        rows.append([g.Chip(tell_token(each.text), "encoder", lit=not n, fit=110), bar])
    rest = " - ".join(["1", *(f"probabilities[{at},{each.id}]" for each in best)])
    left = g.small(plan.say("others", n=len(trace.vocabulary or ()) - len(best)))
    rows.append([left, plan.number(rest, ink=style.SOFT, digits=3)])
    table = g.Columns(rows, gap=(14, 5), align="rl").named("table")
    before, after = (float(part.sum()) for part in (weights.values[:at], weights.values[at + 1 :]))
    return plan.compose(
        g.middle(g.wrap_across(words, 600, gap=5, between=30), table, gap=44),
        links=[*links, g.Link(f"word {at}", "table", ink="query", line=1.6)],
        word=tell_token(best[0].text),
        share=g.percent(limit).replace(" ", "\u00a0"),
        layer=last,
        before=g.percent(before),
        after=g.percent(after),
    )

"""Figures of how the next token is chosen: the softmax, the best, the lot (V80, V81, V83)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from .parts import grammar as g
from .parts import style
from .parts.selection import elide, find_query, tell_token, tell_tokens

BEST = 8  # tokens drawn of a distribution
STEPS = 16  # steps drawn of a translation
SURE, CLOSE = 0.8, 0.5  # above: the model is sure; below: it hesitates


def find_step(trace: Any, step: int | str | None) -> int:
    """Return a row of the decoder: by number, by predicted token, or the least sure one."""
    if step is not None:
        return find_query(tell_tokens(trace.predicted), step, "step")
    return min(range(len(trace.predictions)), key=lambda t: trace.top(t, 1)[0].log_prob)


@g.figure("choice")
def draw_choice(plan: g.Outline, *, step: int | str | None = None) -> g.Scene:
    """Show one prediction: the last vector, the linear map, the softmax, the best tokens (V80)."""
    trace, t = plan.trace, find_step(plan.trace, step)
    probabilities, logits = plan.of(f"probabilities[{t},v]"), plan.of(f"logits[{t},v]")
    d, count = trace["last"].shape[1], len(probabilities)
    vector = plan.strip(f"last[{t},d]", "decoder", cell=(40.0, 22.0)).named("vector")
    linear = g.Component(plan.say("linear"), "linear", width=120, height=30).named("linear")
    softmax = g.Component("Softmax", "softmax", width=120, height=30).named("softmax")
    text = g.small(plan.say("logits", n=count, d=d), "logits").named("logits")
    given_token = g.middle(
        plan.small("given"), g.Chip(plan.target[t], "decoder").named("given"), gap=2
    )
    left = g.middle(given_token, vector, linear, text, softmax, gap=24)
    best = trace.top(t, min(BEST, count))
    rows: list[list[g.Part]] = [plan.heads("", "logit", "probability")]
    shown = sum(float(probabilities[choice.id]) for choice in best)
    limit = max(float(probabilities.values.max()), 1.0 - shown)
    for choice in best:
        taken = choice.id == trace.predicted[t].id
        name = g.Chip(tell_token(choice.text), "decoder" if taken else "", lit=taken, fit=90)
        ink = style.LIT if taken else "softmax"
        bar = g.Bar(probabilities[choice.id], limit, ink, digits=4, width=170)
        rows.append([name, g.Numeral(logits[choice.id]), bar])
    if count > len(best):
        rest = " - ".join(["1", *(f"probabilities[{t},{choice.id}]" for choice in best)])
        left_out = g.small(plan.say("others", n=count - len(best)))
        rows.append([left_out, None, plan.bar(rest, limit, style.FAINT, digits=4, width=170)])
    table = g.Columns(rows, gap=(14, 5), align="rrl").named("table")
    way = ("given", "vector", "linear", "logits", "softmax")
    links = [g.Link(a, b) for a, b in pairwise(way)]
    links.append(g.Link("softmax", "table", "elbow", sides=("right", "left"), lane=0.5))
    top = np.exp([choice.log_prob for choice in best])
    key = "sure" if top[0] > SURE else "close" if top[0] < CLOSE and len(top) > 1 else "wins"
    two = tell_token(best[min(1, len(best) - 1)].text)
    return plan.compose(
        g.Across(left, table, gap=style.FAR + 10),
        title=key,
        links=links,
        one=tell_token(best[0].text),
        two=two,
        share=g.percent(float(top[0])),
        t=t,
    )


@g.figure("sampling")
def draw_sampling(
    plan: g.Outline,
    *,
    step: int | str | None = None,
    temperatures: tuple[float, float] = (0.5, 1.5),
    top_k: int = 3,
    top_p: float = 0.9,
) -> g.Scene:
    """Show one prediction as it is, at two temperatures, and cut by top-k and top-p (V83)."""
    trace, t = plan.trace, find_step(plan.trace, step)
    z = trace["logits"][t].astype(np.float64)
    best = trace.top(t, min(BEST, len(z)))
    low, high = temperatures
    warmed = "exp(logits[{t},{{v}}] / {h:.9f}) / (sum[w] exp(logits[{t},w] / {h:.9f}))"
    plain = f"probabilities[{t},{{v}}]"
    ids = [choice.id for choice in best]
    cut = {"top_k": cut_off(z, top_k, 1.0), "top_p": cut_off(z, len(z), top_p)}
    for name, share in cut.items():
        plan.give(name, share[ids])
    panels = (
        (plan.say("warmth", t=f"{low:g}"), low, warmed.format(t=t, h=low), "value"),
        (plan.say("as_is"), None, plain, "softmax"),
        (plan.say("warmth", t=f"{high:g}"), high, warmed.format(t=t, h=high), "key"),
        (f"top-k {top_k}", top_k, "top_k[{n}]", "weights"),
        (f"top-p {top_p:g}", top_p, "top_p[{n}]", "heads"),
    )
    heads: list[g.Node] = [g.Spacer()]
    rows: list[list[g.Node]] = [[g.Label(tell_token(each.text), fit=80)] for each in best]
    rest: list[g.Node] = [g.small(plan.say("others", n=len(z) - len(best)))]
    for name, setting, expression, role in panels:
        ink, of = role, plan.of(f"{setting:.9f}") if setting else None
        heads.append(g.small(name, ink, bold=True, of=of))
        for place, choice in enumerate(best):
            number = plan.of(expression.format(v=choice.id, n=place))
            bar = g.Bar(number, 1.0, ink, width=66, height=11)
            rows[place].append(bar if float(number) else g.Label("×", ink=style.FAINT))
        shown = (expression.format(v=choice.id, n=n) for n, choice in enumerate(best))
        left = plan.of(" - ".join(["1", *(f"({each})" for each in shown)]))
        is_cut = expression[:5] in cut and not np.delete(cut[expression[:5]], ids).any()
        bar = g.Bar(left, 1.0, style.FAINT, width=66, height=11)
        rest.append(g.Label("×", ink=style.FAINT) if is_cut else bar)
    if len(z) > len(best):
        rows.append(rest)
    return plan.compose(
        g.Columns([heads, *rows], gap=(8, 6)),
        word=plan.target[t],
        best=tell_token(best[0].text),
        low=f"{low:g}",
        high=f"{high:g}",
        one=g.percent(float(plan.of(warmed.format(t=t, h=low).format(v=ids[0])))),
        two=g.percent(float(plan.of(warmed.format(t=t, h=high).format(v=ids[0])))),
        n=len(z) - len(best),
        kept=int((cut["top_p"] > 0).sum()),
    )


def cut_off(logits: g.Array, k: int, p: float) -> g.Array:
    """Return probabilities after top-k and top-p, scaled to sum to 1.

    Top-p keeps the smallest set of best tokens whose probabilities reach p.
    """
    share = np.exp(logits - np.logaddexp.reduce(logits))
    order = np.argsort(-share, kind="stable")
    before = np.cumsum(share[order]) - share[order]
    out = order[(before >= p) | (np.arange(len(order)) >= k)]
    share[out] = 0
    return np.asarray(share / share.sum())


@g.figure("greedy")
def draw_greedy_path(plan: g.Outline, *, k: int = 3) -> g.Scene:
    """Show the token written at each step, how probable it was, and its best rivals (V81)."""
    trace, count, written = plan.trace, len(plan.predicted), plan.give_sure()
    tops = [trace.top(t, k) for t in range(count)]
    rivals = plan.give("rivals", [[np.exp(c.log_prob) for c in top] for top in tops])
    rows: list[list[g.Part]] = [plan.heads("", "written", "rivals")]
    shares, shown = written.values, elide(count, STEPS, 5)
    for t in shown:
        if t is None:
            rows.append([g.Label("…", ink=style.SOFT)])
            continue
        ink = style.LIT if shares[t] < CLOSE else "decoder"
        name = g.Chip(plan.predicted[t], "decoder", fit=110)
        others = [n for n, choice in enumerate(tops[t]) if choice.id != trace.predicted[t].id]
        parts: list[g.Node] = []
        for n in others[: max(1, k - 1)]:
            parts.append(g.small(tell_token(tops[t][n].text), fit=90))
            parts.append(g.Numeral(rivals[t, n], style.SMALL, style.SOFT, digits=4))
        bar = g.Bar(written[t], 1.0, ink, width=170, track=True)
        rows.append([name, bar, g.Across(*parts, gap=7)])
    best = sum(prediction.rank == 0 for prediction in trace.predictions)
    least = int(shares.argmin())
    key = "sure" if shares[least] > SURE else "least"
    return plan.compose(
        g.Columns(rows, gap=(14, 5), align="rl"),
        title=key,
        left=(sum(t is not None for t in shown), count),
        word=plan.predicted[least],
        share=g.percent(float(shares[least])),
        best=best,
        n=count,
    )

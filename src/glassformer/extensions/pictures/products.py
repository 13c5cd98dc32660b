"""Figures of self-attention as products of matrices (V40, V41, V48)."""

from __future__ import annotations

from functools import partial

import numpy as np

from .attention import Query, choose_row, find_sharpest
from .head import PROJECTIONS, Head
from .parts import grammar as g
from .parts import style
from .parts.selection import find_input, get_mask, keep_largest, pick
from .steps import choose_glance

MOST = 22  # tokens of a matrix with names


def _sign(text: str) -> g.Node:
    return g.Label(text, style.TITLE if len(text) == 1 else style.BODY, style.SOFT)


@g.figure("matrix_form")
def draw_matrix_form(
    plan: g.Outline, *, side: str = "decoder", layer: int = 0, head: int | None = None
) -> g.Scene:
    """Show every stage of softmax(Q K^T / sqrt(d_k)) V = Z (V40)."""
    trace = plan.trace
    attention = plan.attention(side, layer)
    name, weights = attention.name, trace[f"{attention.name}.weights"]
    row = choose_row(trace, attention, None)
    head = pick(
        find_sharpest(attention, weights, row) if head is None else head, len(weights), "head"
    )
    n = weights.shape[1]
    unit = min(7.0, 112 / n)
    hidden = ~np.broadcast_to(get_mask(trace, name), weights.shape[1:])
    scores = plan.of(f"{name}.scores[{head},q,m]")
    share = plan.of(f"{name}.weights[{head},q,m]")
    raw = plan.of(f"sum[k] {name}.query[{head},q,k] {name}.key[{head},m,k]")
    turned = plan.of(f"{name}.key[{head},m,k]").values.T
    parts = {
        "Q": g.tensor(plan.of(f"{name}.query[{head},q,k]"), "$Q$", "query", unit=unit),
        "K": g.tensor(turned, "$K^T$", "key", unit=unit),
        "V": g.tensor(plan.of(f"{name}.value[{head},m,k]"), "$V$", "value", unit=unit),
        "Z": g.tensor(plan.of(f"{name}.context[{head},q,k]"), "$Z$", "heads", unit=unit),
        "raw": g.tensor(raw, "$Q K^T$", "scores", unit=unit),
        "scaled": g.tensor(scores, "$÷ √d_k$", "scores", unit=unit),
        "masked": g.tensor(scores, "$+ M$", "scores", unit=unit, hidden=hidden),
        "share": g.tensor(share, "$softmax$", "weights", unit=unit, scale="share", hidden=hidden),
    }
    ways = [["Q", "×", "K", "=", "raw", "→", "scaled"], ["share", "×", "V", "=", "Z"]]
    if hidden.any():
        ways[1][:0] = "masked", "→"
    first, second = (g.equation(*(parts.get(each, each) for each in way)) for way in ways)
    away = float(hidden.mean())
    key = "masked" if hidden.any() else "title"
    callouts = [g.Callout(f"$+ M$[0,{n - 1}]", "future", "left", 80)] if hidden.any() else []
    ends: tuple[g.Side, g.Side] = ("right", "above")
    below = f"name of ${'+ M' if hidden.any() else 'softmax'}$"
    down = g.Link("$÷ √d_k$", below, "around", sides=ends, lane=0.88)
    mask = " + M" if hidden.any() else ""
    formula = g.Label(f"$Z = softmax( Q K^T / √d_k{mask} ) V$", style.TITLE)
    return plan.compose(
        g.middle(formula, first, second, gap=style.APART),
        title=key,
        links=[down],
        callouts=callouts,
        share=g.percent(away),
        n=n,
        head=head,
        k=trace.settings.width,
    )


@g.figure("one_row")
def draw_row_of_scores(
    plan: g.Outline, *, layer: int | None = None, head: int | None = None, query: Query = None
) -> g.Scene:
    """Show one query against all keys: one row of the weight matrix (V41)."""
    look = choose_glance(plan, layer, head, query)
    weights = plan.of(f"{look.name}.weights[{look.head},q,m]")
    shown = keep_largest(weights.values[look.row], MOST, (look.row,))
    texts = [look.keys[n] for n in shown]
    limit = float(weights.values.max())
    own = shown.index(look.row)
    side, seen = 14.0 * len(shown), weights.values[np.ix_(shown, shown)]
    cells = g.Panel(seen, width=side, height=side, scale="share", limit=limit)
    grid = g.Matrix(cells, rows=texts, columns=texts, lit=[own], fit=70).named("grid")
    rows: list[list[g.Node]] = []
    longest, bar = max(0.3, limit), partial(plan.bar, width=100.0, height=11.0)
    for m in look.shown:
        name = g.Label(look.keys[m], bold=m == look.best, fit=90)
        rows.append([name, bar(look.cell("weights", m), longest, "weights")])
    if others := len(look.keys) - len(look.shown):
        name = g.small(plan.say("others", n=others))
        rows.append([name, bar(look.rest, longest, style.FAINT)])
    bars = g.Columns(rows, gap=(8, 4), align="rl")
    title = g.Label(plan.say("reads", word=look.keys[look.row]), ink=style.LIT, bold=True)
    rest = len(look.keys) - len(shown)
    return plan.compose(
        g.Across(grid, g.Down(title.named("reads"), bars, gap=8), gap=60),
        note=plan.say("note", **plan.facts) + (plan.say("rest", n=rest) if rest else ""),
        links=[
            g.Link(grid.find_row(own), "reads", "elbow", style.LIT, 1.6, sides=("right", "left"))
        ],
        word=look.keys[look.row],
        key=look.keys[look.best],
        share=g.percent(float(weights[look.row, look.best])),
        n=len(look.keys),
    )


@g.figure("formulas")
def draw_formulas(plan: g.Outline, *, layer: int = 0, head: int = 0) -> g.Scene:
    """Show the two formulas of section 3.2.2 as tensors, and one head in both of them (V48)."""
    trace, attention = plan.trace, plan.attention("encoder", layer)
    name, h = attention.name, pick(head, trace.settings.heads, "head")
    own, z = Head(plan, attention, h), trace[f"{name}.context"]
    count, n, k = z.shape
    inputs = plan.of(f"{find_input(trace, 'encoder', attention.layer, 'self_attention')}[q,d]")
    look = {"unit": min(2.4, 112 / max(*inputs.shape, count * k))}
    inks = (style.LIT if i == h else "heads" for i in range(count))
    blocks = [
        g.Panel(z[i], edge=ink, width=look["unit"] * k, height=max(12.0, look["unit"] * n))
        for i, ink in enumerate(inks)
    ]
    blocks[h].named("block")
    joined = g.Label("$Concat ( head_0 , … )$", style.HEADING, "heads")
    shape = g.tiny(f"{n} × {count * k}")
    projected: list[g.Node] = []
    for projection in PROJECTIONS:
        projected += [_sign(",")] if projected else []
        x, name_of = g.tensor(inputs, "$X$", "sum", **look), f"$W_{{{projection[0].upper()},{h}}}$"
        learned = g.tensor(own.learned(projection), name_of, projection, **look)
        projected.append(g.Across(x, _sign("·"), learned, gap=6))
    rows: tuple[tuple[g.Node, ...], ...] = (
        (
            _sign("$Attention ($"),
            *projected,
            _sign("$) =$"),
            g.tensor(own.of("context"), f"$head_{{{h}}}$", "heads", **look).named("head"),
        ),
        (
            g.middle(g.Across(*blocks, gap=1.5), joined, shape, gap=3, stands_on=0),
            _sign("×"),
            g.tensor(trace[f"{name}.to_output.weight"].T, "$W_O$", "linear", most=150, **look),
            _sign("="),
            g.tensor(plan.of(f"{name}.output[q,d]"), "$MultiHead$", "heads", most=150, **look),
        ),
    )
    first = g.Label("$head_i = Attention ( X W_{Q,i} , X W_{K,i} , X W_{V,i} )$", style.TITLE)
    second = g.Label("$MultiHead = Concat ( head_0 , … ) W_O$", style.TITLE)
    lines = (g.Across(*row, gap=12) for row in rows)
    return plan.compose(
        g.Down(g.Down(first, next(lines), gap=10), g.Down(next(lines), second, gap=10), gap=20),
        note=plan.say("note", where=attention.title(plan.lang), head=h, n=count),
        links=[
            g.Link("head", "block", "elbow", style.LIT, 1.6, sides=("below", "above"), lane=0.42)
        ],
        callouts=[g.Callout("head", "place", "right", 80)],
        h=h,
        k=k,
        all=count * k,
    )

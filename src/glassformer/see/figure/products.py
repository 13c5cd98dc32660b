"""Figures of self-attention as products of matrices (V40, V41, V48)."""

from __future__ import annotations

import numpy as np

from . import style
from .attention import Query, choose_row, find_sharpest
from .grids import Matrix
from .links import Callout, Link
from .nodes import Across, Bar, Columns, Down, Label, Node, Panel, percent
from .plan import Outline, figure
from .quantity import Array, Quantity
from .scene import Scene
from .selection import find_attention, find_input, get_mask, keep_largest, pick
from .steps import choose_keys

MOST = 22  # tokens of a matrix with names


def show_tensor(
    values: Quantity | Array,
    name: str,
    role: str,
    *,
    unit: float = 2.0,
    most: float = 130.0,
    scale: str = "signed",
    limit: float | None = None,
    hidden: Array | None = None,
    shape: bool = True,
) -> Node:
    """Return a matrix as colours in its true proportions, with its name above and its shape below.

    unit: points of a row or column; no side is longer than `most`.
    """
    rows, columns = values.shape
    ink = style.role(role).ink
    wide, high = (min(most, max(12.0, unit * n)) for n in (columns, rows))
    panel = Panel(
        values, width=wide, height=high, scale=scale, limit=limit, hidden=hidden, edge=ink
    )
    title = Label(name, style.HEADING, ink).named(f"name of {name}")
    size = [Label(f"{rows} × {columns}", style.TINY, style.SOFT)] if shape else []
    return Down(title, panel.named(name), *size, gap=3, align="middle", stands_on=1)


def _sign(text: str) -> Node:
    return Label(text, style.TITLE if len(text) == 1 else style.BODY, style.SOFT)


@figure("matrix_form")
def draw_matrix_form(
    plan: Outline, *, side: str = "decoder", layer: int = 0, head: int | None = None
) -> Scene:
    """Show every stage of softmax(Q K^T / sqrt(d_k)) V = Z (V40)."""
    trace = plan.trace
    attention = find_attention(trace, side, layer)
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
        "Q": show_tensor(plan.of(f"{name}.query[{head},q,k]"), "$Q$", "query", unit=unit),
        "K": show_tensor(turned, "$K^T$", "key", unit=unit),
        "V": show_tensor(plan.of(f"{name}.value[{head},m,k]"), "$V$", "value", unit=unit),
        "Z": show_tensor(plan.of(f"{name}.context[{head},q,k]"), "$Z$", "heads", unit=unit),
        "raw": show_tensor(raw, "$Q K^T$", "scores", unit=unit),
        "scaled": show_tensor(scores, "$÷ √d_k$", "scores", unit=unit),
        "masked": show_tensor(scores, "$+ M$", "scores", unit=unit, hidden=hidden),
        "share": show_tensor(
            share, "$softmax$", "weights", unit=unit, scale="share", hidden=hidden
        ),
    }
    times, equals, then = ([_sign(sign) for _ in range(3)] for sign in "×=→")
    first = Across(
        parts["Q"], times[0], parts["K"], equals[0], parts["raw"], then[0], parts["scaled"], gap=10
    )
    masks = [parts["masked"], then[1]] if hidden.any() else []
    second = Across(*masks, parts["share"], times[1], parts["V"], equals[1], parts["Z"], gap=10)
    away = float(hidden.mean())
    key = "masked" if hidden.any() else "title"
    callouts = [Callout("$+ M$", plan.say("future"), "left", 80)] if hidden.any() else []
    formula = Label(
        "$Z = softmax( Q K^T / √d_k + M ) V$" if masks else "$Z = softmax( Q K^T / √d_k ) V$",
        style.TITLE,
    )
    return plan.compose(
        Down(formula, first, second, gap=style.APART, align="middle"),
        title=plan.say(key, share=percent(away), n=n),
        note=plan.say("note", where=attention.title(plan.lang), head=head, k=trace.settings.width),
        callouts=callouts,
    )


@figure("one_row")
def draw_row_of_scores(
    plan: Outline, *, layer: int | None = None, head: int | None = None, query: Query = None
) -> Scene:
    """Show one query against all keys: one row of the weight matrix (V41)."""
    look = choose_keys(plan, layer, head, query)
    weights = plan.of(f"{look.name}.weights[{look.head},q,m]")
    shown = keep_largest(weights.values[look.row], MOST, (look.row,))
    texts = [look.keys[n] for n in shown]
    limit = float(weights.values.max())
    own = shown.index(look.row)
    side = 14.0 * len(shown)
    cells = Panel(
        weights.values[np.ix_(shown, shown)], width=side, height=side, scale="share", limit=limit
    )
    grid = Matrix(cells, rows=texts, columns=texts, lit=[own], fit=70).named("grid")
    ink = style.role("weights").ink
    rows: list[list[Node]] = []
    for m in look.shown:
        name = Label(look.keys[m], style.BODY, bold=m == look.best, fit=90)
        rows.append([name, Bar(weights[look.row, m], max(0.3, limit), ink, width=100, height=11)])
    if others := len(look.keys) - len(look.shown):
        name = Label(plan.say("others", n=others), style.SMALL, style.SOFT)
        bar = Bar(plan.of(look.rest), max(0.3, limit), style.FAINT, width=100, height=11)
        rows.append([name, bar])
    bars = Columns(rows, gap=(8, 4), align=["end", "start"])
    title = Label(plan.say("reads", word=look.keys[look.row]), style.BODY, style.LIT, bold=True)
    best = float(weights.values[look.row, look.best])
    rest = len(look.keys) - len(shown)
    return plan.compose(
        Across(grid, Down(title.named("reads"), bars, gap=8), gap=60),
        title=plan.say(
            "title",
            word=look.keys[look.row],
            key=look.keys[look.best],
            share=percent(best),
            n=len(look.keys),
        ),
        note=plan.say("note", where=look.where) + (plan.say("rest", n=rest) if rest else ""),
        links=[Link(grid.find_row(own), "reads", "elbow", style.LIT, 1.6, sides=("right", "left"))],
    )


@figure("formulas")
def draw_formulas(plan: Outline, *, layer: int = 0, head: int = 0) -> Scene:
    """Show the two formulas of section 3.2.2, each symbol joined to its tensor (V48)."""
    trace = plan.trace
    attention, h = find_attention(trace, "encoder", layer), pick(head, trace.settings.heads, "head")
    name, k = attention.name, trace.settings.width
    source = plan.of(f"{find_input(trace, 'encoder', attention.layer, 'self_attention')}[q,d]")
    unit = min(2.0, 120 / max(source.shape))
    learned = {
        letter: plan.of(f"{name}.to_{projection}.weight[r,d]").values[h * k : (h + 1) * k].T
        for letter, projection in zip("QKV", ("query", "key", "value"), strict=True)
    }
    z = trace[f"{name}.context"]
    joined = z.transpose(1, 0, 2).reshape(z.shape[1], -1)
    out = plan.of(f"{name}.to_output.weight[r,d]").values.T
    made = plan.of(f"{name}.output[q,d]")
    own = plan.of(f"{name}.context[{h},q,k]")
    roles = {"Q": "query", "K": "key", "V": "value"}
    rows = [
        [("$Attention ($", None, ""), ("$X$", source, "sum"), ("$·$", None, "")]
        + [(f"$W_{letter}$", learned[letter], roles[letter]) for letter in "QKV"]
        + [("$) =$", None, ""), (f"$head_{h}$", own, "heads")],
        [
            ("$Concat ( head_0 , … )$", joined, "heads"),
            ("×", None, ""),
            ("$W_O$", out, "linear"),
            ("=", None, ""),
            ("$MultiHead$", made, "heads"),
        ],
    ]
    lines = []
    for row in rows:
        nodes = [
            _sign(text) if values is None else show_tensor(values, text, role, unit=unit)
            for text, values, role in row
        ]
        lines.append(Across(*nodes, gap=12))
    count = sum(
        trace[f"{name}.to_{part}.weight"].size for part in ("query", "key", "value", "output")
    )
    spelled = "$head_i = Attention ( X W_{Q,i} , X W_{K,i} , X W_{V,i} )$"
    formulas = (spelled, "$MultiHead = Concat ( head_0 , … ) W_O$")
    parts = [
        Down(Label(formula, style.TITLE), line, gap=12)
        for formula, line in zip(formulas, lines, strict=True)
    ]
    return plan.compose(
        Down(*parts, gap=30),
        title=plan.say("title", n=count),
        note=plan.say("note", where=attention.title(plan.lang), h=h, n=trace.settings.heads),
        callouts=[Callout("name of $W_O$", plan.say("shared"), "right", 110)],
    )

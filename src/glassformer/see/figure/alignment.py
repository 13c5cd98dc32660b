"""Figures of attention as matrices: all heads, alignments, weighted sums (V53-V55, V77)."""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np

from . import style
from .aligning import find_aligner, find_aligning_head
from .choice import find_step
from .grids import Matrix
from .links import Callout
from .nodes import (
    Across,
    Bar,
    Chip,
    Columns,
    Down,
    Held,
    Label,
    Line,
    Node,
    Numeral,
    Panel,
    Spacer,
    Strip,
)
from .plan import Outline, figure
from .quantity import Array
from .scene import Scene
from .selection import (
    count_layers,
    elide,
    find_attention,
    get_mask,
    keep_largest,
    show_token,
    show_tokens,
    tell_tokens_left_out,
)

KINDS = (
    ("encoder", "self_attention"),
    ("decoder", "self_attention"),
    ("decoder", "cross_attention"),
)
ROWS, COLUMNS, KEYS = 30, 8, 12  # tokens of an alignment; of the weighted sums; keys with vectors
SURE = 0.5  # of a weight: most of it is on one token
CELL = (30.0, 19.0)


def roll_out_layers(layers: list[Array]) -> list[Array]:
    """Return the attention rollout up to each layer (Abnar and Zuidema 2020); L x L each.

    The weights of a layer are averaged over its heads; half of the result is the identity, for
    the residual connection. The matrices are multiplied from the lowest layer up.
    """
    half = 0.5 * np.eye(layers[0].shape[1])
    steps = (0.5 * weights.astype(np.float64).mean(0) + half for weights in layers)
    return list(accumulate(steps, lambda below, step: step @ below))


@figure("overview")
def draw_overview(plan: Outline, *, side: str | None = None, kind: str | None = None) -> Scene:
    """Show every head of the model, or those of one kind with mean, maximum and rollout (V53)."""
    if side or kind:
        side = side or "decoder" if kind == "cross_attention" else side or "encoder"
        return _show_kind(plan, side, kind or "self_attention")
    blocks: list[Node] = []
    sharp, count, best = 0, 0, (0.0, "", 0, 0)
    for side_, kind_ in KINDS:
        layers = count_layers(plan.trace, side_)
        rows: list[list[Node]] = []
        wide = min(24.0, (188.0 - 4 * plan.trace.settings.heads) / plan.trace.settings.heads)
        for layer in range(layers):
            weights = plan.trace[f"{side_}.{layer}.{kind_}.weights"]
            peaks = weights.max(-1).mean(-1)
            sharp, count = sharp + int((peaks >= SURE).sum()), count + len(peaks)
            top = int(peaks.argmax())
            best = max(best, (float(peaks[top]), f"{side_}_{kind_}", layer, top))
            thumbs = _show_thumbs(plan, side_, kind_, layer, weights, wide)
            rows.append([Label(str(layer), style.TINY, style.SOFT), *thumbs])
        name = Label(plan.say(f"{side_}_{kind_}"), style.SMALL, bold=True)
        grid = Columns(rows, gap=(4, 4), align=["end", *["middle"] * plan.trace.settings.heads])
        blocks.append(Down(name, grid, gap=8, align="middle"))
    _, which, layer, head = best
    told = plan.say("sharpest", layer=layer, head=head)
    return plan.compose(
        Across(*blocks, gap=22, align="top"),
        title=plan.say("title", n=sharp, all=count),
        note=plan.say("note"),
        callouts=[Callout(f"{which} {layer} {head}", told, "below", 150)],
    )


def _show_thumbs(
    plan: Outline, side: str, kind: str, layer: int, weights: Array, wide: float
) -> list[Node]:
    """Return a panel for each head; the last colour is the 99th percentile of its weights."""
    mask = ~get_mask(plan.trace, f"{side}.{layer}.{kind}") if kind == "self_attention" else None
    hidden = (
        np.broadcast_to(mask, weights.shape[1:]) if mask is not None and side == "decoder" else None
    )
    found: list[Node] = []
    for head, values in enumerate(weights):
        limit = float(np.quantile(values, 0.99)) or 1.0
        panel = Panel(
            values,
            width=wide,
            height=wide,
            scale="share",
            limit=limit,
            hidden=hidden,
            edge=style.FAINT,
        )
        found.append(panel.named(f"{side}_{kind} {layer} {head}"))
    return found


def _show_kind(plan: Outline, side: str, kind: str) -> Scene:
    """Show the heads of one kind of attention, and what is derived from them."""
    attention = find_attention(plan.trace, side, 0, kind)
    count, heads = count_layers(plan.trace, side), plan.trace.settings.heads
    layers = [plan.trace[f"{side}.{n}.{kind}.weights"] for n in range(count)]
    derived = [[weights.mean(0), weights.max(0)] for weights in layers]
    names = ["mean", "maximum"]
    if kind == "self_attention":
        names.append("rollout")
        for row, rolled in zip(derived, roll_out_layers(layers), strict=True):
            row.append(rolled)
    wide = min(54.0, (610.0 - 5 * (heads + 4)) / (heads + len(names)))
    top: list[Node] = [Spacer()]
    top += [Label(str(n), style.SMALL, style.HEADS[n % 16], bold=True) for n in range(heads)]
    top += [Label(plan.say(name), style.TINY, style.SOFT, fit=wide + 4) for name in names]
    rows = [top]
    for layer, (weights, more) in enumerate(zip(layers, derived, strict=True)):
        both = np.concatenate([weights, np.stack(more)])
        thumbs = _show_thumbs(plan, side, kind, layer, both, wide)
        peaks = plan.give(f"peak_{layer}", both.max((1, 2)))
        cells: list[Node] = [
            Down(
                thumb,
                Numeral(peaks[n], min(style.TINY, wide / 4), style.SOFT),
                gap=0,
                align="middle",
            )
            for n, thumb in enumerate(thumbs)
        ]
        rows.append([Label(str(layer), style.SMALL, bold=True), *cells])
    sharp = sum(int((weights.max(-1).mean(-1) >= SURE).sum()) for weights in layers)
    return plan.compose(
        Columns(rows, gap=(5, 4), align=["end", *["middle"] * (heads + len(names))]),
        title=plan.say("title", n=sharp, all=count * heads),
        note=plan.say("note_kind", where=attention.title(plan.lang)),
    )


@figure("alignment")
def draw_alignment(
    plan: Outline, *, layer: int | None = None, head: int | str | None = None
) -> Scene:
    """Show cross-attention as an alignment: which source words each target word reads (V54).

    head="mean" is the mean over the heads of a layer.
    """
    if isinstance(head, str) and head != "mean":
        raise ValueError(f"head={head}: a number, or mean")
    trace, aligner = plan.trace, find_aligner(plan.trace)
    own, chosen = aligner.layer, aligner.head
    if layer is not None or head is not None:
        own, found = find_aligning_head(trace, layer, None if head == "mean" else head)  # type: ignore[arg-type]
        chosen = None if head == "mean" else found
    attention = find_attention(trace, "decoder", own, "cross_attention")
    name, heads = f"{attention.name}.weights", trace.settings.heads
    weights = plan.of(
        f"(sum[h] {name}[h,q,m]) / {heads}" if chosen is None else f"{name}[{chosen},q,m]"
    )
    side = trace.predicted if aligner.row == "predicts" else trace.target
    texts, values = show_tokens(side), weights.values
    rows = [n for n in elide(len(texts), ROWS) if n is not None]
    columns = keep_largest(values[rows].max(0), ROWS)
    cell = min(20.0, 520 / max(len(rows), len(columns)))
    panel = Panel(
        weights,
        width=cell * len(columns),
        height=cell * len(rows),
        scale="share",
        limit=float(values.max()),
        only=(rows, columns),
        edge=style.FAINT,
    )
    sums = [plan.of(f"sum[m] ({weights[n].source})") for n in rows] if cell >= 11 else []
    key, told = find_order(texts, attention.keys, values)
    matrix = Matrix(
        panel,
        rows=[texts[n] for n in rows],
        columns=[attention.keys[m] for m in columns],
        sums=sums,
        fit=84,
    ).named("matrix")
    palest = int(values[rows].max(1).argmin())
    at = matrix.find_row(palest) if key == "blurred" else "matrix"
    measured = layer is None and head is None and trace.document.aligner and not trace.edits
    which = plan.say("mean") if chosen is None else plan.say("head", head=chosen)
    return plan.compose(
        matrix,
        title=plan.say(key, **told),
        note=plan.say("note", where=attention.title(plan.lang), which=which)
        + (plan.say("measured") if measured else "")
        + tell_tokens_left_out(plan.lang, len(rows) + len(columns), sum(values.shape)),
        callouts=[Callout(at, plan.say(f"see_{key}"), "right", 110)],
    )


def find_order(texts: list[str], keys: list[str], weights: Array) -> tuple[str, dict[str, object]]:
    """Return a finding about the order of source and translation, and what it names."""
    best, peak = weights.argmax(1), weights.max(1)
    words = [n for n, text in enumerate(texts) if peak[n] >= 0.4 and any(map(str.isalpha, text))]
    turned = [(a, b) for a, b in pairwise(words) if best[b] < best[a] and b <= a + 4]
    if turned:
        a, b = max(turned, key=lambda pair: float(peak[[*pair]].min()))
        names = {"one": texts[a], "two": texts[b], "a": keys[best[a]], "b": keys[best[b]]}
        return "turned", names
    if len(words) >= 0.5 * len(texts):
        return "straight", {}
    return "blurred", {"n": len(words), "all": len(texts)}


@figure("mixed")
def draw_weighted_sum(plan: Outline, *, layer: int | None = None, head: int | None = None) -> Scene:
    """Show weighted sums: a row for each source token, a column for each target token (V55)."""
    trace, (layer, head) = plan.trace, find_aligning_head(plan.trace, layer, head)
    attention = find_attention(trace, "decoder", layer, "cross_attention")
    weights = plan.of(f"{attention.name}.weights[{head},q,m]")
    texts = show_tokens(trace.predicted)
    columns = [t for t in elide(len(texts), COLUMNS) if t is not None]
    rows = keep_largest(weights.values[columns].max(0), KEYS)
    inks = {key: style.role(key).ink for key in ("value", "weights", "heads")}
    head_v = Label("$v$", style.HEADING, inks["value"])
    table: list[list[Node]] = [[Spacer(), Held(head_v, 3 * CELL[0])]]
    table[0] += [Chip(texts[t], "decoder", size=style.TINY, fit=40) for t in columns]
    for i in rows:
        value = plan.of(f"{attention.name}.value[{head},{i},k]")
        row: list[Node] = [
            Label(attention.keys[i], style.SMALL, fit=70),
            Strip(value, "value", shown=3, cell=CELL, size=style.TINY),
        ]
        for t in columns:
            cell = Panel(
                plan.of(f"{attention.name}.weights[{head},{t},m]"),
                width=46,
                height=CELL[1],
                scale="share",
                limit=1.0,
                digits=2,
                size=style.TINY,
                only=([0], [i]),
            )
            row.append(cell)
        table.append(row)
    last: list[Node] = [Spacer(), Label("$z = Σ α v$", style.HEADING, inks["heads"])]
    for t in columns:
        read = plan.of(f"{attention.name}.context[{head},{t},k]")
        cells = [Held(Numeral(read[k], style.TINY), 46) for k in range(min(3, len(read)))]
        last.append(Down(*cells, gap=2).named(f"z {t}"))
    table.append(last)
    peak = weights.values[columns].max(1)
    sure = columns[int(peak.argmax())]
    return plan.compose(
        Columns(table, gap=(3, 3), align=["end", "end", *["middle"] * len(columns)]),
        title=plan.say("title", word=texts[sure]),
        note=plan.say("note", where=attention.title(plan.lang), head=head)
        + tell_tokens_left_out(
            plan.lang, len(rows) + len(columns), len(attention.keys) + len(texts)
        ),
        callouts=[Callout(f"z {sure}", plan.say("vector"), "below", 240)],
    )


@figure("crossing")
def draw_cross_attention(
    plan: Outline,
    *,
    step: int | str | None = None,
    layer: int | None = None,
    head: int | None = None,
) -> Scene:
    """Show cross-attention of one head at one step: query, keys, weights, values, sum (V77)."""
    trace, (layer, head) = plan.trace, find_aligning_head(plan.trace, layer, head)
    attention = find_attention(trace, "decoder", layer, "cross_attention")
    name = attention.name
    weights = plan.of(f"{name}.weights[{head},q,m]")
    t = _find_clearest(weights.values) if step is None else find_step(trace, step)
    shown = keep_largest(weights.values[t], KEYS)
    ink = {key: style.role(key).ink for key in ("query", "key", "weights", "value", "heads")}
    given, word = show_token(trace.target[t].text), show_token(trace.predicted[t].text)
    query = Strip(plan.of(f"{name}.query[{head},{t},k]"), "query", shown=3, cell=CELL)
    best = int(weights.values[t].argmax())
    limit = float(weights.values[t].max())
    ask = Label(f"$q$  {plan.say('asks', word=given)}", style.BODY, ink["query"], fit=150)
    rows: list[list[Node]] = [
        [ask, query.named("q").at(1, (0, -30))],
        [
            Spacer(),
            *(
                Label(text, style.BODY, ink[role], bold=True)
                for text, role in (
                    ("$k$", "key"),
                    ("$q · k / √d_k$", "weights"),
                    (plan.say("weight"), "weights"),
                    ("$v$", "value"),
                )
            ),
        ],
    ]
    for i in shown:
        vectors = [
            Strip(
                plan.of(f"{name}.{window}[{head},{i},k]"),
                window,
                shown=3,
                cell=CELL,
                size=style.TINY,
            )
            for window in ("key", "value")
        ]
        share = weights[t, i]
        score = Numeral(plan.of(f"{name}.scores[{head},{t},{i}]"))
        bar = Bar(share, limit, style.LIT if i == best else ink["weights"], width=90, height=11)
        faded = min(1.0, 0.4 + float(share) / limit)
        rows.append(
            [
                Label(attention.keys[i], style.SMALL, bold=i == best, fit=90),
                vectors[0].at(2, (0, 20)),
                score.at(3, (-60, 0)),
                bar.named(f"key {i}").at(3),
                vectors[1].faded(faded).at(2, (0, 20)),
            ]
        )
    z = Strip(plan.of(f"{name}.context[{head},{t},k]"), "heads", shown=3, cell=CELL)
    table = Columns(rows, gap=(16, 5), align=["end", "start", "end", "start", "start"])
    letter = Label("$z = Σ α v =$", style.BODY, ink["heads"])
    read = Held(Across(letter, z.named("z")).at(4, (0, -40)), table.width, "end")
    return plan.compose(
        Down(table, Line(table.width), read, gap=style.CLOSE),
        title=plan.say("title", word=word, key=attention.keys[best]),
        note=plan.say("note", where=attention.title(plan.lang), head=head)
        + tell_tokens_left_out(plan.lang, len(shown), len(attention.keys)),
        callouts=[Callout("z", plan.say("sum"), "below", 200, step=4)],
        captions=[plan.say(f"caption_{n}", word=given) for n in range(1, 5)],
    )


def _find_clearest(weights: Array) -> int:
    """Return the step with the largest weight on a token, the end mark aside if there is more."""
    inner = weights[:, :-1] if weights.shape[1] > 1 else weights
    return int(inner.max(1).argmax())

"""Figures of decoding, step by step: what goes in, what comes out, what is kept (V74-V76, V79)."""

from __future__ import annotations

from functools import partial

import numpy as np

from glassformer.see.derive import read_lens

from .aligning import find_aligner
from .alignment import MARKS, align_weights
from .parts import grammar as g
from .parts import style
from .parts.selection import elide, list_shown, pick, tell_token

LAYERS, TOKENS, STEPS, WALK = 6, 6, 14, 16  # that are drawn
APART = 0.1  # the least probability by this much is called the least
WIDE, LAYER = 78.0, 22.0  # of a step; the height of a layer


def _show_stack(plan: g.Outline, side: str, count: int) -> tuple[g.Node, list[int]]:
    """Return the layers of a side, the first one lowest, and which of them are drawn.

    Each layer of the decoder has its cross-attention in it; on a pre-norm stack is one norm more.
    """
    shown, crosses = elide(count, LAYERS), side == "decoder"
    show = partial(g.Component, height=LAYER, size=style.SMALL, strong=False)
    rows: list[g.Node] = []
    for n in shown:
        if n is None:
            rows.append(g.Label("⋮", ink=style.SOFT))
            continue
        name, text = f"{side} {n}", plan.say("layer", n=n)
        layer: g.Node = show(text, side, width=52 if crosses else 96)
        if crosses:
            cross = show(plan.say("cross_attention"), "attention", width=96)
            layer = g.Across(cross.named(f"cross {n}"), layer, gap=0)
        rows.append(layer.named(name))
    if plan.settings.norm == "pre" and "norm" not in plan.settings.ablate:
        rows.append(show(plan.say("layer_norm"), "norm", width=rows[0].width))
    stack = g.middle(plan.label(side, ink=side, bold=True), *reversed(rows), gap=6)
    return g.Card(stack, edge=side, fill=style.PAPER, pad=10).named(side), list_shown(count, LAYERS)


@g.figure("first_word")
def draw_first_word(plan: g.Outline) -> g.Scene:
    """Show the encoder, the keys and values of each decoder layer, and the first word (V74)."""
    settings, texts = plan.settings, plan.source
    chips = [
        g.Label("…") if n is None else g.Chip(texts[n], "embedded", size=style.SMALL, fit=44)
        for n in elide(len(texts), 5)
    ]
    source = g.Across(*chips, gap=3).named("source")
    encoder, _ = _show_stack(plan, "encoder", settings.encoder_layers)
    decoder, shown = _show_stack(plan, "decoder", settings.decoder_layers)
    panel = plan.panel("memory[m,d]", width=116, height=58, edge="memory").named("memory")
    memory = g.middle(plan.label("memory", ink="memory", bold=True), panel, gap=4).at(3, (0, 60))
    letters = (("$K$", "key"), ("$V$", "value"))
    rows: list[list[g.Part]] = [[g.Label(each, style.HEADING, role) for each, role in letters]]
    if settings.norm == "pre":
        rows.append([g.Spacer(0, LAYER)])
    links = list[g.Link]()
    join = partial(g.Link, ink="memory", line=1.5, sides=("right", "left"), step=4)
    for n in reversed(shown):
        pair = []
        for window, far in (("key", -110.0), ("value", -150.0)):
            values = f"decoder.{n}.cross_attention.{window}[0,m,k]"
            small = plan.panel(values, width=44, height=LAYER, edge=window)
            pair.append(small.named(f"{window} {n}").at(4, (far, 0)))
        rows.append([*pair])
        links.append(join("memory", f"key {n}", "elbow"))
        links.append(join(f"value {n}", f"cross {n}"))
    begin = g.Chip(plan.target[0], "decoder").named("begin").at(5, (0, 30))
    first = g.Chip(plan.predicted[0], "decoder", lit=True).named("first")
    out = g.Across(first, g.Numeral(plan.give_sure()[0], before="p = "), gap=6).at(5, (0, 60))
    left = g.middle(memory, encoder.at(2), source.at(1, (0, 40)), gap=24, stands_on=1)
    right = g.middle(out, decoder, begin, gap=24, stands_on=1)
    links += [
        g.Link("source", "encoder", step=2),
        g.Link("encoder", "memory", line=1.8, ink="memory", step=3),
        g.Link("begin", "decoder", step=5),
        g.Link("decoder", "first", step=5),
    ]
    is_word = any(map(str.isalnum, plan.predicted[0]))
    callouts = [g.Callout(f"key {shown[0]}", "own", "below", 150, step=4)]
    callouts += [] if is_word else [g.Callout("first", "space", "above", 150, step=5)]
    return plan.compose(
        g.Across(left, g.Columns(rows, gap=(6, 6), align="m"), right, gap=62),
        title="title" if is_word else "title_space",
        links=links,
        callouts=callouts,
        captions=[plan.say(f"caption_{n}", n=settings.encoder_layers) for n in range(1, 6)],
        n=settings.decoder_layers,
        word=plan.predicted[0],
    )


@g.figure("loop")
def draw_following_words(plan: g.Outline, *, columns: int = 7) -> g.Scene:
    """Show each step of decoding: what came out goes in again, until the end mark (V75)."""
    total, sure = len(plan.predicted), plan.give_sure()
    shown, is_over = elide(total, 2 * columns), plan.predicted[-1] == MARKS[-1]
    cells: list[g.Node] = []
    links, captions = [], []
    for place, t in enumerate(shown):
        step = place + 1
        if t is None:
            cells.append(g.Slot(g.Label("…", style.HEADING, style.SOFT), WIDE).at(step))
            captions.append(plan.say("and_so_on"))
            continue
        token, out = plan.target[t], plan.predicted[t]
        first_in_line = place % columns == 0
        came = g.Chip(out, "decoder", lit=True, size=style.SMALL, fit=62).named(f"out {t}")
        gone = g.Chip(token, "decoder", size=style.SMALL, fit=62).named(f"in {t}")
        start = (0.0, 30.0) if first_in_line else (-WIDE, -84.0)
        look = {"width": 62, "height": 26, "size": style.TINY, "strong": False}
        box = g.Component(plan.say("position", n=t), "decoder", **look)  # type: ignore[arg-type]
        parts = [
            g.Numeral(sure[t], style.TINY, style.SOFT, digits=3).named(f"p {t}").at(step),
            came.at(step, (0, 36)),
            box.named(f"box {t}").at(step, (0, 0)),
            gone.at(step, start),
        ]
        cells.append(g.Slot(g.middle(*parts, gap=16), WIDE).named(f"step {t}"))
        links += [
            g.Link(a, b, step=step) for a, b in ((f"in {t}", f"box {t}"), (f"box {t}", f"out {t}"))
        ]
        if not first_in_line and shown[place - 1] is not None:
            ends = f"out {t - 1}", f"in {t}"
            links.append(
                g.Link(
                    *ends,
                    "ribbon",
                    "decoder",
                    1.1,
                    step=step,
                    sides=("right", "left"),
                    dashed=True,
                    alpha=0.7,
                )
            )
        is_end = is_over and t == total - 1
        captions.append(
            plan.say("caption_last" if is_end else "caption", n=t + 1, given=token, out=out)
        )
    lines = [cells[n : n + columns] for n in range(0, len(cells), columns)]
    low, callouts = int(np.argmin(sure.values)), []
    if low in shown and total > 1 and np.diff(np.sort(sure.values))[0] >= APART:
        callouts.append(g.Callout(f"p {low}", "unsure", "above", 120, shown.index(low) + 1))
    key = {1: "title_one", 2: "title_two"}.get(total, "title")
    return plan.compose(
        g.Columns(lines, gap=(6, 48 if callouts and low in shown[columns:] else 26)),
        title=key if is_over else "title_cut",
        left=(sum(t is not None for t in shown), total),
        links=links,
        callouts=callouts,
        captions=captions,
        n=total,
        m=total - 1,
        end=plan.predicted[-1],
    )


@g.figure("growing")
def draw_growing_mask(plan: g.Outline, *, layer: int = -1, head: int = 0) -> g.Scene:
    """Show masked self-attention, which grows by a row at each step of decoding (V76)."""
    attention = plan.attention("decoder", layer)
    head = pick(head, plan.settings.heads, "head")
    count, total = min(STEPS, len(attention.keys)), len(attention.keys)
    weights = plan.of(f"{attention.name}.weights[{head},q,m]")
    cell = wide, high = 34.0, 21.0
    rows, sums, captions = list[g.Node](), list[g.Node](), []
    show = partial(g.Panel, height=high, scale="share", limit=1.0, size=style.TINY)
    for t in range(count):
        seen, later = range(t + 1), range(t + 1, count)
        panel = show(weights[t], width=wide * len(seen), only=([0], seen), digits=2)
        parts = [panel.at(t + 1)]
        if later:
            hidden = np.ones((1, len(later)), bool)
            width = wide * len(later)
            panel = show(weights[t], width=width, only=([0], later), digits=0, hidden=hidden)
            parts.append(panel.at(t + 1))
        rows.append(g.Across(*parts, gap=0))
        added = plan.of(f"sum[m] ({weights[t].source})")
        sums.append(g.Numeral(added, style.TINY, style.SOFT).at(t + 1))
        key = "caption" if t else "caption_alone"
        captions.append(plan.say(key, word=attention.keys[t], n=t))
    names = attention.keys[:count]
    matrix = g.Matrix(g.RowStack(rows, cell), rows=names, columns=names, sums=sums).named("weights")
    return plan.compose(
        matrix,
        left=(count, total),
        callouts=[g.Callout(matrix.find_row(count - 1), "one", "right", 60, count)],
        captions=captions,
        head=head,
    )


@g.figure("walk")
def draw_walk(plan: g.Outline) -> g.Scene:
    """Show a row for each step: input, attention, what each layer would write, output (V79)."""
    trace, aligner = plan.trace, find_aligner(plan.trace)
    rows = list_shown(len(trace.predicted), WALK)
    weights = align_weights(plan, aligner.layer, aligner.head)
    every = range(len(trace.predicted))
    lens = (
        read_lens(trace, every).argmax(-1) if trace.vocabulary else np.zeros((0, len(every)), int)
    )
    ids = np.array([token.id for token in trace.predicted])
    settled = find_settled(lens == ids)
    layers = list_shown(len(lens), LAYERS)
    sure, gray = plan.give_sure(), style.SOFT
    keys = [plan.say("in"), plan.say("reads"), *(str(n) for n in layers), plan.say("out"), ""]
    table: list[list[g.Node]] = [[g.small(text, gray) for text in keys]]
    for t in rows:
        best = int(weights.values[t].argmax())
        row: list[g.Node] = [
            g.Label(plan.target[t], style.SMALL, fit=58),
            g.Across(
                g.small(plan.source[best], "key", fit=52),
                g.Numeral(weights[t, best], style.TINY, gray),
                gap=4,
            ),
        ]
        for layer in layers:
            id = int(lens[layer, t])
            same, text = id == int(ids[t]), tell_token(trace.vocabulary[id])
            cell: g.Node = g.small(text, "decoder" if same else gray, bold=same, fit=56)
            if settled[t] == layer:
                cell = g.Chip(text, "decoder", size=style.SMALL, fit=50, lit=True)
                cell.named(f"settled {t}")
            row.append(cell)
        row += [
            g.Label(plan.predicted[t], style.SMALL, bold=True, fit=58),
            g.Numeral(sure[t], style.TINY, gray),
        ]
        table.append(row)
    early = [t for t in rows[-1:] if settled[t] in layers] if len(settled) else []
    texts = plan.say("settled", layer=settled[rows[-1]]) if early else ""
    callouts = [g.Callout(f"settled {t}", texts, "below", 180) for t in early]
    return plan.compose(
        g.Columns(table, gap=(12, 5), align="rl"),
        title=_tell_settled(plan, settled) if len(lens) > 1 else plan.say("title_one"),
        left=(len(rows), len(trace.predicted)),
        callouts=callouts,
        layer=aligner.layer,
    )


def _tell_settled(plan: g.Outline, settled: list[int]) -> str:
    """Return how many tokens are settled by the layer that half of them need, and by the last."""
    results = [layer for layer in settled if layer >= 0]
    if not results:
        return plan.say("title_one")
    half, last, every = int(np.median(results)), max(results), len(settled)
    early = sum(layer <= half for layer in results)
    if half == last:
        return plan.say("title_at_once", n=early, all=every, layer=half)
    key = "title" if len(results) == every else "title_some"
    return plan.say(key, n=early, all=every, layer=half, last=last, most=len(results))


def find_settled(same: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[int]:
    """Return for each step the layer from which on its token stays the best; -1 if none."""
    results = []
    for column in same.T:
        wrong = np.flatnonzero(~column)
        first = int(wrong[-1]) + 1 if len(wrong) else 0
        results.append(first if first < len(column) else -1)
    return results

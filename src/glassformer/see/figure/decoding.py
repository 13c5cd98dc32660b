"""Figures of decoding, step by step: what goes in, what comes out, what is kept (V74-V76, V79)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..derive import read_lens
from . import style
from .aligning import find_aligner
from .grids import Tall
from .links import Callout, Link
from .nodes import (
    Across,
    Card,
    Chip,
    Columns,
    Component,
    Down,
    Held,
    Label,
    Node,
    Numeral,
    Panel,
    Spacer,
)
from .plan import Outline, figure
from .scene import Scene
from .selection import (
    elide,
    find_attention,
    pick,
    show_token,
    show_tokens,
    tell_tokens_left_out,
)

LAYERS, TOKENS, STEPS, WALK = 6, 6, 14, 16  # that are drawn
WIDE = 78.0  # of a step


def _show_stack(plan: Outline, side: str, count: int) -> tuple[Node, list[int]]:
    """Return the layers of a side, the first one lowest, and which of them are drawn."""
    shown = elide(count, LAYERS)
    look = {"width": 84, "height": 22, "size": style.SMALL, "strong": False}
    rows: list[Node] = [
        Label("⋮", style.BODY, style.SOFT)
        if n is None
        else Component(plan.say("layer", n=n), side, **look).named(f"{side} {n}")  # type: ignore[arg-type]
        for n in shown
    ]
    name = Label(plan.say(side), style.BODY, style.role(side).ink, bold=True)
    stack = Down(name, *reversed(rows), gap=6, align="middle")
    ink = style.role(side).ink
    return Card(stack, edge=ink, fill=style.PAPER, pad=10).named(side), [
        n for n in shown if n is not None
    ]


@figure("first_word")
def draw_first_word(plan: Outline) -> Scene:
    """Show the encoder, the keys and values of each decoder layer, and the first word (V74)."""
    trace, settings = plan.trace, plan.trace.settings
    texts = show_tokens(trace.source)
    chips = [
        Label("…") if n is None else Chip(texts[n], "embedded", size=style.SMALL, fit=44)
        for n in elide(len(texts), 5)
    ]
    source = Across(*chips, gap=3).named("source")
    encoder, _ = _show_stack(plan, "encoder", settings.encoder_layers)
    decoder, shown = _show_stack(plan, "decoder", settings.decoder_layers)
    memory = plan.of("memory[m,d]")
    look = style.role("memory")
    panel = Panel(memory, width=86, height=86, edge=look.ink).named("memory")
    label = Label(plan.say("memory"), style.BODY, look.ink, bold=True)
    middle = Down(label, panel, gap=4, align="middle", stands_on=1).at(3, (-90, 0))
    rows: list[list[Node]] = [
        [
            Label(f"${w}$", style.HEADING, style.role(r).ink)
            for w, r in (("K", "key"), ("V", "value"))
        ]
    ]
    links = []
    for n in reversed(shown):
        made = []
        for window in ("key", "value"):
            values = plan.of(f"decoder.{n}.cross_attention.{window}[0,m,k]")
            made.append(Panel(values, width=44, height=24, edge=style.role(window).ink))
        rows.append(
            [made[0].named(f"K {n}").at(4, (-110, 0)), made[1].named(f"V {n}").at(4, (-150, 0))]
        )
        fan = {"ink": look.ink, "line": 1.2, "sides": ("right", "left"), "step": 4}
        links.append(Link("memory", f"K {n}", "ribbon", **fan))  # type: ignore[arg-type]
        links.append(Link(f"V {n}", f"decoder {n}", ink=look.ink, line=1.2, step=4))
    begin = Chip(show_token(trace.target[0].text), "decoder").named("begin").at(5, (0, 30))
    best = plan.give("probability", [np.exp(trace.predictions[0].log_prob)])[0]
    first = Chip(show_token(trace.predicted[0].text), "decoder", lit=True).named("first")
    out = Across(first, Numeral(best, before="p = "), gap=6).at(5, (0, 60))
    left = Down(encoder.at(2), source.at(1, (0, 40)), gap=24, align="middle", stands_on=0)
    right = Down(out, decoder, begin, gap=24, align="middle", stands_on=1)
    fans = Columns(rows, gap=(6, 4), align="middle")
    links += [
        Link("source", "encoder", step=2),
        Link("encoder", "memory", line=1.8, ink=look.ink, step=3),
        Link("begin", "decoder", step=5),
        Link("decoder", "first", step=5),
    ]
    last = plan.say("last_norm") if settings.norm == "pre" else ""
    return plan.compose(
        Across(left, middle, fans, right, gap=46),
        title=plan.say(
            "title", n=settings.decoder_layers, word=show_token(trace.predicted[0].text)
        ),
        note=plan.say("note") + last,
        links=links,
        callouts=[Callout(f"K {shown[0]}", plan.say("own"), "below", 150, step=4)],
        captions=[plan.say(f"caption_{n}", n=settings.encoder_layers) for n in range(1, 6)],
    )


@figure("loop")
def draw_following_words(plan: Outline, *, columns: int = 7) -> Scene:
    """Show each step of decoding: what came out goes in again, until the end mark (V75)."""
    trace, total = plan.trace, len(plan.trace.predicted)
    shown = elide(total, 2 * columns)
    sure = plan.give("probability", np.exp([each.log_prob for each in trace.predictions]))
    cells: list[Node] = []
    links, captions = [], []
    for place, t in enumerate(shown):
        step = place + 1
        if t is None:
            cells.append(Held(Label("…", style.HEADING, style.SOFT), WIDE).at(step))
            captions.append(plan.say("and_so_on"))
            continue
        given, out = show_token(trace.target[t].text), show_token(trace.predicted[t].text)
        first_in_line = place % columns == 0
        came = Chip(out, "decoder", lit=True, size=style.SMALL, fit=62).named(f"out {t}")
        gone = Chip(given, "embedded", size=style.SMALL, fit=62).named(f"in {t}")
        start = (0.0, 30.0) if first_in_line else (-WIDE, -84.0)
        look = {"width": 62, "height": 26, "size": style.TINY, "strong": False}
        box = Component(plan.say("position", n=t), "decoder", **look)  # type: ignore[arg-type]
        parts = [
            Numeral(sure[t], style.TINY, style.SOFT).named(f"p {t}").at(step),
            came.at(step, (0, 36)),
            box.named(f"box {t}").at(step),
            gone.at(step, start),
        ]
        cells.append(Held(Down(*parts, gap=16, align="middle"), WIDE))
        links += [
            Link(a, b, step=step) for a, b in ((f"in {t}", f"box {t}"), (f"box {t}", f"out {t}"))
        ]
        if not first_in_line and shown[place - 1] is not None:
            ink = style.role("decoder").ink
            back = Link(f"out {t - 1}", f"in {t}", "ribbon", ink, 1.1, dashed=True, alpha=0.7)
            back = replace(back, step=step, sides=("right", "left"))
            links.append(back)
        is_last = t == total - 1
        captions.append(
            plan.say("caption_last" if is_last else "caption", n=t + 1, given=given, out=out)
        )
    lines = [cells[n : n + columns] for n in range(0, len(cells), columns)]
    low = int(np.argmin(sure.values))
    callouts = []
    if low in shown and sure.values[low] < 0.9:
        step = shown.index(low) + 1
        callouts.append(Callout(f"p {low}", plan.say("unsure"), "above", 120, step))
    return plan.compose(
        Columns(lines, gap=(6, 26)),
        title=plan.say("title", n=total),
        note=plan.say("note")
        + tell_tokens_left_out(plan.lang, sum(t is not None for t in shown), total),
        links=links,
        callouts=callouts,
        captions=captions,
    )


@figure("growing")
def draw_growing_mask(plan: Outline, *, layer: int = -1, head: int = 0) -> Scene:
    """Show masked self-attention, which grows by a row at each step of decoding (V76)."""
    attention = find_attention(plan.trace, "decoder", layer)
    head = pick(head, plan.trace.settings.heads, "head")
    count, total = min(STEPS, len(attention.keys)), len(attention.keys)
    weights = plan.of(f"{attention.name}.weights[{head},q,m]")
    wide, high = 34.0, 21.0
    upright = any(len(text) > 5 for text in attention.keys[:count])
    top: list[Node] = [
        Spacer(),
        *(
            Held(Label(text, style.SMALL, fit=60, upright=upright), wide)
            for text in attention.keys[:count]
        ),
        Label("Σ", style.BODY, style.SOFT),
    ]
    rows = [top]
    captions = []
    for t in range(count):
        name = Label(attention.keys[t], style.SMALL, fit=80)
        row: list[Node] = [Across(Tall(name, high), Spacer(4), gap=0)]
        for j in range(count):
            seen = j <= t
            cell = Panel(
                weights[t],
                width=wide,
                height=high,
                scale="share",
                limit=1.0,
                digits=2 if seen else 0,
                size=style.TINY,
                only=([0], [j]),
                hidden=np.array([[not seen]]),
            )
            row.append(cell.at(t + 1, (0, -14) if seen else (160, 0)))
        added = plan.of(f"sum[m] ({weights[t].source})")
        last = Numeral(added, style.TINY, style.SOFT).at(t + 1)
        row.append(Across(Spacer(4), last, Spacer(4), gap=0).named(f"sum {t}"))
        rows.append(row)
        key = "caption" if t else "caption_alone"
        captions.append(plan.say(key, word=attention.keys[t], n=t))
    filled = count * (count + 1) // 2
    return plan.compose(
        Columns(rows, gap=(0, 0), align=["end", *["middle"] * count, "start"]),
        title=plan.say("title", n=count, seen=filled, never=filled - count),
        note=plan.say("note", where=attention.title(plan.lang), head=head)
        + tell_tokens_left_out(plan.lang, count, total),
        callouts=[Callout(f"sum {count - 1}", plan.say("one"), "right", 60, count)],
        captions=captions,
    )


@figure("walk")
def draw_walk(plan: Outline) -> Scene:
    """Show a row for each step: input, attention, what each layer would write, output (V79)."""
    trace, aligner = plan.trace, find_aligner(plan.trace)
    rows = [t for t in elide(len(trace.predicted), WALK) if t is not None]
    name, heads = f"decoder.{aligner.layer}.cross_attention.weights", trace.settings.heads
    weights = plan.of(
        f"(sum[h] {name}[h,q,m]) / {heads}"
        if aligner.head is None
        else f"{name}[{aligner.head},q,m]"
    )
    every = range(len(trace.predicted))
    lens = (
        read_lens(trace, every).argmax(-1) if trace.vocabulary else np.zeros((0, len(every)), int)
    )
    wanted = np.array([token.id for token in trace.predicted])
    settled = find_settled(lens == wanted)
    layers = [n for n in elide(len(lens), LAYERS) if n is not None]
    sure = plan.give("probability", np.exp([each.log_prob for each in trace.predictions]))
    source = show_tokens(trace.source)
    ink, gray = style.role("decoder").ink, style.SOFT
    keys = [plan.say("in"), plan.say("reads"), *(str(n) for n in layers), plan.say("out"), ""]
    table: list[list[Node]] = [[Label(text, style.SMALL, gray) for text in keys]]
    for t in rows:
        best = int(weights.values[t].argmax())
        row: list[Node] = [
            Label(show_token(trace.target[t].text), style.SMALL, fit=58),
            Across(
                Label(source[best], style.SMALL, style.role("key").ink, fit=52),
                Numeral(weights[t, best], style.TINY, gray),
                gap=4,
            ),
        ]
        for layer in layers:
            id = int(lens[layer, t])
            same, text = id == wanted[t], show_token(trace.vocabulary[id])
            cell: Node = Label(text, style.SMALL, ink if same else style.SOFT, bold=same, fit=56)
            if settled[t] == layer:
                cell = Chip(text, "decoder", size=style.SMALL, fit=50, lit=True)
                cell.named(f"settled {t}")
            row.append(cell)
        row += [
            Label(show_token(trace.predicted[t].text), style.SMALL, bold=True, fit=58),
            Numeral(sure[t], style.TINY, gray),
        ]
        table.append(row)
    early = [t for t in rows[-1:] if settled[t] in layers] if len(settled) else []
    told = plan.say("settled", layer=settled[rows[-1]]) if early else ""
    callouts = [Callout(f"settled {t}", told, "below", 180) for t in early]
    return plan.compose(
        Columns(
            table, gap=(12, 5), align=["end", "start", *["start"] * len(layers), "start", "start"]
        ),
        title=_tell_settled(plan, settled) if len(lens) > 1 else plan.say("title_one"),
        note=plan.say("note", layer=aligner.layer)
        + tell_tokens_left_out(plan.lang, len(rows), len(trace.predicted)),
        callouts=callouts,
    )


def _tell_settled(plan: Outline, settled: list[int]) -> str:
    """Return how many tokens are settled by the layer that half of them need, and by the last."""
    found = [layer for layer in settled if layer >= 0]
    if not found:
        return plan.say("title_one")
    half, last, every = int(np.median(found)), max(found), len(settled)
    early = sum(layer <= half for layer in found)
    if half == last:
        return plan.say("title_at_once", n=early, all=every, layer=half)
    key = "title" if len(found) == every else "title_some"
    return plan.say(key, n=early, all=every, layer=half, last=last, most=len(found))


def find_settled(same: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[int]:
    """Return for each step the layer from which on its token stays the best; -1 if none."""
    found = []
    for column in same.T:
        wrong = np.flatnonzero(~column)
        first = int(wrong[-1]) + 1 if len(wrong) else 0
        found.append(first if first < len(column) else -1)
    return found

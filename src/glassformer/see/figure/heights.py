"""Figures of layers on layers: one token climbing, one memory for all decoders (V71, V78)."""

from __future__ import annotations

import numpy as np

from . import style
from .attention import Query, choose_token
from .links import Callout, Link
from .measures import cosine, length
from .nodes import (
    Across,
    Bar,
    Columns,
    Component,
    Down,
    Label,
    Node,
    Numeral,
    Panel,
    Spacer,
    find_largest,
)
from .plan import Outline, figure
from .residual import SIDES
from .scene import Scene
from .selection import count_layers, elide, find_output, show_tokens

MOST = 8  # layers drawn


@figure("climb")
def draw_climb(plan: Outline, *, side: str = "encoder", query: Query = None) -> Scene:
    """Show one token floor by floor: its length, what is left of it, whom it resembles (V71)."""
    trace, count = plan.trace, count_layers(plan.trace, side)
    tokens = trace.source if side == "encoder" else trace.target
    row, texts = choose_token(tokens, query), show_tokens(tokens)
    start = f"{SIDES[side]}_embedding.sum"
    names = [start, *(find_output(trace, side, n) for n in range(count))]
    own = plan.of(f"{start}[q,d]").values
    own = own / np.linalg.norm(own, axis=1, keepdims=True)
    longest = max(float(plan.of(length(f"{name}[{row},d]"))) for name in names)
    ink = style.role(side).ink
    rows: list[list[Node]] = []
    shown = [n for n in elide(len(names), MOST) if n is not None]
    for step, n in enumerate(shown, 1):
        here = plan.of(f"{names[n]}[{row},d]").values
        near = own @ (here / np.linalg.norm(here))
        near[row] = -2
        other = int(near.argmax())
        label = plan.say("after", n=n - 1) if n else plan.say("start")
        kept = plan.of(cosine(f"{names[n]}[{row},d]", f"{start}[{row},d]"))
        like = plan.of(cosine(f"{names[n]}[{row},d]", f"{start}[{other},d]"))
        alike = Across(
            Label(texts[other], style.BODY, fit=80), Numeral(like, ink=style.SOFT), gap=5
        )
        cells = [
            Label(label, style.BODY, ink, bold=True),
            Bar(
                plan.of(length(f"{names[n]}[{row},d]")),
                longest,
                ink,
                width=150,
                height=12,
                digits=1,
            ),
            Bar(kept, 1.0, style.role("sum").ink, width=80, height=12, track=True),
            alike if len(texts) > 1 else Spacer(),
        ]
        rows.append([cell.at(step, (0, 24)) for cell in cells])
    keys = ("length", "self", "alike")
    heads = [Spacer(), *(Label(plan.say(key), style.SMALL, style.SOFT) for key in keys)]
    left = float(plan.of(cosine(f"{names[-1]}[{row},d]", f"{start}[{row},d]")))
    key = "stays" if left > 0.7 else "changes" if left > 0.3 else "another"
    return plan.compose(
        Columns([heads, *reversed(rows)], gap=(16, 9), align=["end", "start", "start", "start"]),
        title=plan.say(key, word=texts[row]),
        note=plan.say("note", word=texts[row]),
        captions=[
            plan.say("caption_after", n=n - 1) if n else plan.say("caption_start", word=texts[row])
            for n in shown
        ],
    )


@figure("memory")
def draw_memory(plan: Outline) -> Scene:
    """Show the memory, and the keys and values that each decoder layer makes of it (V78)."""
    trace, count = plan.trace, plan.trace.settings.decoder_layers
    memory = plan.of("memory[m,d]")
    n, d = memory.shape
    high = min(130.0, max(40.0, 7.0 * n))
    panel = Panel(memory, width=130, height=high, edge=style.role("memory").ink).named("memory")
    word = Label(plan.say("memory"), style.BODY, style.role("memory").ink, bold=True)
    left = Down(
        word,
        panel,
        Label(f"{n} × {d}", style.TINY, style.SOFT).named("shape"),
        gap=4,
        align="middle",
        stands_on=1,
    )
    heads: list[Node] = [Label("$K$", style.HEADING, style.role("key").ink)]
    heads += [Label("$V$", style.HEADING, style.role("value").ink), Spacer()]
    rows: list[list[Node]] = [heads]
    links = []
    wide = style.role("memory").ink
    shown = [layer for layer in elide(count, 6) if layer is not None]
    for layer in reversed(shown):
        name = f"decoder.{layer}.cross_attention"
        panels: list[Node] = []
        for window in ("key", "value"):
            made = plan.of(f"{name}.{window}[0,m,k]")
            panels.append(
                Panel(
                    made,
                    width=84,
                    height=44,
                    limit=find_largest([made]),
                    edge=style.role(window).ink,
                )
            )
        box = Component(plan.say("decoder_layer", n=layer), "decoder", width=130, height=30)
        rows.append([panels[0].named(f"K {layer}"), panels[1], box])
        links.append(
            Link("memory", f"K {layer}", "ribbon", ink=wide, line=1.8, sides=("right", "left"))
        )
    pre = trace.settings.norm == "pre"
    body = Across(left, Columns(rows, gap=(12, 10), align=["middle", "middle", "start"]), gap=90)
    return plan.compose(
        body,
        title=plan.say("title" if count > 1 else "title_one", n=count),
        note=plan.say("note") + (plan.say("last_norm") if pre else ""),
        links=links,
        callouts=[Callout("shape", plan.say("shared"), "below", 130)],
    )

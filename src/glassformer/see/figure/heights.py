"""Figures of layers on layers: one token climbing, one memory for all decoders (V71, V78)."""

from __future__ import annotations

import numpy as np

from . import grammar as g
from . import style
from .attention import Query, choose_token
from .measures import cosine, length
from .residual import SIDES
from .selection import count_layers, find_output, list_shown, show_tokens

MOST, LEAST = 8, 0.2  # layers drawn; a cosine of alike ones


@g.figure("climb")
def draw_climb(plan: g.Outline, *, side: str = "encoder", query: Query = None) -> g.Scene:
    """Show one token floor by floor: its length, what is left of it, whom it resembles (V71)."""
    trace, count = plan.trace, count_layers(plan.trace, side)
    tokens = trace.source if side == "encoder" else trace.target
    row, texts = choose_token(tokens, query), show_tokens(tokens)
    start = f"{SIDES[side]}_embedding.sum"
    names = [start, *(find_output(trace, side, n) for n in range(count))]
    own = plan.of(f"{start}[q,d]").values
    own = own / np.linalg.norm(own, axis=1, keepdims=True)
    long = [float(plan.of(length(f"{name}[{row},d]"))) for name in names]
    rows: list[list[g.Node]] = []
    shown = list_shown(len(names), MOST)
    for step, n in enumerate(shown, 1):
        here = plan.of(f"{names[n]}[{row},d]").values
        near = own @ (here / np.linalg.norm(here))
        near[row] = -2
        other = int(near.argmax())
        label = plan.say("after", n=n - 1) if n else plan.say("start")
        kept = plan.of(cosine(f"{names[n]}[{row},d]", f"{start}[{row},d]"))
        like = plan.of(cosine(f"{names[n]}[{row},d]", f"{start}[{other},d]"))
        alike: g.Node = g.small(plan.say("none"))
        if float(like) >= LEAST:
            alike = g.Across(g.Label(texts[other], fit=80), g.Numeral(like, ink=style.SOFT), gap=5)
        cells = [
            g.Label(label, ink=side, bold=True),
            plan.bar(
                length(f"{names[n]}[{row},d]"), max(long), side, width=150, height=12, digits=1
            ),
            g.Bar(kept, 1.0, "sum", width=80, height=12, track=True),
            alike if len(texts) > 1 else g.Spacer(),
        ]
        rows.append([cell.at(step, (0, 24)) for cell in cells])
    heads = plan.heads("", "length", "self", "alike")
    left = float(plan.of(cosine(f"{names[-1]}[{row},d]", f"{start}[{row},d]")))
    key = "stays" if left > 0.7 else "changes" if left > 0.3 else "another"
    return plan.compose(
        g.Columns([heads, *reversed(rows)], gap=(16, 9), align="rl"),
        title=key,
        captions=[
            plan.say("caption_after", n=n - 1) if n else plan.say("caption_start", word=texts[row])
            for n in shown
        ],
        word=texts[row],
        kept=g.spell(left),
        n=count,
        times=g.spell(long[-1] / long[0], 1),
    )


@g.figure("memory")
def draw_memory(plan: g.Outline) -> g.Scene:
    """Show the memory and the keys that decoder layers make of it (V78)."""
    trace, count = plan.trace, plan.settings.decoder_layers
    memory = plan.of("memory[m,d]")
    n, d = memory.shape
    panel = g.Panel(memory, width=150, height=min(150.0, max(40.0, 8.0 * n)), edge="memory")
    word = plan.label("memory", style.HEADING, "memory", bold=True)
    size = g.small(f"{n} × {d}")
    left = g.middle(word, panel.named("memory"), size, gap=4, stands_on=1)
    keys = [f"decoder.{n}.cross_attention.key" for n in range(count)]
    unlike = len({trace[key].tobytes() for key in keys}) == count > 1
    shown = list_shown(count, 6)
    rows, links = list[list[g.Part]](), list[g.Link]()
    for layer in reversed(shown):
        made = plan.panel(f"{keys[layer]}[0,m,k]", width=150, height=44, edge="key")
        name = g.Label(plan.say("key", n=layer), style.HEADING, "key")
        rows.append([made.named(f"key {layer}"), name])
        ends: tuple[g.Side, g.Side] = ("right", "left")
        links.append(g.Link("memory", f"key {layer}", "elbow", "memory", 1.6, sides=ends))
    return plan.compose(
        g.Across(left, g.Columns(rows, gap=(12, 12)), gap=90),
        title="title" if unlike else "title_one",
        links=links,
        n=count,
        k=plan.settings.width,
    )

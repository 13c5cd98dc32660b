"""Figures of layers on layers: one token climbing, one memory for all decoders (V71, V78)."""

from __future__ import annotations

import numpy as np

from . import grammar as g
from . import style
from .attention import Query, choose_token
from .decoding import fan_out
from .measures import cosine, length
from .residual import SIDES
from .selection import count_layers, find_output, list_shown, show_tokens

MOST, LEAST, UNLIKE = 8, 0.2, 0.5  # layers drawn; a cosine of alike, a correlation of unlike ones


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
    """Show the memory, and the keys and values that each decoder layer makes of it (V78)."""
    trace, count = plan.trace, plan.settings.decoder_layers
    memory = plan.of("memory[m,d]")
    n, d = memory.shape
    high = min(130.0, max(40.0, 7.0 * n))
    panel = g.Panel(memory, width=130, height=high, edge="memory").named("memory")
    word = plan.label("memory", ink="memory", bold=True)
    left = g.middle(word, panel, g.tiny(f"{n} × {d}").named("shape"), gap=4, stands_on=1)
    shown = list_shown(count, 6)
    rows, links = fan_out(plan, shown, (84, 44))
    for row, layer in zip(rows[1:], reversed(shown), strict=True):
        box = g.Component(plan.say("decoder_layer", n=layer), "decoder", width=130, height=30)
        row += [g.Spacer(14), box.named(f"decoder {layer}")]
    rows.append([g.tiny(f"{n} × {plan.settings.width}") for _ in range(2)])
    pre = trace.settings.norm == "pre"
    keys = [trace[f"decoder.{n}.cross_attention.key"][0].ravel() for n in range(count)]
    alike = np.corrcoef(keys)[~np.eye(count, dtype=bool)] if count > 1 else np.ones(1)
    most = float(np.abs(alike).max())
    body = g.Across(left, g.Columns(rows, gap=(12, 10), align="mml"), gap=80)
    return plan.compose(
        body,
        title="title_one" if count == 1 else "unlike" if most < UNLIKE else "title",
        note=plan.say("note") + (plan.say("last_norm") if pre else ""),
        links=links,
        callouts=[g.Callout("shape", "shared", "below", 130)],
        n=count,
        most=g.spell(most),
    )

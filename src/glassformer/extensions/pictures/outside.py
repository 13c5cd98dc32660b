"""Figures of the whole model, from outside inwards (V01-V04)."""

from __future__ import annotations

from .architecture import count_all
from .parts import grammar as g
from .parts import style
from .parts.selection import elide
from .parts.typesetting import quote

WIDE = 150.0
ROWS = 14  # of the memory, drawn


def _show_ends(plan: g.Outline, middle: g.Node, width: float = WIDE) -> tuple[g.Node, list[g.Link]]:
    """Return the source text, something in the middle, and the translation."""
    texts = (
        ("source", quote(plan.trace.text), "encoder"),
        ("target", quote(plan.trace.translation), "decoder"),
    )
    source, target = (
        g.Card(g.Label(text, ink=role, width=width), pad=8).named(name)
        for name, text, role in texts
    )
    links = [g.Link("source", "middle", line=2), g.Link("middle", "target", line=2)]
    return g.Across(source, middle.named("middle"), target, gap=style.FAR), links


@g.figure("box")
def draw_black_box(plan: g.Outline) -> g.Scene:
    """Show the model as a black box with its input and output (V01)."""
    settings, (total, _) = plan.settings, count_all(plan.trace)
    sizes = plan.say("sizes", n=settings.encoder_layers, m=settings.decoder_layers)
    lines = [plan.label("model", style.TITLE, style.PAPER, bold=True), g.small(sizes, style.FAINT)]
    n = g.spell(total, 0)
    if total:
        lines.append(g.small(plan.say("learned", n=n), style.FAINT))
    body, links = _show_ends(plan, g.Card(g.middle(*lines), fill=style.INK, pad=28, round=14))
    return plan.compose(body, title="counted" if total else "title", links=links, n=n)


@g.figure("sequences")
def draw_sequences(plan: g.Outline) -> g.Scene:
    """Show what the encoder hands over: one vector for each token, not a single one (V02)."""
    memory = plan.of("memory[i,d]")
    (n, d), limit = memory.shape, float(abs(memory.values).max())
    rows: list[g.Part] = []
    for i in elide(n, ROWS):
        if i is None:
            rows.append(g.small(plan.say("left", n=n - ROWS + 1)))
            continue
        panel = g.Panel(memory[i], width=180, height=15, limit=limit).named(f"row {i}")
        rows.append(g.Across(g.small(plan.source[i], fit=70), panel, gap=6))
    vectors = g.Down(*rows, gap=3, align="end")
    size = g.small(f"{n} × {d}", "memory", bold=True).named("size")
    parts = [g.Component(plan.say(side), side, width=92, height=54).named(side) for side in SIDES]
    bracket = g.Bracket(vectors.height)
    body = g.Across(parts[0], g.Across(vectors, bracket, size, gap=6), parts[1], gap=style.FAR)
    vectors.named("memory")
    links = [g.Link("encoder", "memory", line=2), g.Link("size", "decoder", line=2, ink="memory")]
    callout = g.Callout(f"row {n - 1}", "row", "below", 260)
    return plan.compose(body, links=links, callouts=[callout], n=n, d=d)


SIDES = ("encoder", "decoder")


@g.figure("opened")
def draw_opened(plan: g.Outline) -> g.Scene:
    """Show encoders, decoders and the memory between them (V03)."""
    n, d = plan.of("memory[i,d]").shape
    boxes = [
        g.middle(
            g.Component(plan.say(side), side, width=110, height=50).named(side),
            plan.small(does, width=112, align="middle"),
            gap=6,
            stands_on=0,
        )
        for side, does in zip(SIDES, ("reads", "writes"), strict=True)
    ]
    word, size = plan.small("memory", "memory", bold=True), g.small(f"{n} × {d}", "memory")
    between = g.middle(word, g.Spacer(70, 10), size, gap=0)
    inside = g.Card(g.Across(boxes[0], between, boxes[1], gap=0), edge=style.FAINT, pad=20)
    body, links = _show_ends(plan, inside, 104)
    memory = g.Link("encoder", "decoder", line=2.2, ink="memory")
    title, note = plan.say("title", n=n, d=d), plan.say("note", n=n, d=d)
    return plan.compose(body, title=title, note=note, links=[*links, memory])


@g.figure("stacks")
def draw_stacks(plan: g.Outline) -> g.Scene:
    """Show all layers, and the memory that goes to every decoder layer (V04)."""
    settings, links = plan.settings, []
    counts = {"encoder": settings.encoder_layers, "decoder": settings.decoder_layers}
    stacks = {}
    for side, count in counts.items():
        layers = [
            g.Component(plan.say(f"{side}_layer", n=n), side, width=140, height=26, strong=False)
            for n in range(count)
        ]
        for n, each in enumerate(layers):
            each.named(f"{side} {n}")
        links += [g.Link(f"{side} {n}", f"{side} {n + 1}", line=1) for n in range(count - 1)]
        stacks[side] = g.Down(*reversed(layers), gap=13)
    ids, coming = plan.target, plan.predicted
    row = min(3, len(ids) - 1)
    chips = [g.Chip(token, "decoder", size=style.SMALL, fit=60) for token in ids[: row + 1]]
    text = g.Label(quote(plan.trace.text), width=170, align="middle").named("text")
    result = g.Chip(coming[row], "decoder", lit=True, fit=140).named("next")
    small = [plan.small(key) for key in ("source", "so_far", "next")]
    source = g.middle(text, small[0], gap=3)
    so_far = g.middle(g.Across(*chips, gap=3).named("so far"), small[1], gap=3)
    left = g.middle(stacks["encoder"], source, gap=20)
    coming_word = g.middle(small[2], result, gap=3)
    right = g.middle(coming_word, stacks["decoder"], so_far, gap=20)
    ink, last = "memory", f"encoder {counts['encoder'] - 1}"
    for n in range(counts["decoder"]):
        fan = g.Link(last, f"decoder {n}", "ribbon", ink=ink, line=1.8, sides=("right", "left"))
        links.append(fan)
    links += [
        g.Link("text", "encoder 0"),
        g.Link("so far", "decoder 0"),
        g.Link(f"decoder {counts['decoder'] - 1}", "next"),
    ]
    body = g.Across(left, right, gap=110, align="bottom")
    title = plan.say("title" if counts["decoder"] > 1 else "title_one")
    memory = plan.say("memory", n=len(plan.source), d=settings.d_model)
    return plan.compose(
        body, title=title, links=links, callouts=[g.Callout(last, memory, "above", 120)]
    )

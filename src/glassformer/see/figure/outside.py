"""Figures of the whole model, from outside inwards (V01-V04)."""

from __future__ import annotations

from . import style
from .links import Callout, Link
from .nodes import Across, Card, Chip, Component, Down, Label, Node, Panel, Spacer
from .plan import Outline, figure
from .scene import Scene
from .selection import elide, show_tokens
from .typesetting import quote

WIDE = 150.0
ROWS = 14  # of the memory, drawn


def _tell_ends(plan: Outline, middle: Node, width: float = WIDE) -> tuple[Node, list[Link]]:
    """Return the source text, something in the middle, and the translation."""
    texts = (
        ("source", quote(plan.trace.text), "encoder"),
        ("target", quote(plan.trace.translation), "decoder"),
    )
    source, target = (
        Card(Label(text, style.BODY, style.role(role).ink, width=width), pad=8).named(name)
        for name, text, role in texts
    )
    links = [Link("source", "middle", line=2), Link("middle", "target", line=2)]
    return Across(source, middle.named("middle"), target, gap=style.FAR), links


@figure("box")
def draw_black_box(plan: Outline) -> Scene:
    """Show the model as a black box with its input and output (V01)."""
    name = Label(plan.say("model"), style.TITLE, style.PAPER, bold=True)
    box = Card(name, fill=style.INK, pad=34, round=14)
    body, links = _tell_ends(plan, box)
    return plan.compose(body, title=plan.say("title"), note=plan.say("note"), links=links)


@figure("sequences")
def draw_sequences(plan: Outline) -> Scene:
    """Show what the encoder hands over: one vector for each token, not a single one (V02)."""
    memory, tokens = plan.of("memory[i,d]"), show_tokens(plan.trace.source)
    n, d = memory.shape
    limit = float(abs(memory.values).max())
    rows: list[Node] = []
    for i in elide(n, ROWS):
        if i is None:
            left = plan.say("left", n=n - ROWS + 1)
            rows.append(Label(left, style.SMALL, style.SOFT))
            continue
        panel = Panel(memory[i], width=180, height=15, limit=limit).named(f"row {i}")
        rows.append(Across(panel, Label(tokens[i], style.SMALL, fit=70), gap=6))
    middle = Down(*rows, gap=3).named("memory")
    parts = [Component(plan.say(side), side, width=92, height=54).named(side) for side in SIDES]
    body = Across(parts[0], middle, parts[1], gap=style.FAR)
    links = [Link("encoder", "memory", line=2), Link("memory", "decoder", line=2)]
    title, note = plan.say("title", n=n), plan.say("note", d=d)
    callout = Callout(f"row {n - 1}", plan.say("row"), "below", 260)
    return plan.compose(body, title=title, note=note, links=links, callouts=[callout])


SIDES = ("encoder", "decoder")


@figure("opened")
def draw_opened(plan: Outline) -> Scene:
    """Show encoders, decoders and the memory between them (V03)."""
    n, d = plan.of("memory[i,d]").shape
    boxes = [
        Down(
            Component(plan.say(side), side, width=110, height=50).named(side),
            Label(plan.say(does), style.SMALL, style.SOFT, width=112, align="middle"),
            gap=6,
            align="middle",
            stands_on=0,
        )
        for side, does in zip(SIDES, ("reads", "writes"), strict=True)
    ]
    word = Label(plan.say("memory"), style.SMALL, style.role("memory").ink, bold=True)
    between = Down(word, Spacer(70, 26), gap=0, align="middle")
    inside = Card(Across(boxes[0], between, boxes[1], gap=0), edge=style.FAINT, pad=20)
    body, links = _tell_ends(plan, inside, 104)
    memory = Link("encoder", "decoder", line=2.2, ink=style.role("memory").ink)
    title, note = plan.say("title", n=n, d=d), plan.say("note", n=n, d=d)
    return plan.compose(body, title=title, note=note, links=[*links, memory])


@figure("stacks")
def draw_stacks(plan: Outline) -> Scene:
    """Show all layers, and the memory that goes to every decoder layer (V04)."""
    settings, links = plan.trace.settings, []
    counts = {"encoder": settings.encoder_layers, "decoder": settings.decoder_layers}
    stacks = {}
    for side, count in counts.items():
        layers = [
            Component(plan.say(f"{side}_layer", n=n), side, width=140, height=26, strong=False)
            for n in range(count)
        ]
        named = [layer.named(f"{side} {n}") for n, layer in enumerate(layers)]
        links += [Link(f"{side} {n}", f"{side} {n + 1}", line=1) for n in range(count - 1)]
        stacks[side] = Down(*reversed(named), gap=13)
    ids, coming = show_tokens(plan.trace.target), show_tokens(plan.trace.predicted)
    row = min(3, len(ids) - 1)
    chips = [Chip(token, "decoder", size=style.SMALL, fit=60) for token in ids[: row + 1]]
    text = Label(quote(plan.trace.text), style.BODY, width=170, align="middle").named("text")
    found = Chip(coming[row], "decoder", lit=True, fit=140).named("next")
    small = [Label(plan.say(key), style.SMALL, style.SOFT) for key in ("source", "so_far", "next")]
    source = Down(text, small[0], gap=3, align="middle")
    so_far = Down(Across(*chips, gap=3).named("so far"), small[1], gap=3, align="middle")
    left = Down(stacks["encoder"], source, gap=20, align="middle")
    coming_word = Down(small[2], found, gap=3, align="middle")
    right = Down(coming_word, stacks["decoder"], so_far, gap=20, align="middle")
    ink, last = style.role("memory").ink, f"encoder {counts['encoder'] - 1}"
    for n in range(counts["decoder"]):
        fan = Link(last, f"decoder {n}", "ribbon", ink=ink, line=1.8, sides=("right", "left"))
        links.append(fan)
    links += [
        Link("text", "encoder 0"),
        Link("so far", "decoder 0"),
        Link(f"decoder {counts['decoder'] - 1}", "next"),
    ]
    body = Across(left, right, gap=110, align="bottom")
    title = plan.say("title" if counts["decoder"] > 1 else "title_one")
    return plan.compose(body, title=title, note=plan.say("note"), links=links)

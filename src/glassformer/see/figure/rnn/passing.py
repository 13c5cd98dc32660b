"""Words pass one by one, and the encoder hands over one state or all (V92, V93, V02)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import style
from ..links import Callout, Link
from ..nodes import Across, Chip, Component, Down, Label, Node, Numeral, Panel, Strip
from ..outside import ROWS, SIDES
from ..plan import Outline, figure
from ..scene import Scene
from ..selection import elide, show_tokens, tell_tokens_left_out
from .states import count_fixed, find_encoder_states

WORDS, UNSURE = 16, 0.9  # tokens of a side that are drawn; below this, a step is unsure


@figure("rnn_words")
def draw_words_passing(plan: Outline) -> Scene:
    """Show the words that go in one after the other, and then come out so (V92)."""
    trace = plan.trace
    source, target = show_tokens(trace.source), show_tokens(trace.predicted)
    sure = plan.give("probability", np.exp([each.log_prob for each in trace.predictions]))
    captions: list[str] = []
    columns: dict[str, list[Node]] = {"read": [], "written": []}
    for key, texts in (("read", source), ("written", target)):
        for n in elide(len(texts), WORDS):
            step = len(captions) + 1
            start = (-70.0, 0.0) if key == "read" else (-150.0, 0.0)
            if n is None:
                columns[key].append(Label("⋮", style.BODY, style.SOFT).at(step))
                captions.append(plan.say("and_so_on"))
                continue
            role = "encoder" if key == "read" else "decoder"
            chip = Chip(texts[n], role, fit=100).named(f"{key} {n}").at(step, start)
            made: Node = chip
            if key == "written":
                number = Numeral(sure[n], style.TINY, style.SOFT, before="p = ").at(step)
                made = Across(chip, number.named(f"p {n}"), gap=6)
            columns[key].append(made)
            captions.append(plan.say(f"caption_{key}", n=n + 1, word=texts[n]))
    box = Component(plan.say("model"), "model", width=130, height=120, size=style.HEADING)
    left = Down(*columns["read"], gap=4, align="end").named("source")
    right = Down(*columns["written"], gap=4).named("target")
    low = int(np.argmin(sure.values))
    callouts, share = [], float(sure.values[low])
    title = plan.say("title", n=len(source), m=len(target))
    if share < UNSURE:
        least = {"word": target[low], "share": f"{100 * share:.0f} %"}
        title = plan.say("title_unsure", m=len(target), **least)
    if share < UNSURE and low in elide(len(target), WORDS):
        told = plan.say("unsure")
        callouts = [Callout(f"p {low}", told, "right", 110, len(captions))]
    shown = sum(n is not None for texts in (source, target) for n in elide(len(texts), WORDS))
    return plan.compose(
        Across(left, box.named("middle"), right, gap=64),
        title=title,
        note=plan.say("note") + tell_tokens_left_out(plan.lang, shown, len(source) + len(target)),
        links=[Link("source", "middle", line=2), Link("middle", "target", line=2)],
        callouts=callouts,
        captions=captions,
    )


@figure("rnn_context")
def draw_fixed_context(plan: Outline) -> Scene:
    """Show the encoder's last state, which is handed to the decoder (V93)."""
    trace, settings = plan.trace, plan.trace.settings
    final = plan.of(f"encoder.{settings.encoder_layers - 1}.final[0,d]")
    look = style.role("memory")
    word = Label(plan.say("context"), style.BODY, look.ink, bold=True)
    strip = Strip(final, "memory", shown=4).named("numbers")
    panel = Panel(final, width=strip.body, height=30, edge=look.ink).named("all")
    middle = Down(word, strip, panel, gap=6, stands_on=1)
    boxes = {
        side: Component(plan.say(side), side, width=108, height=56).named(side) for side in SIDES
    }
    ends = []
    for side, text in (("encoder", trace.text), ("decoder", trace.translation)):
        label = Label(text, style.SMALL, style.role(side).ink, width=140, align="middle")
        ends.append(Down(boxes[side], label, gap=10, align="middle", stands_on=0))
    n, count, attends = len(trace.source), count_fixed(settings), settings.rnn.attention != "none"
    links = [
        Link(a, b, line=2.2, ink=look.ink)
        for a, b in (("encoder", "numbers"), ("numbers", "decoder"))
    ]
    states = n * settings.d_model
    key = "title_attention" if attends else "title"
    title = plan.say(key, n=n, count=count, states=f"{states:,}")
    return plan.compose(
        Across(ends[0], middle, ends[1], gap=style.FAR),
        title=title,
        note=plan.say("note", count=count),
        links=links,
        callouts=[Callout("all", plan.say("same", count=count), "below", 190)],
    )


@figure("rnn_sequences")
def draw_handed_over(plan: Outline) -> Scene:
    """Show which of the encoder's states the decoder is given: the last, or all (V02)."""
    trace = plan.trace
    memory = plan.of(f"{find_encoder_states(trace)}[i,d]")
    tokens, (n, d) = show_tokens(trace.source), memory.shape
    limit = float(abs(memory.values).max()) or 1.0
    attends = trace.settings.rnn.attention != "none"
    rows: list[Node] = []
    for i in elide(n, ROWS):
        if i is None:
            rows.append(Label(plan.say("left", n=n - ROWS + 1), style.SMALL, style.SOFT))
            continue
        passes = attends or i == n - 1
        panel = Panel(memory[i], width=180, height=15, limit=limit).named(f"row {i}")
        ink = style.INK if passes else style.SOFT
        label = Label(tokens[i], style.SMALL, ink, bold=passes, fit=70)
        both = Across(panel.faded(1.0 if passes else 0.3), label, gap=6)
        rows.append(both.named("last") if i == n - 1 else both)
    parts = [Component(plan.say(side), side, width=92, height=54).named(side) for side in SIDES]
    middle = Down(*rows, gap=3).named("states")
    link = Link("states", "decoder", ink=style.role("memory").ink, line=2)
    if not attends:
        link = replace(link, start="last", way="elbow", sides=("right", "below"), lane=1.0)
    links = [Link("encoder", "states", line=2), link]
    return plan.compose(
        Across(parts[0], middle, parts[1], gap=style.FAR),
        title=plan.say("title_attention" if attends else "title", n=n),
        note=plan.say("note", d=d),
        links=links,
        callouts=[
            Callout(
                f"row {n - 1}",
                plan.say("all" if attends else "last", word=tokens[-1]),
                "below",
                260,
            )
        ],
    )

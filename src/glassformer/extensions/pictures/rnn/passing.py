"""Words pass one by one, and the encoder hands over one state or all (V92, V93, V02)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from ..outside import ROWS, SIDES
from ..parts import grammar as g
from ..parts import style
from ..parts.kinds import find_lost, find_meaning
from ..parts.selection import elide, list_shown
from .states import count_fixed, find_encoder_states

WORDS, UNSURE = 16, 0.9  # tokens of a side that are drawn; below this, a step is unsure


@g.figure("rnn_words")
def draw_words_passing(plan: g.Outline) -> g.Scene:
    """Show the words that go in one after the other, and then come out so (V92)."""
    source, target = plan.source, plan.predicted
    sure, lost = plan.give_sure(), find_lost(plan.trace.text, plan.trace.translation)
    low = int(np.argmin(sure.values))
    is_wrong = lost is not None and target[low] not in source
    after = (n for n in range(low, len(target)) if not target[n].isalpha())
    wrong = range(low, next(after, len(target))) if is_wrong else ()
    captions: list[str] = []
    columns: dict[str, list[g.Node]] = {"read": [], "written": []}
    for key, texts in (("read", source), ("written", target)):
        role, start = ("encoder", (-70.0, 0.0)) if key == "read" else ("decoder", (-150.0, 0.0))
        for step, n in plan.elide(len(texts), WORDS, columns[key], captions):
            red = key == "written" and n in wrong
            chip = g.Chip(texts[n], "softmax" if red else role, fit=100, lit=red)
            chip.named(f"{key} {n}").at(step, start)
            node: g.Node = chip
            if key == "written":
                number = g.Numeral(sure[n], style.TINY, style.SOFT, before="p = ").at(step)
                node = g.Across(chip, number.named(f"p {n}"), gap=6)
            columns[key].append(node)
            captions.append(plan.say(f"caption_{key}", n=n + 1, word=texts[n]))
    box = g.Component(plan.say("model"), "model", width=130, height=120, size=style.HEADING)
    left = g.Down(*columns["read"], gap=4, align="end").named("source")
    right = g.Down(*columns["written"], gap=4).named("target")
    is_shown = sure.values[low] < UNSURE and low in elide(len(target), WORDS)
    text, words = plan.say("wrong" if is_wrong else "unsure"), " ".join(target[n] for n in wrong)
    if meaning := find_meaning(words):
        text += plan.say("means", words=words, meaning=meaning)
    callout = g.Callout(f"p {low}", text, "right", 110, len(captions))
    shown = sum(len(list_shown(len(texts), WORDS)) for texts in (source, target))
    return plan.compose(
        g.Across(left, box.named("middle"), right, gap=64),
        left=(shown, len(source) + len(target)),
        links=[g.Link("source", "middle", line=2), g.Link("middle", "target", line=2)],
        title="lost" if lost else "title",
        callouts=[callout] if is_shown else [],
        captions=captions,
        n=len(source),
        m=len(target),
        word=lost[0] if lost else "",
        wanted=lost[1] if lost else "",
    )


@g.figure("rnn_context")
def draw_fixed_context(plan: g.Outline) -> g.Scene:
    """Show the encoder's last state, which is handed to the decoder (V93)."""
    trace, settings = plan.trace, plan.settings
    final = plan.of(f"encoder.{settings.encoder_layers - 1}.final[0,d]")
    word = plan.label("context", ink="memory", bold=True)
    strip = g.Strip(final, "memory", shown=4).named("numbers")
    panel = g.Panel(final, width=strip.body, height=30, edge="memory").named("all")
    middle = g.Down(word, strip, panel, gap=6, stands_on=1)
    ends = []
    for side, text in zip(SIDES, (trace.text, trace.translation), strict=True):
        box = g.Component(plan.say(side), side, width=108, height=56).named(side)
        label = g.small(text, side, width=140, align="middle")
        ends.append(g.middle(box, label.named(f"{side} text"), gap=10, stands_on=0))
    n, count, attends = len(trace.source), count_fixed(settings), settings.rnn.attention != "none"
    way = ("encoder", "numbers", "decoder")
    links = [g.Link(a, b, line=2.2, ink="memory") for a, b in pairwise(way)]
    states = n * settings.d_model
    lost, missed = find_lost(trace.text, trace.translation), list[g.Callout]()
    if lost:
        texts = plan.say("lost", word=lost[0], wanted=lost[1])
        missed.append(g.Callout("decoder text", texts, "below", 120))
    key = "title_attention" if attends else "title"
    title = plan.say(key, n=n, count=count, states=g.spell(states, 0))
    return plan.compose(
        g.Across(ends[0], middle, ends[1], gap=style.FAR),
        title=title,
        links=links,
        callouts=[g.Callout("all", "same", "below", 190), *missed],
        count=count,
    )


@g.figure("rnn_sequences")
def draw_handed_over(plan: g.Outline) -> g.Scene:
    """Show which of the encoder's states the decoder is given: the last, or all (V02)."""
    trace = plan.trace
    memory = plan.of(f"{find_encoder_states(trace)}[i,d]")
    tokens, (n, d) = plan.source, memory.shape
    limit = float(abs(memory.values).max()) or 1.0
    attends = trace.settings.rnn.attention != "none"
    rows: list[g.Node] = []
    for i in elide(n, ROWS):
        if i is None:
            rows.append(g.small(plan.say("left", n=n - ROWS + 1)))
            continue
        passes = attends or i == n - 1
        panel = g.Panel(memory[i], width=180, height=15, limit=limit).named(f"row {i}")
        ink = style.INK if passes else style.SOFT
        label = g.small(tokens[i], ink, bold=passes, fit=70)
        both = g.Across(panel.faded(1.0 if passes else 0.3), label, gap=6)
        rows.append(both.named("last") if i == n - 1 else both)
    parts = [g.Component(plan.say(side), side, width=92, height=54).named(side) for side in SIDES]
    middle = g.Down(*rows, gap=3).named("states")
    link = g.Link("states", "decoder", ink="memory", line=2)
    if not attends:
        link = replace(link, start="last", way="elbow", sides=("right", "below"), lane=1.0)
    links = [g.Link("encoder", "states", line=2), link]
    return plan.compose(
        g.Across(parts[0], middle, parts[1], gap=style.FAR),
        title="title_attention" if attends else "title",
        links=links,
        callouts=[g.Callout(f"row {n - 1}", "all" if attends else "last", "below", 260)],
        n=n,
        d=d,
        word=tokens[-1],
    )

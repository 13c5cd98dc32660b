"""A recurrent network in time: a pulse for each step, and the cell drawn once a step (V95, V96)."""

from __future__ import annotations

from dataclasses import replace

from .. import style
from ..costs import LAYERS, TOKENS, Timeline
from ..grids import Tall
from ..links import Callout, Link
from ..measures import cosine
from ..nodes import Across, Chip, Columns, Component, Down, Label, Node, Numeral, Spacer
from ..plan import Outline, figure
from ..scene import Scene
from ..selection import elide, show_tokens, tell_tokens_left_out
from .states import find_decoder_states, find_encoder_states, show_state

PULSES, UNROLLED = 12, 7  # steps of a side that are drawn
WIDE = 100.0  # of a state


@figure("rnn_pulses")
def draw_pulses(plan: Outline) -> Scene:
    """Show the state at every step, with a counter; the last of the encoder is handed on (V95)."""
    trace = plan.trace
    sides = (
        ("encoder", find_encoder_states(trace), show_tokens(trace.source)),
        ("decoder", find_decoder_states(trace), show_tokens(trace.predicted)),
    )
    n, m = (len(texts) for _, _, texts in sides)
    limit = max(float(abs(trace[name]).max()) for _, name, _ in sides) or 1.0
    final = f"{sides[0][1]}[{n - 1},d]"
    blocks, captions, shown = [], list[str](), 0
    for side, name, texts in sides:
        heads = [plan.say("clock"), "", plan.say("state"), plan.say("like")]
        rows: list[list[Node]] = [[Label(text, style.TINY, style.SOFT) for text in heads]]
        for t in elide(len(texts), PULSES):
            step = len(captions) + 1
            if t is None:
                rows.append([Spacer(), Label("⋮", style.BODY, style.SOFT).at(step)])
                captions.append(plan.say("and_so_on"))
                continue
            shown += 1
            clock = t + 1 + (n if side == "decoder" else 0)
            near = plan.of(cosine(f"{name}[{t},d]", final))
            panel = show_state(plan, name, t, WIDE, limit).named(f"{side} {t}")
            number = Label(str(clock), style.SMALL, style.SOFT, bold=True)
            row: list[Node] = [
                number.named(f"clock {side} {t}").at(step),
                Chip(texts[t], side, size=style.SMALL, fit=58).at(step, (-40, 0)),
                panel.at(step, (0, -22)),
                Numeral(near, style.TINY, style.SOFT).named(f"near {side} {t}").at(step),
            ]
            rows.append(row)
            captions.append(plan.say(f"caption_{side}", t=clock, word=texts[t]))
        name_of = Label(plan.say(side), style.BODY, style.role(side).ink, bold=True)
        table = Columns(rows, gap=(8, 5), align=["end", "start", "start", "end"])
        blocks.append(Down(name_of, table, gap=6))
    first = len(elide(n, PULSES)) + 1
    ends, ink = (f"near encoder {n - 1}", "clock decoder 0"), style.role("memory").ink
    link = Link(*ends, "ribbon", ink, 2.0, step=first, sides=("right", "left"))
    return plan.compose(
        Across(*blocks, gap=72, align="top"),
        title=plan.say("title", n=n, all=n + m),
        note=plan.say("note") + tell_tokens_left_out(plan.lang, shown, n + m),
        links=[link],
        callouts=[Callout(f"encoder {n - 1}", plan.say("context"), "below", 150, first)],
        captions=captions,
    )


@figure("rnn_unrolled")
def draw_unrolled(plan: Outline) -> Scene:
    """Show the cell once for each step, with the state that runs through all of them (V96)."""
    trace, links, lines, captions = plan.trace, list[Link](), list[Node](), list[str]()
    sides = (
        (
            "encoder",
            find_encoder_states(trace),
            show_tokens(trace.source),
            "encoder.0.forward_cell",
        ),
        ("decoder", find_decoder_states(trace), show_tokens(trace.target), "decoder.0.cell"),
    )
    outs, before, shown = show_tokens(trace.predicted), "", 0
    limit = max(float(abs(trace[name]).max()) for _, name, _, _ in sides) or 1.0
    for side, name, texts, _ in sides:
        boxes: list[Node] = []
        for t in elide(len(texts), UNROLLED):
            step = len(captions) + 1
            if t is None:
                boxes.append(Tall(Label("…", style.HEADING, style.SOFT), 26).named(f"{side} gap"))
                boxes[-1].at(step)
                here = f"{side} gap"
                captions.append(plan.say("and_so_on"))
            else:
                shown += 1
                here = f"{side} {t}"
                box = Component(plan.say("cell"), side, width=54, height=26, size=style.TINY)
                token = Chip(texts[t], "embedded", size=style.TINY, fit=46).named(f"in {here}")
                parts: list[Node] = [
                    show_state(plan, name, t, 54, limit).named(f"state {here}").at(step, (-62, 0)),
                    box.named(here),
                    token.at(step, (0, 26)),
                ]
                links.append(Link(f"in {here}", here, step=step, line=1.0))
                if side == "decoder":
                    out = Chip(outs[t], "decoder", size=style.TINY, fit=46, lit=True)
                    parts.insert(0, out.named(f"out {t}").at(step, (0, 22)))
                boxes.append(Down(*parts, gap=10, align="middle", stands_on=len(parts) - 2))
                captions.append(plan.say(f"caption_{side}", t=t + 1, word=texts[t]))
            if before:
                link = Link(before, here, ink=style.role("memory").ink, line=1.6, step=step)
                if here == "decoder 0":
                    context = Chip(plan.say("context"), "memory", size=style.TINY)
                    boxes.insert(0, context.named("context").at(step, (520, -80)))
                    bow = replace(link, end="context", way="around", lane=0.44)
                    links.append(replace(bow, sides=("right", "above")))
                    link = replace(link, start="context")
                links.append(link)
            before = here
        lines.append(Across(*boxes, gap=20))
    n, m = len(trace.source), len(trace.target)
    counts = [sum(trace[f"{cell}.{part}"].size for part in CELL_PARTS) for *_, cell in sides]
    return plan.compose(
        Down(*lines, gap=40, align="end"),
        title=plan.say("title", n=n, m=m),
        note=plan.say("note", reads=f"{counts[0]:,}", writes=f"{counts[1]:,}")
        + tell_tokens_left_out(plan.lang, shown, n + m),
        links=links,
        callouts=[Callout("state encoder 0", plan.say("same"), "above", 180)],
        captions=captions,
    )


CELL_PARTS = ("from_input.weight", "from_input.bias", "from_hidden.weight", "from_hidden.bias")


@figure("rnn_parallel")
def draw_in_turn(plan: Outline) -> Scene:
    """Show that every step of a recurrent network waits for the one before (V72)."""
    trace, layers = plan.trace, min(plan.trace.settings.encoder_layers, LAYERS)
    texts = show_tokens(trace.source)[:TOKENS]
    lanes: list[Node] = []
    for key, waits in (("recurrent", True), ("transformer", False)):
        name = Label(plan.say(key), style.BODY, style.role("decoder").ink, bold=True)
        lanes.append(Down(name, Timeline(texts, layers, waits).named(key), gap=6))
    n = len(texts)
    return plan.compose(
        Down(*lanes, gap=20),
        title=plan.say("title", n=len(trace.source), steps=len(trace.source) * layers),
        note=plan.say("note", n=n, layers=layers),
        callouts=[Callout("transformer", plan.say("at_once"), "right", 220)],
    )

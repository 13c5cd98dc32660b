"""A recurrent network in time: a pulse for each step, and the cell drawn once a step (V95, V96)."""

from __future__ import annotations

from dataclasses import replace

from ..costs import LAYERS, TOKENS, Timeline
from ..measures import cosine
from ..parts import grammar as g
from ..parts import style
from ..parts.selection import elide
from .states import find_decoder_states, find_encoder_states, show_state

PULSES, UNROLLED = 12, 7  # steps of a side that are drawn
WIDE = 100.0  # of a state


@g.figure("rnn_pulses")
def draw_pulses(plan: g.Outline) -> g.Scene:
    """Show the state at every step, with a counter; the last of the encoder is handed on (V95)."""
    trace = plan.trace
    sides = (
        ("encoder", find_encoder_states(trace), plan.source),
        ("decoder", find_decoder_states(trace), plan.predicted),
    )
    n, m = (len(texts) for _, _, texts in sides)
    limit = max(float(abs(trace[name]).max()) for _, name, _ in sides) or 1.0
    final = f"{sides[0][1]}[{n - 1},d]"
    blocks, captions, shown = [], list[str](), 0
    for side, name, texts in sides:
        heads = [plan.say("clock"), "", plan.say("state"), plan.say("like")]
        rows: list[list[g.Node]] = [[g.tiny(text) for text in heads]]
        for t in elide(len(texts), PULSES):
            step = len(captions) + 1
            if t is None:
                rows.append([g.Spacer(), g.Label("⋮", ink=style.SOFT).at(step)])
                captions.append(plan.say("and_so_on"))
                continue
            shown += 1
            clock = t + 1 + (n if side == "decoder" else 0)
            near = plan.of(cosine(f"{name}[{t},d]", final))
            panel = show_state(plan, name, t, WIDE, limit).named(f"{side} {t}")
            number = g.small(str(clock), bold=True)
            row: list[g.Node] = [
                number.named(f"clock {side} {t}").at(step),
                g.Chip(texts[t], side, size=style.SMALL, fit=58).at(step, (-40, 0)),
                panel.at(step, (0, -22)),
                g.Bar(near, 1.0, "memory", width=34, height=9, size=style.TINY)
                .named(f"near {side} {t}")
                .at(step),
            ]
            rows.append(row)
            captions.append(plan.say(f"caption_{side}", t=clock, word=texts[t]))
        name_of = plan.label(side, ink=side, bold=True)
        table = g.Columns(rows, gap=(8, 5), align="rlll")
        blocks.append(g.Down(name_of, table, gap=6))
    first = len(elide(n, PULSES)) + 1
    ends, ink = (f"near encoder {n - 1}", "clock decoder 0"), "memory"
    link = g.Link(*ends, "ribbon", ink, 2.0, step=first, sides=("right", "left"))
    return plan.compose(
        g.Across(*blocks, gap=72, align="top"),
        left=(shown, n + m),
        links=[link],
        callouts=[g.Callout(f"encoder {n - 1}", "context", "below", 150, first)],
        captions=captions,
        n=n,
        all=n + m,
    )


@g.figure("rnn_unrolled")
def draw_unrolled(plan: g.Outline) -> g.Scene:
    """Show the cell once for each step, with the state that runs through all of them (V96)."""
    trace, links, lines, captions = plan.trace, list[g.Link](), list[g.Node](), list[str]()
    sides = (
        ("encoder", find_encoder_states(trace), plan.source, "encoder.0.forward_cell"),
        ("decoder", find_decoder_states(trace), plan.target, "decoder.0.cell"),
    )
    outs, before, shown = plan.predicted, "", 0
    limit = max(float(abs(trace[name]).max()) for _, name, _, _ in sides) or 1.0
    for side, name, texts, _ in sides:
        boxes: list[g.Node] = []
        for t in elide(len(texts), UNROLLED):
            step = len(captions) + 1
            if t is None:
                boxes.append(
                    g.Slot(g.Label("…", style.HEADING, style.SOFT), 0, height=26).named(
                        f"{side} gap"
                    )
                )
                boxes[-1].at(step)
                here = f"{side} gap"
                captions.append(plan.say("and_so_on"))
            else:
                shown += 1
                here = f"{side} {t}"
                box = g.Component(plan.say("cell"), side, width=54, height=26, size=style.TINY)
                token = g.Chip(texts[t], "embedded", size=style.TINY, fit=46).named(f"in {here}")
                parts: list[g.Node] = [
                    show_state(plan, name, t, 54, limit).named(f"state {here}").at(step, (-62, 0)),
                    box.named(here).at(step, (0, 0)),
                    token.at(step, (0, 26)),
                ]
                links.append(g.Link(f"in {here}", here, step=step, line=1.0))
                if side == "decoder":
                    out = g.Chip(outs[t], "decoder", size=style.TINY, fit=46, lit=True)
                    parts.insert(0, out.named(f"out {t}").at(step, (0, 22)))
                boxes.append(g.middle(*parts, gap=10, stands_on=len(parts) - 2))
                captions.append(plan.say(f"caption_{side}", t=t + 1, word=texts[t]))
            if before:
                link = g.Link(before, here, ink="memory", line=1.6, step=step)
                if here == "decoder 0":
                    context = g.Chip(plan.say("context"), "memory", size=style.TINY)
                    boxes.insert(0, context.named("context").at(step, (520, -80)))
                    bow = replace(link, end="context", way="around", lane=0.44)
                    links.append(replace(bow, sides=("right", "above")))
                    link = replace(link, start="context")
                links.append(link)
            before = here
        lines.append(g.Across(*boxes, gap=20))
    n, m = len(trace.source), len(trace.target)
    counts = [sum(trace[f"{cell}.{part}"].size for part in CELL_PARTS) for *_, cell in sides]
    return plan.compose(
        g.Down(*lines, gap=40, align="end"),
        note="note_same" if counts[0] == counts[1] else "note",
        left=(shown, n + m),
        links=links,
        callouts=[g.Callout("state encoder 0", "same", "above", 180)],
        captions=captions,
        n=n,
        m=m,
        reads=g.spell(counts[0], 0),
        writes=g.spell(counts[1], 0),
    )


CELL_PARTS = ("from_input.weight", "from_input.bias", "from_hidden.weight", "from_hidden.bias")


@g.figure("rnn_parallel")
def draw_in_turn(plan: g.Outline) -> g.Scene:
    """Show that every step of a recurrent network waits for the one before (V72)."""
    trace, layers = plan.trace, min(plan.settings.encoder_layers, LAYERS)
    texts = plan.source[: 2 * TOKENS]
    lanes: list[g.Node] = []
    for key, waits in (("recurrent", True), ("transformer", False)):
        name = plan.label(key, ink="encoder", bold=True)
        lane = Timeline(texts, layers, waits, "encoder").named(key)
        lanes.append(g.Down(name, lane, gap=6))
    n = len(texts)
    return plan.compose(
        g.Down(*lanes, gap=20),
        note=plan.say("note", n=n, layers=layers),
        callouts=[g.Callout("transformer", "at_once", "right", 220)],
        n=len(trace.source),
        steps=len(trace.source) * layers,
    )

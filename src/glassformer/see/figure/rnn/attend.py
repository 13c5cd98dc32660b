"""Attention of a recurrent decoder: what passes, one step in five lines, the dance (V97-V101)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import style
from ..grids import Matrix, Tall
from ..links import Callout, Link
from ..nodes import (
    Across,
    Bar,
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
    Strip,
    find_largest,
)
from ..plan import Outline, figure
from ..quantity import Array, Quantity
from ..scene import Scene
from ..selection import elide, find_query, keep_largest, show_tokens, tell_tokens_left_out
from .states import (
    count_fixed,
    find_decoder_states,
    find_encoder_states,
    find_look,
    show_state,
    show_vector,
)

STATES, STEPS, KEYS, GRID = 12, 14, 3, 24  # states that pass; of the dance; with vectors; of a grid
WORKED = (13.0, 9.0, 9.0)  # the scores of the worked example: softmax .9647, .0177, .0177
WORD = 4  # letters
NEARLY_ALL = 0.99  # a weight beside which no other counts
SURE = 0.5  # a weight from which a step looks mostly at one token


def choose_step(trace: Any, weights: Quantity, query: str | int | None) -> int:
    """Return the step to draw: `query`, or one that has something to show.

    That is, of the steps that write a word and look most at a word, the one of which another token
    gets most. Words have at least `WORD` letters; if there are none, any step will do.
    """
    texts = show_tokens(trace.predicted)
    if query is not None:
        return find_query(texts, query)
    source = show_tokens(trace.source)
    second = np.sort(weights.values, -1)[:, -2] if len(source) > 1 else weights.values[:, 0]
    pairs = zip(texts, weights.values.argmax(-1), strict=True)
    fits = np.array([_is_word(text) and _is_word(source[j]) for text, j in pairs])
    return int(np.where(fits, 1 + second, second).argmax())


def _is_word(text: str) -> bool:
    return len(text) >= WORD and text.isalpha()


@figure("rnn_states_pass")
def draw_states_passing(plan: Outline) -> Scene:
    """Show that with attention all hidden states go to the decoder, not only the last (V97)."""
    trace, settings = plan.trace, plan.trace.settings
    find_look(trace)
    name, texts = find_encoder_states(trace), show_tokens(trace.source)
    limit = find_largest([trace[name]])
    rows: list[Node] = []
    links, captions = [], list[str]()
    for t in elide(len(texts), STATES):
        step = len(captions) + 1
        if t is None:
            rows.append(Label("⋮", style.BODY, style.SOFT).at(step))
            captions.append(plan.say("and_so_on"))
            continue
        chip = Chip(texts[t], "encoder", size=style.SMALL, width=70, fit=66).at(step, (-40, 0))
        panel = show_state(plan, name, t, 170, limit).named(f"state {t}").at(step, (-60, 0))
        rows.append(Across(chip, panel, gap=8))
        captions.append(plan.say("caption", t=t + 1, word=texts[t]))
    last = len(captions) + 1
    captions.append(plan.say("caption_all", n=len(texts)))
    decoder = Component(plan.say("decoder"), "decoder", width=110, height=70).named("decoder")
    ink = style.role("memory").ink
    for t in elide(len(texts), STATES):
        if t is not None:
            fan = Link(f"state {t}", "decoder", "ribbon", ink=ink, line=1.0, head=False, step=last)
            links.append(fan)
    n, d, fixed = len(texts), settings.d_model, count_fixed(settings)
    return plan.compose(
        Across(Down(*rows, gap=4), decoder, gap=110),
        title=plan.say("title", n=n, all=f"{n * d:,}", fixed=f"{fixed:,}"),
        note=plan.say("note", d=d),
        links=links,
        callouts=[Callout(f"state {n - 1}", plan.say("only", word=texts[-1]), "below", 220, last)],
        captions=captions,
    )


@figure("rnn_focus")
def draw_focus(plan: Outline, *, query: str | int | None = None) -> Scene:
    """Show what one step of the decoder looks at (V98)."""
    trace = plan.trace
    weights = plan.of(f"{find_look(trace)}.weights[0,q,m]")
    at = choose_step(trace, weights, query)
    source, target = show_tokens(trace.source), show_tokens(trace.predicted)
    best = int(weights.values[at].argmax())
    shown = keep_largest(weights.values[at], 12, [best])
    ink = style.role("weights").ink
    rows: list[list[Node]] = [
        [
            Chip(source[j], "key", lit=j == best, size=style.SMALL, fit=96),
            Bar(weights[at, j], 1.0, ink, width=230, track=True).named(f"weight {j}"),
        ]
        for j in shown
    ]
    said = [
        Chip(target[t], "decoder", lit=t == at, size=style.SMALL, fit=80)
        .named(f"out {t}")
        .faded(1.0 if t <= at else 0.35)
        for t in range(max(0, at - 4), min(len(target), at + 3))
    ]
    out = Across(*said, gap=4)
    bars = Columns(rows, gap=(8, 4), align=["end", "start"]).named("bars")
    value = float(weights[at, best])
    key = "mostly" if value >= SURE else "most"
    return plan.compose(
        Down(out, bars, gap=44, align="middle"),
        title=plan.say(key, word=target[at], key=source[best], share=f"{100 * value:.0f} %"),
        note=plan.say("note", t=at + 1) + tell_tokens_left_out(plan.lang, len(shown), len(source)),
        links=[Link(f"out {at}", "bars", "straight", ink=ink, line=1.6)],
        callouts=[Callout(f"out {at}", plan.say("now", t=at + 1), "above", 160)],
    )


@figure("rnn_five_lines")
def draw_five_lines(plan: Outline, *, query: str | int | None = None) -> Scene:
    """Show one step of attention in five lines, beside the worked example (V99)."""
    trace, look = plan.trace, find_look(plan.trace)
    weights = plan.of(f"{look}.weights[0,q,m]")
    at = choose_step(trace, weights, query)
    states, source = find_encoder_states(trace), show_tokens(trace.source)
    shown = keep_largest(weights.values[at], KEYS)
    shown.sort(key=lambda j: -weights.values[at, j])
    order = sorted(shown)
    scores = plan.give("example", WORKED)
    shares = [plan.of(f"exp(example[{n}]) / (sum[i] exp(example[i]))") for n in range(3)]
    small = {"cell": (34.0, 20.0), "shown": 2, "size": style.TINY}
    wide = 112.0

    def across(nodes: list[Node], width: float, step: int, start: tuple[float, float]) -> Node:
        held = [Held(node, width).at(step, start) for node in nodes]
        return Across(*held, gap=4)

    lines: list[tuple[Node, Node]] = [
        (
            across([Label(f"$h_{n + 1}$", style.BODY) for n in range(3)], 50, 1, (0, -20)),
            across(
                [
                    Down(
                        Chip(source[j], "key", size=style.SMALL, fit=90),
                        Strip(plan.of(f"{states}[{j},d]"), "memory", **small),  # type: ignore[arg-type]
                        gap=4,
                        align="middle",
                    )
                    for j in order
                ],
                wide,
                1,
                (0, -20),
            ),
        ),
        (
            across([Numeral(each, digits=0) for each in scores], 50, 2, (0, -24)),
            across(
                [Numeral(plan.of(f"{look}.scores[0,{at},{j}]")) for j in order], wide, 2, (0, -24)
            ),
        ),
        (
            across(
                [Numeral(each, digits=4, bold=n == 0) for n, each in enumerate(shares)],
                50,
                3,
                (0, -24),
            ).named("shares"),
            across(
                [Numeral(weights[at, j], digits=4, bold=j == shown[0]) for j in order],
                wide,
                3,
                (0, -24),
            ).named("weights"),
        ),
        (
            across(
                [
                    Label(f"${float(each.values):.2f} · h_{n + 1}$", style.SMALL, style.SOFT)
                    for n, each in enumerate(shares)
                ],
                50,
                4,
                (0, -24),
            ),
            across(
                [
                    Strip(
                        plan.of(f"{look}.weights[0,{at},{j}] {states}[{j},d]"),
                        "heads",
                        **small,  # type: ignore[arg-type]
                    )
                    for j in order
                ],
                wide,
                4,
                (0, -30),
            ),
        ),
        (
            Held(Label("$c$", style.BODY), 158).at(5, (0, -24)),
            Held(
                Strip(plan.of(f"{look}.output[{at},d]"), "memory", shown=4).named("context"),
                3 * wide + 8,
            ).at(5, (0, -30)),
        ),
    ]
    heads: list[Node] = [
        Spacer(),
        Held(Label(plan.say("worked"), style.SMALL, style.SOFT, bold=True), 158),
        Held(
            Label(
                plan.say("real", word=show_tokens(trace.predicted)[at]),
                style.SMALL,
                style.SOFT,
                bold=True,
            ),
            3 * wide + 8,
        ),
    ]
    rows = [heads] + [
        [Label(plan.say(f"line_{n}"), style.SMALL, width=112).at(n), worked, real]
        for n, (worked, real) in enumerate(lines, 1)
    ]
    value, word = float(weights[at, shown[0]]), source[shown[0]]
    kind = trace.settings.rnn.attention
    paper = plan.say("bahdanau" if kind == "additive" else "luong")
    gaps = np.sort(trace[f"{look}.scores"][0, at])
    key = "one" if value > NEARLY_ALL and len(gaps) > 1 else "all"
    told = plan.say(key, gap=f"{np.ptp(gaps[-2:]):.0f}")
    return plan.compose(
        Columns(rows, gap=(14, 18), align=["end", "middle", "middle"]),
        title=plan.say("title", key=word, share=f"{100 * value:.0f} %"),
        note=plan.say("note", kind=kind, paper=paper)
        + tell_tokens_left_out(plan.lang, len(order), len(source)),
        callouts=[Callout("context", told, "below", 300, 5)],
        captions=[plan.say(f"caption_{n}") for n in range(1, 6)],
    )


@figure("rnn_dance")
def draw_dance(plan: Outline) -> Scene:
    """Show each step: token and state in, look, context beside the state, token out (V100)."""
    trace, look = plan.trace, find_look(plan.trace)
    states, top = find_decoder_states(trace), plan.trace.settings.decoder_layers - 1
    given, outs = show_tokens(trace.target), show_tokens(trace.predicted)
    sure = plan.give("probability", np.exp([each.log_prob for each in trace.predictions]))
    names = (states, f"{look}.weights", f"{look}.output", f"decoder.{top}.attentional.output")
    limits = [find_largest([trace[name]]) for name in names]
    heads = ["in", "state", "look", "context", "both", "out", ""]
    rows: list[list[Node]] = [
        [Label(plan.say(key) if key else "", style.TINY, style.SOFT) for key in heads]
    ]
    captions = list[str]()
    shown = elide(len(outs), STEPS)
    for place, t in enumerate(shown):
        step = len(captions) + 1
        if t is None:
            rows.append([Label("⋮", style.BODY, style.SOFT).at(step)])
            captions.append(plan.say("and_so_on"))
            continue
        start = (0.0, 20.0) if place == 0 else (430.0, -32.0)
        weights = plan.of(f"{look}.weights[0,{t},m]")
        cells: list[Node] = [
            Chip(given[t], "embedded", size=style.SMALL, fit=66).named(f"in {t}").at(step, start),
            show_state(plan, states, t, 90, limits[0]).named(f"h {t}").at(step, (0, -32)),
            Panel(weights, width=90, height=13, scale="share", limit=1.0, edge=style.FAINT)
            .named(f"a {t}")
            .at(step, (-98, 0)),
            show_state(plan, names[2], t, 90, limits[2]).named(f"c {t}").at(step, (-98, 0)),
            show_vector(plan.of(f"{names[3]}[{t},d]"), 90, 1.0).named(f"b {t}").at(step, (-98, 0)),
            Chip(outs[t], "decoder", size=style.SMALL, fit=66, lit=True)
            .named(f"out {t}")
            .at(step, (-98, 0)),
            Numeral(sure[t], style.TINY, style.SOFT, before="p = ").named(f"p {t}").at(step),
        ]
        rows.append(cells)
        best = int(weights.values.argmax())
        told = {"given": given[t], "out": outs[t], "key": show_tokens(trace.source)[best]}
        captions.append(plan.say("caption", **told))
    at = choose_step(trace, plan.of(f"{names[1]}[0,q,m]"), None)
    at = at if at in shown else 0
    key = show_tokens(trace.source)[int(trace[names[1]][0, at].argmax())]
    pointed = plan.say("look_at", word=outs[at], key=key)
    return plan.compose(
        Columns(rows, gap=(9, 12), align=["end", *["start"] * 6]),
        title=plan.say("title", n=len(outs)),
        note=plan.say("note", n=len(trace.source))
        + tell_tokens_left_out(plan.lang, sum(t is not None for t in shown), len(outs)),
        callouts=[Callout(f"p {at}", pointed, "right", 70, len(captions))],
        captions=captions,
    )


@figure("rnn_grid")
def draw_look_grid(plan: Outline) -> Scene:
    """Show the weights of all steps: a row for each, a column for each source token (V101)."""
    trace = plan.trace
    name = f"{find_look(trace)}.weights"
    weights = plan.of(f"{name}[0,q,m]")
    source, target = show_tokens(trace.source), show_tokens(trace.predicted)
    shown = [t for t in elide(len(target), GRID) if t is not None]
    columns = keep_largest(weights.values[shown].max(0), GRID)
    peaks = weights.values.max(-1)
    rows: list[Node] = []
    cell = (min(26.0, 480.0 / len(columns)), 17.0)
    captions = []
    for place, t in enumerate(shown):
        panel = Panel(
            weights,
            width=cell[0] * len(columns),
            height=cell[1],
            scale="share",
            limit=1.0,
            only=([t], columns),
            edge=style.HAIR,
        )
        names = [source[j] for j in columns] if place == 0 else []
        matrix = Matrix(panel, columns=names, fit=80).at(place + 1, (0, -cell[1]))
        label = Tall(Held(Label(target[t], style.SMALL, fit=88), 90, "end"), cell[1])
        best = weights[t, int(weights.values[t].argmax())]
        number = Tall(Numeral(best, style.TINY, style.SOFT), cell[1]).named(f"best {t}")
        rows.append(Across(label, matrix, number, gap=6, align="bottom"))
        key = "caption" if peaks[t] >= SURE else "caption_wide"
        captions.append(plan.say(key, word=target[t], key=source[int(weights.values[t].argmax())]))
    sure = int((peaks >= SURE).sum())
    at, told = _find_oddity(plan, weights.values, shown)
    return plan.compose(
        Down(*rows, gap=0),
        title=plan.say("title", n=sure, all=len(target)),
        note=plan.say("note")
        + tell_tokens_left_out(plan.lang, len(shown) + len(columns), len(source) + len(target)),
        callouts=[Callout(f"best {at}", told, "right", 90, len(shown))],
        captions=captions,
    )


def _find_oddity(plan: Outline, weights: Array, shown: list[int]) -> tuple[int, str]:
    """Return the row that is worth a callout, and its text.

    It is the row that looks in several places, or else looks furthest ahead of the next one.
    """
    source, target = show_tokens(plan.trace.source), show_tokens(plan.trace.predicted)
    wide = shown[int(weights[shown].max(-1).argmin())]
    if weights[wide].max() < SURE:
        return wide, plan.say("spread", word=target[wide])
    best = weights.argmax(-1)
    ahead = [int(best[t] - best[t + 1]) for t in shown[:-1] if t + 1 < len(best)]
    if ahead and max(ahead) > 0:
        at = shown[int(np.argmax(ahead))]
        return at, plan.say("ahead", word=target[at], key=source[int(best[at])])
    return shown[-1], plan.say("in_order")

"""Attention of a recurrent decoder: what passes, one step in five lines, the dance (V97-V101)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..parts import grammar as g
from ..parts import style
from ..parts.selection import elide, find_query, keep_largest, list_shown, tell_tokens
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
PILLAR: dict[str, Any] = {"height": 34, "show": g.percent}
WORD = 4  # letters
NEARLY_ALL = 0.99  # a weight beside which no other counts
SURE = 0.5  # a weight from which a step looks mostly at one token


def choose_step(trace: Any, weights: g.Quantity, query: str | int | None) -> int:
    """Return the step to draw: `query`, or one that has something to show.

    That is, of the steps that write a word and look most at a word, the one of which another token
    gets most. Words have at least `WORD` letters; if there are none, any step will do.
    """
    texts = tell_tokens(trace.predicted)
    if query is not None:
        return find_query(texts, query)
    source = tell_tokens(trace.source)
    second = np.sort(weights.values, -1)[:, -2] if len(source) > 1 else weights.values[:, 0]
    pairs = zip(texts, weights.values.argmax(-1), strict=True)
    fits = np.array([_is_word(text) and _is_word(source[j]) for text, j in pairs])
    return int(np.where(fits, 1 + second, second).argmax())


def _is_word(text: str) -> bool:
    return len(text) >= WORD and text.isalpha()


@g.figure("rnn_states_pass")
def draw_states_passing(plan: g.Outline) -> g.Scene:
    """Show that with attention all hidden states go to the decoder, not only the last (V97)."""
    trace, settings = plan.trace, plan.settings
    find_look(trace)
    name, texts = find_encoder_states(trace), plan.source
    limit, rows, captions = g.find_largest([trace[name]]), list[g.Node](), list[str]()
    for step, t in plan.elide(len(texts), STATES, rows, captions):
        chip = g.Chip(texts[t], "encoder", size=style.SMALL, width=70, fit=66).at(step, (-40, 0))
        panel = show_state(plan, name, t, 170, limit).named(f"state {t}").at(step, (-60, 0))
        rows.append(g.Across(chip, panel, gap=8))
        captions.append(plan.say("caption", t=t + 1, word=texts[t]))
    n, last = len(texts), len(captions) + 1
    decoder = g.Component(plan.say("decoder"), "decoder", width=110, height=70).named("decoder")
    return plan.compose(
        g.Across(g.Down(*rows, gap=4), decoder, gap=110),
        links=[
            g.Link(
                f"state {t}", "decoder", step=last, way="ribbon", ink="memory", line=1.0, head=False
            )
            for t in list_shown(n, STATES)
        ],
        callouts=[g.Callout(f"state {n - 1}", "only", "below", 220, last)],
        captions=[*captions, plan.say("caption_all", n=n)],
        n=n,
        d=settings.d_model,
        all=g.spell(n * settings.d_model, 0),
        fixed=g.spell(count_fixed(settings), 0),
        word=texts[-1],
    )


@g.figure("rnn_focus")
def draw_focus(plan: g.Outline, *, query: str | int | None = None) -> g.Scene:
    """Show what one step of the decoder looks at (V98)."""
    trace = plan.trace
    weights = plan.of(f"{find_look(trace)}.weights[0,q,m]")
    at = choose_step(trace, weights, query)
    source, target = plan.source, plan.predicted
    best = int(weights.values[at].argmax())
    shown, value = keep_largest(weights.values[at], STEPS, [best]), float(weights[at, best])
    rows = []
    for j in shown:
        bar = g.Bar(weights[at, j], 1.0, "weights", width=230, track=True)
        rows.append((g.Chip(source[j], "key", lit=j == best, size=style.SMALL, fit=96), bar))
    texts = [
        g.Chip(target[t], "decoder", lit=t == at, size=style.SMALL, fit=80)
        .named(f"out {t}")
        .faded(1.0 if t <= at else 0.35)
        for t in range(max(0, at - 4), min(len(target), at + 3))
    ]
    bars = g.Columns(rows, gap=(8, 4), align="rl").named("bars")
    return plan.compose(
        g.middle(g.Across(*texts, gap=4), bars, gap=44),
        title="mostly" if value >= SURE else "most",
        left=(len(shown), len(source)),
        links=[g.Link(f"out {at}", "bars", ink="weights", line=1.6)],
        callouts=[g.Callout(f"out {at}", "now", "above", 160)],
        word=target[at],
        key=source[best],
        share=g.percent(value),
        t=at + 1,
    )


@g.figure("rnn_five_lines")
def draw_five_lines(plan: g.Outline, *, query: str | int | None = None) -> g.Scene:
    """Show one step of attention in five lines, beside the worked example (V99)."""
    trace, look = plan.trace, find_look(plan.trace)
    weights = plan.of(f"{look}.weights[0,q,m]")
    at = choose_step(trace, weights, query)
    order = keep_largest(weights.values[at], KEYS)
    best = max(order, key=lambda j: weights.values[at, j])
    scores = plan.give("example", WORKED)
    shares = [plan.of(f"exp(example[{n}]) / (sum[i] exp(example[i]))") for n in range(3)]
    columns = _write_worked(plan, scores, shares), _write_step(plan, at, order)
    real = plan.say("real", word=plan.predicted[at])
    rows: list[list[g.Part]] = [[None, plan.small("worked", bold=True), g.small(real, bold=True)]]
    for n, (worked, own) in enumerate(zip(*columns, strict=True), 1):
        text = plan.small(f"line_{n}", style.INK, width=92).at(n)
        rows.append([text, _spread(worked, 200, n), _spread(own, 360, n)])
    kind, gaps = trace.settings.rnn.attention, np.sort(trace[f"{look}.scores"][0, at])
    value = float(weights[at, best])
    lead = float(np.ptp(gaps[-2:]))
    key = "one" if value > NEARLY_ALL and len(gaps) > 1 else "all"
    return plan.compose(
        g.Columns(rows, gap=(14, 16), align="rm"),
        title="title" if len(gaps) > 1 else "title_lone",
        left=(len(order), len(plan.source)),
        callouts=[g.Callout("context", key, "below", 300, 5)],
        captions=[plan.say(f"caption_{n}") for n in range(1, 6)],
        key=plan.source[best],
        share=g.percent(value),
        four=g.percent(float(shares[0])),
        kind=kind,
        paper=plan.say("bahdanau" if kind == "additive" else "luong"),
        gap=f"{lead:.0f}" if lead >= 10 else f"{lead:.1f}",
    )


def _write_worked(
    plan: g.Outline, scores: g.Quantity, shares: list[g.Quantity]
) -> list[list[g.Part]]:
    """Return the five lines of the worked example: states, scores, shares, products, their sum."""
    states = [
        g.middle(g.Chip(f"$h_{n}$", "key"), g.tiny(plan.say("state", n=n)), gap=3)
        for n in range(1, 4)
    ]
    return [
        [*states, g.middle(g.Chip("$s$", "query"), plan.tiny("own"), gap=3)],
        [*(g.Numeral(each, digits=0) for each in scores), plan.tiny("given", width=44)],
        [*(g.Pillar(each, 1.0, "weights", **PILLAR) for each in shares), None],
        [*(g.small(f"${float(each):.2f} h_{n}$") for n, each in enumerate(shares, 1)), None],
        [g.small(f"$c$: {plan.say('read')}")],
    ]


def _write_step(plan: g.Outline, at: int, order: Sequence[int]) -> list[list[g.Part]]:
    """Return the same lines of a step of the model, for the source tokens of `order`."""
    trace, look = plan.trace, find_look(plan.trace)
    states, weights = find_encoder_states(trace), plan.of(f"{look}.weights[0,q,m]")
    show = partial(plan.strip, cell=(34.0, 20.0), shown=2, size=style.TINY)
    tag = partial(g.Chip, size=style.SMALL, fit=80)
    keys, products = list[g.Part](), list[g.Part]()
    for j in order:
        state = show(f"{states}[{j},d]", "memory")
        keys.append(g.middle(tag(plan.source[j], "key"), state, gap=4))
        product = show(f"{look}.weights[0,{at},{j}] {states}[{j},d]", "heads")
        products.append(product.faded(0.35 + 0.65 * float(weights[at, j])))
    own = show(f"{find_decoder_states(trace)}[{at},d]", "query")
    return [
        [*keys, g.middle(tag(plan.say("decoder"), "query"), own, gap=4)],
        [*(plan.of(f"{look}.scores[0,{at},{j}]") for j in order), None],
        [*(g.Pillar(weights[at, j], 1.0, "weights", **PILLAR) for j in order), None],
        [*products, None],
        [plan.strip(f"{look}.output[{at},d]", "memory", shown=4).named("context")],
    ]


def _spread(parts: list[g.Part], width: float, step: int) -> g.Node:
    """Return parts that share a width evenly, and arrive from above at a step."""
    wide = (width - 4 * (len(parts) - 1)) / len(parts)
    return g.Across(*(g.Slot(part, wide).at(step, (0, -24)) for part in parts), gap=4)


@g.figure("rnn_dance")
def draw_dance(plan: g.Outline) -> g.Scene:
    """Show each step: token and state in, look, context beside the state, token out (V100)."""
    trace, look = plan.trace, find_look(plan.trace)
    states, top = find_decoder_states(trace), plan.settings.decoder_layers - 1
    inputs, outs = plan.target, plan.predicted
    source, shown = plan.source, elide(len(outs), STEPS)
    sure = plan.give_sure()
    weights = plan.of(f"{look}.weights[0,q,m]")
    limits = [g.find_largest([trace[name]]) for name in (states, f"{look}.output")]
    both = f"decoder.{top}.attentional.output"
    heads = ("in", "state", "look", "", "context", "both", "out")
    rows: list[list[g.Part]] = [[plan.tiny(key) if key else None for key in heads]]
    captions = list[str]()
    for step, t in enumerate(shown, 1):
        if t is None:
            rows.append([g.Label("⋮", ink=style.SOFT).at(step)])
            captions.append(plan.say("and_so_on"))
            continue
        cells: list[g.Node] = [
            g.Chip(inputs[t], "embedded", size=style.SMALL, fit=66),
            show_state(plan, states, t, 86, limits[0]),
            g.Panel(weights[t], width=86, edge=style.FAINT, height=13, scale="share", limit=1.0),
            g.tiny(source[int(weights.values[t].argmax())], "weights", bold=True, fit=42),
            show_state(plan, f"{look}.output", t, 86, limits[1]),
            show_vector(plan.of(f"{both}[{t},d]"), 86, 1.0),
            g.Chip(outs[t], "decoder", size=style.SMALL, fit=66, lit=True),
            g.Numeral(sure[t], style.TINY, style.SOFT, before="p = "),
        ]
        starts = [(430.0, -32.0) if step > 1 else (0.0, 20.0), (0.0, -32.0), *[(-98.0, 0.0)] * 5]
        for cell, start in zip(cells, [*starts, None], strict=True):
            cell.at(step, start)
        rows.append([*cells])
        key = source[int(weights.values[t].argmax())]
        captions.append(plan.say("caption", given=inputs[t], out=outs[t], key=key))
    at = choose_step(trace, weights, None)
    return plan.compose(
        g.Columns(rows, gap=(8, 12), align="rl"),
        note=plan.say("note", n=len(source)),
        left=(sum(t is not None for t in shown), len(outs)),
        captions=captions,
        n=len(outs),
        word=outs[at],
        key=source[int(weights.values[at].argmax())],
    )


@g.figure("rnn_grid")
def draw_look_grid(plan: g.Outline) -> g.Scene:
    """Show the weights of all steps: a row for each, a column for each source token (V101)."""
    trace = plan.trace
    weights = plan.of(f"{find_look(trace)}.weights[0,q,m]")
    source, target = plan.source, plan.predicted
    shown = list_shown(len(target), GRID)
    columns = keep_largest(weights.values[shown].max(0), GRID)
    best, peaks = weights.values.argmax(-1), weights.values.max(-1)
    wide, high = min(26.0, 480.0 / len(columns)), 17.0
    rows, peak, captions = list[g.Node](), list[g.Node](), []
    for step, t in enumerate(shown, 1):
        panel = g.Panel(
            weights,
            width=wide * len(columns),
            only=([t], columns),
            scale="share",
            limit=1.0,
            edge=style.HAIR,
            height=high,
        )
        rows.append(panel.at(step, (-wide, 0)))
        peak.append(g.Numeral(weights[t, int(best[t])], style.TINY, style.SOFT).at(step))
        key = "caption" if peaks[t] >= SURE else "caption_wide"
        captions.append(plan.say(key, word=target[t], key=source[int(best[t])]))
    odd, text = _find_oddity(plan, weights.values, shown)
    matrix = g.Matrix(
        g.RowStack(rows, (wide, high)),
        rows=[target[t] for t in shown],
        columns=[source[j] for j in columns],
        sums=peak,
        fit=80,
    ).named("grid")
    at = matrix.find_row(shown.index(odd))
    return plan.compose(
        matrix,
        title="alone" if peaks.min() >= NEARLY_ALL else "title",
        left=(len(shown) + len(columns), len(source) + len(target)),
        callouts=[g.Callout(at, text, "right", 90, len(shown))],
        captions=captions,
        n=int((peaks >= SURE).sum()),
        all=len(target),
    )


def _find_oddity(plan: g.Outline, weights: g.Array, shown: list[int]) -> tuple[int, str]:
    """Return the row that is worth a callout, and its text.

    It is the row that looks in several places, or else looks furthest ahead of the next one.
    """
    source, target = plan.source, plan.predicted
    wide = shown[int(weights[shown].max(-1).argmin())]
    if weights[wide].max() < SURE:
        return wide, plan.say("spread", word=target[wide])
    best = weights.argmax(-1)
    ahead = [int(best[t] - best[t + 1]) for t in shown[:-1] if t + 1 < len(best)]
    if ahead and max(ahead) > 0:
        at = shown[int(np.argmax(ahead))]
        return at, plan.say("ahead", word=target[at], key=source[int(best[at])])
    return shown[-1], plan.say("in_order")

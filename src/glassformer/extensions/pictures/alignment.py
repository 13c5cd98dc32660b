"""Figures of attention as matrices: all heads, alignments, weighted sums (V53-V55, V77)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from glassformer.text.function_words import WORD, WORDS

from .aligning import find_aligner, find_aligning_head
from .attention import KINDS
from .choice import find_step
from .parts import grammar as g
from .parts import style
from .parts.selection import count_layers, get_mask, keep_largest, list_shown, tell_tokens

ROWS, COLUMNS, KEYS = 30, 8, 14  # tokens of an alignment; of the weighted sums; keys with vectors
SURE, TURNED = 0.5, 0.7  # of a weight: most of a row's is on one token; that of a step back
ASTRAY = 0.25  # of the length of a sentence: so far from the diagonal a word is read from elsewhere
CELL, LETTERS = (30.0, 19.0), 4  # of a vector; of a word that is worth a look
MARKS, ENOUGH = ("<s>", "</s>"), 3  # no words; words that show an order
UNSPACED = "\u2e80"  # the first of the letters that are written without spaces between words


def roll_out_layers(layers: list[g.Array]) -> list[g.Array]:
    """Return the attention rollout up to each layer (Abnar and Zuidema 2020); L x L each.

    The weights of a layer are averaged over its heads; half of the result is the identity, for
    the residual connection. The matrices are multiplied from the lowest layer up.
    """
    half = 0.5 * np.eye(layers[0].shape[1])
    steps = (0.5 * weights.astype(np.float64).mean(0) + half for weights in layers)
    return list(accumulate(steps, lambda below, step: step @ below))


@g.figure("overview")
def draw_overview(plan: g.Outline, *, side: str | None = None, kind: str | None = None) -> g.Scene:
    """Show every head of the model, or those of one kind with mean, maximum and rollout (V53)."""
    if side or kind:
        side = side or "decoder" if kind == "cross_attention" else side or "encoder"
        return _show_kind(plan, side, kind or "self_attention")
    trace, heads = plan.trace, plan.settings.heads
    wide = min(24.0, (188.0 - 4 * heads) / heads)
    peaks = {each: _find_peaks(trace, *each) for each in KINDS}  # of each, layers and heads
    blocks: list[g.Node] = []
    for side, kind in KINDS:
        sure = peaks[side, kind] >= SURE
        numbers = (g.tiny(str(n), style.head_ink(n), bold=True) for n in range(heads))
        rows: list[list[g.Part]] = [[None, *numbers]] if wide > 12 else []
        rows += [
            [g.tiny(str(n)), *_show_thumbs(plan, f"{side}.{n}.{kind}", wide, lit, limit=1.0)]
            for n, lit in enumerate(sure.tolist())
        ]
        name = plan.small(f"{side}_{kind}", style.INK, bold=True)
        text = g.small(plan.say("counted", n=int(sure.sum()), all=sure.size), style.LIT)
        blocks.append(g.middle(name, g.Columns(rows, gap=(4, 4), align="rm"), text))
    sharp = {each: int((result >= SURE).sum()) for each, result in peaks.items()}
    masked = "decoder", "self_attention"
    parted = not sharp["encoder", "self_attention"] and sharp[masked] == peaks[masked].size
    return plan.compose(
        g.Across(*blocks, gap=22, align="top"),
        title="parted" if parted else "title",
        n=sharp[masked] if parted else sum(sharp.values()),
        across=sharp["decoder", "cross_attention"],
        all=sum(each.size for each in peaks.values()),
    )


def _find_peaks(trace: Any, side: str, kind: str) -> g.Array:
    """Return the mean over all rows of the largest weight, for each layer and head."""
    names = (f"{side}.{n}.{kind}.weights" for n in range(count_layers(trace, side)))
    return np.stack([trace[name].max(-1).mean(-1) for name in names])


def _show_thumbs(
    plan: g.Outline,
    name: str,
    wide: float,
    lit: Sequence[bool] = (),
    more: Sequence[g.Array] = (),
    limit: float | None = None,
) -> list[g.Node]:
    """Return a panel for each head, and for `more`; those of the lit heads are framed.

    The last colour is of the weight `limit`, or else of the 99th percentile of each panel.
    """
    side, _, kind = name.split(".")
    hidden = None
    if (side, kind) == ("decoder", "self_attention"):
        hidden = ~np.asarray(get_mask(plan.trace, name))
    return [
        g.Panel(
            values,
            limit=limit or float(np.quantile(values, 0.99)) or 1.0,
            edge=style.LIT if any(lit[head : head + 1]) else style.FAINT,
            width=wide,
            height=wide,
            scale="share",
            hidden=hidden,
        )
        for head, values in enumerate([*plan.trace[f"{name}.weights"], *more])
    ]


def _show_kind(plan: g.Outline, side: str, kind: str) -> g.Scene:
    """Show the heads of one kind of attention, and what is derived from them."""
    plan.attention(side, 0, kind)
    count, heads = count_layers(plan.trace, side), plan.settings.heads
    layers = [plan.trace[f"{side}.{n}.{kind}.weights"] for n in range(count)]
    derived = [[weights.mean(0), weights.max(0)] for weights in layers]
    names = ["mean", "maximum"]
    if kind == "self_attention":
        names.append("rollout")
        for row, rolled in zip(derived, roll_out_layers(layers), strict=True):
            row.append(rolled)
    wide = min(54.0, (610.0 - 5 * (heads + 4)) / (heads + len(names)))
    rows: list[list[g.Part]] = [[None]]
    rows[0] += [g.small(str(n), style.head_ink(n), bold=True) for n in range(heads)]
    rows[0] += [plan.tiny(name, fit=wide + 4) for name in names]
    for layer, (weights, more) in enumerate(zip(layers, derived, strict=True)):
        thumbs = _show_thumbs(plan, f"{side}.{layer}.{kind}", wide, more=more)
        peaks = plan.give(f"peak_{layer}", [each.max() for each in (*weights, *more)])
        size = min(style.TINY, wide / 4)
        cells = [
            g.middle(thumb, g.Numeral(peak, size, style.SOFT), gap=0)
            for thumb, peak in zip(thumbs, peaks, strict=True)
        ]
        rows.append([g.small(str(layer), style.INK, bold=True), *cells])
    return plan.compose(
        g.Columns(rows, gap=(5, 4), align="rm"),
        note="note_kind",
        n=int((_find_peaks(plan.trace, side, kind) >= SURE).sum()),
        all=count * heads,
    )


@g.figure("alignment")
def draw_alignment(
    plan: g.Outline, *, layer: int | None = None, head: int | str | None = None
) -> g.Scene:
    """Show cross-attention as an alignment: which source words each target word reads (V54).

    head="mean" is the mean over the heads of a layer. If that of the layer which aligns best is
    blurred, the head is drawn whose weights tell most.
    """
    if isinstance(head, str) and head != "mean":
        raise ValueError(f"head={head}: a number, or mean")
    trace, aligner = plan.trace, find_aligner(plan.trace)
    own, chosen = aligner.layer, aligner.head
    measured = layer is None and head is None and trace.document.aligner and not trace.edits
    told_how = "measured" if measured else ""
    if layer is not None or head is not None:
        own, result = find_aligning_head(trace, layer, None if head == "mean" else head)  # type: ignore[arg-type]
        chosen = None if head == "mean" else result
    attention = plan.attention("decoder", own, "cross_attention")
    weights = align_weights(plan, own, chosen)
    if told_how and chosen is None and is_blurred(weights.values):
        told_how, chosen = "sharper", find_aligning_head(trace)[1]
        weights = align_weights(plan, own, chosen)
    texts, values = plan.predicted if aligner.row == "predicts" else plan.target, weights.values
    rows = list_shown(len(texts), ROWS)
    columns = keep_largest(values[rows].max(0), ROWS)
    cell = min(28.0, 520 / max(len(rows), len(columns)))
    best, clear = values.argmax(1).tolist(), find_clear(values)
    names = [texts[n] for n in rows], [attention.keys[m] for m in columns]
    written = [t.text for t in (trace.predicted if aligner.row == "predicts" else trace.target)]
    step = find_step_back(written, [token.text for token in trace.source], values)
    key, text = find_order(texts, attention.keys, values, step)
    counted = set(list_words(texts, clear)) if key == "straight" else {*clear}
    framed = [n for n in clear if n in rows and best[n] in columns]
    lit, gray = (
        [(rows.index(n), columns.index(best[n])) for n in framed if (n in counted) == is_counted]
        for is_counted in (True, False)
    )
    panel = g.Panel(
        weights,
        only=(rows, columns),
        edge=style.FAINT,
        lit=lit,
        gray=gray,
        scale="share",
        limit=float(values.max()),
        width=cell * len(columns),
        height=cell * len(rows),
    )
    matrix = g.Matrix(panel, rows=names[0], columns=names[1], fit=84).named("matrix")
    palest = rows[int(values[rows].max(1).argmin())]
    far = find_astray(texts, attention.keys, values) if key == "clear" else None
    see = f"see_{key}" if far is None else "see_astray"
    told_of = palest if key == "blurred" else step[1] if step else min(counted, default=0)
    told_of = told_of if far is None else far
    at = matrix.find_row(rows.index(told_of)) if told_of in rows else "matrix"
    plan.facts["which"] = plan.say("mean") if chosen is None else plan.say("head", head=chosen)
    return plan.compose(
        matrix,
        title=key,
        note=plan.say("note", **plan.facts)
        + (plan.say("marks") if gray else "")
        + (plan.say(told_how) if told_how else ""),
        left=(len(rows) + len(columns), sum(values.shape)),
        callouts=[g.Callout(at, see, "right", 110)],
        far=texts[far or 0],
        there=attention.keys[best[far or 0]],
        **text,
    )


def align_weights(plan: g.Outline, layer: int, head: int | None) -> g.Quantity:
    """Return the weights of one head of a layer's cross-attention, or their mean over heads."""
    name = f"decoder.{layer}.cross_attention.weights"
    mean = f"(sum[h] {name}[h,q,m]) / {plan.settings.heads}"
    return plan.of(mean if head is None else f"{name}[{head},q,m]")


def find_clear(weights: g.Array) -> list[int]:
    """Return the rows that put more than half of their weight on one token."""
    return [n for n, peak in enumerate(weights.max(1).tolist()) if peak > SURE]


def is_blurred(weights: g.Array) -> bool:
    """Return whether fewer than half of the rows put most of their weight on one token."""
    return len(find_clear(weights)) < 0.5 * len(weights)


def find_astray(texts: list[str], keys: list[str], weights: g.Array) -> int | None:
    """Return the word that reads one clearly which is furthest from its own place, if it is far."""
    best, words = weights.argmax(1), list_words(texts, find_clear(weights))
    words = [
        n for n in words if any(map(str.isalnum, keys[best[n]])) and keys[best[n]] not in MARKS
    ]
    far = {n: abs(n / len(texts) - best[n] / len(keys)) for n in words}
    largest = max(words, key=far.__getitem__, default=None)
    return largest if largest is not None and far[largest] > ASTRAY else None


def list_content_words(spelt: Sequence[str]) -> set[int]:
    """Return the tokens that are whole words and no function words of any language.

    A word in Han or kana, which no spaces part, may be longer than its token.
    """
    common, parts, content_words = frozenset[str]().union(*WORDS.values()), set[int](), set[int]()
    for n, (text, after) in enumerate(pairwise(spelt)):
        if text[-1:].isalpha() and after[:1].isalpha() and after < UNSPACED:
            parts |= {n, n + 1}
    for n, text in enumerate(spelt):
        words = WORD.findall(text.lower())
        if n not in parts and any(len(w) > 2 or w >= UNSPACED for w in words if w not in common):
            content_words.add(n)
    return content_words


def find_step_back(
    written: Sequence[str], source: Sequence[str], weights: g.Array
) -> tuple[int, int] | None:
    """Return two content words, one soon after the other, of which the second reads further left.

    Each puts most of its weight on a content word that no other row reads clearly: a head that
    reads one word for two does not translate both.
    """
    best, peak, content = weights.argmax(1), weights.max(1), list_content_words(source)
    readers = Counter(best[find_clear(weights)].tolist())
    words = [
        n
        for n in sorted(list_content_words(written))
        if peak[n] >= TURNED and readers[best[n]] == 1 and best[n] in content
    ]
    back = [(a, b) for a, b in pairwise(words) if best[b] < best[a] and b <= a + 4]
    return max(back, key=lambda pair: float(peak[[*pair]].min()), default=None)


def list_words(texts: Sequence[str], rows: Sequence[int]) -> list[int]:
    """Return those of some rows that write words, and no punctuation or end mark."""
    return [n for n in rows if any(map(str.isalnum, texts[n])) and texts[n] not in MARKS]


def find_order(
    texts: list[str], keys: list[str], weights: g.Array, step: tuple[int, int] | None
) -> tuple[str, dict[str, Any]]:
    """Return a finding about the order of source and translation, and what it names."""
    best, clear = weights.argmax(1), find_clear(weights)
    if step:
        a, b = step
        return "turned", {"one": texts[a], "two": texts[b], "a": keys[best[a]], "b": keys[best[b]]}
    if is_blurred(weights):
        return "blurred", {"n": len(clear), "all": len(texts)}
    words = list_words(texts, clear)
    if len(words) >= ENOUGH and all(best[a] <= best[b] for a, b in pairwise(words)):
        return "straight", {"n": len(words)}
    return "clear", {"n": len(clear), "all": len(texts)}


@g.figure("mixed")
def draw_weighted_sum(
    plan: g.Outline, *, layer: int | None = None, head: int | None = None
) -> g.Scene:
    """Show weighted sums: a row for each source token, a column for each target token (V55)."""
    layer, head = find_aligning_head(plan.trace, layer, head)
    attention = plan.attention("decoder", layer, "cross_attention")
    name, texts = attention.name, plan.predicted
    weights = plan.of(f"{name}.weights[{head},q,m]")
    words = [any(map(str.isalpha, text)) and len(text) > 2 for text in texts]
    sure = _find_clearest(attention.keys, weights.values)
    columns = keep_largest(weights.values.max(1) * words, COLUMNS - 1, (sure,))
    rows = keep_largest(weights.values[columns].max(0), KEYS)
    show = partial(
        g.Panel, width=46, height=CELL[1], scale="share", limit=1.0, digits=2, size=style.TINY
    )
    chips = [g.Chip(texts[t], "decoder", size=style.TINY, fit=40) for t in columns]
    table: list[list[g.Part]] = [
        [None, g.Slot(g.Label("$v$", style.HEADING, "value"), 3 * CELL[0]), *chips]
    ]
    for i in rows:
        vector = f"{name}.value[{head},{i},k]"
        value = plan.strip(vector, "value", shown=3, cell=CELL, size=style.TINY)
        cells = [show(weights[t], only=([0], [i])) for t in columns]
        table.append([g.small(attention.keys[i], style.INK, fit=70), value, *cells])
    sums = []
    for t in columns:
        read = plan.of(f"{name}.context[{head},{t},k]")
        numbers = [g.Slot(g.Numeral(read[k], style.TINY), 46) for k in range(min(3, len(read)))]
        sums.append(g.Down(*numbers, gap=2).named(f"z {t}"))
    table.append([None, g.Label("$z = Σ α v$", style.HEADING, "heads"), *sums])
    return plan.compose(
        g.Columns(table, gap=(3, 3), align="rrm"),
        left=(len(rows) + len(columns), len(attention.keys) + len(texts)),
        callouts=[g.Callout(f"z {sure}", "vector", "below", 240)],
        word=texts[sure],
        key=attention.keys[int(weights.values[sure].argmax())],
        most=g.percent(float(weights.values[sure].max())),
        head=head,
    )


@g.figure("crossing")
def draw_cross_attention(
    plan: g.Outline,
    *,
    step: int | str | None = None,
    layer: int | None = None,
    head: int | None = None,
) -> g.Scene:
    """Show cross-attention of one head at one step: query, keys, weights, values, sum (V77)."""
    trace, (layer, head) = plan.trace, find_aligning_head(plan.trace, layer, head)
    attention = plan.attention("decoder", layer, "cross_attention")
    name = attention.name
    weights = plan.of(f"{name}.weights[{head},q,m]")
    t = find_step(trace, find_clearest_step(trace, layer, head) if step is None else step)
    shown, best = keep_largest(weights.values[t], KEYS), int(weights.values[t].argmax())
    token, limit = plan.target[t], float(weights.values[t].max())

    def show(window: str, at: int, size: float = style.SMALL) -> g.Strip:
        vector = f"{name}.{window}[{head},{at},k]"
        return plan.strip(vector, window, shown=3, cell=CELL, size=size)

    ask = g.Label(f"$q$  {plan.say('asks', word=token)}", ink="query", fit=150)
    heads = {"$k$": "key", "$q · k / √d_k$": "weights", plan.say("weight"): "weights"}
    heads["$v$"] = "value"
    rows: list[list[g.Part]] = [
        [ask, show("query", t).named("q").at(1, (0, -30))],
        [None, *(g.Label(text, ink=role, bold=True) for text, role in heads.items())],
    ]
    for i in shown:
        ink = style.LIT if i == best else "weights"
        bar = g.Bar(weights[t, i], limit, ink, width=90, height=11)
        faded = min(1.0, 0.4 + float(weights[t, i]) / limit)
        rows.append(
            [
                g.small(attention.keys[i], style.INK, bold=i == best, fit=90),
                show("key", i, style.TINY).at(2, (0, 20)),
                plan.number(f"{name}.scores[{head},{t},{i}]").at(3, (-60, 0)),
                bar.at(3),
                show("value", i, style.TINY).faded(faded).at(2, (0, 20)),
            ]
        )
    table = g.Columns(rows, gap=(16, 5), align="rlrl")
    letter = g.Label("$z = Σ α v =$", ink="heads")
    read, values = weights.values[t, :, None], trace[f"{name}.value"][head]
    vector = f"{name}.context[{head},{t},k]"
    added = plan.strip(vector, "heads", shown=3, cell=CELL, terms=read * values).named("z")
    z = g.Across(letter, added).at(4, (0, -40))
    return plan.compose(
        g.Down(table, g.Line(table.width), g.Slot(z, table.width, "end")),
        note=plan.say("note", **plan.facts, head=head),
        left=(len(shown), len(attention.keys)),
        callouts=[g.Callout("z", "sum", "below", 200, step=4)],
        captions=[plan.say(f"caption_{n}", word=token) for n in range(1, 5)],
        word=plan.predicted[t],
        key=attention.keys[best],
    )


def find_clearest_step(trace: Any, layer: int | None = None, head: int | None = None) -> int:
    """Return the step that reads one word most clearly, by default in the head that aligns best.

    The step that ends the translation counts only if there is no other.
    """
    layer, head = find_aligning_head(trace, layer, head)
    weights = trace[f"decoder.{layer}.cross_attention.weights"][head]
    ending = len(weights) > 1 and tell_tokens(trace.predicted)[-1] in MARKS
    return _find_clearest(tell_tokens(trace.source), weights[:-1] if ending else weights)


def _find_clearest(keys: list[str], weights: g.Array) -> int:
    """Return the step with the largest weight on a word of some letters, or else on any token."""
    words = [n for n, key in enumerate(keys) if key.isalpha() and len(key) >= LETTERS]
    return int(weights[:, words or slice(None)].max(1).argmax())

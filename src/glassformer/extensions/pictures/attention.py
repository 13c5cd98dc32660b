"""Figures of one token's attention, and of what the translation hangs on (V49-V52)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from .aligning import find_aligner
from .head import Head
from .measured import Riddle, find_riddle, find_share
from .parts import grammar as g
from .parts import style
from .parts.selection import Attention, find_query, keep_largest, pick, pick_heads, tell_tokens

MOST, WIDE = 14, 620.0  # tokens drawn as columns; of a legend
ROWS, LEAST = 18, 0.2  # tokens drawn in a bundle; weights that are lines
CROWDED = 5  # times as many lines as of one head: they hide each other
KINDS = (
    ("encoder", "self_attention"),
    ("decoder", "self_attention"),
    ("decoder", "cross_attention"),
)
RIDDLE = 14.0  # size of the type of its sentences
Query = int | str | None


def choose_token(tokens: Sequence[Any], query: Query) -> int:
    """Return the token to draw: the one asked for, `it`, or the rarest word.

    The rarest word is the token of letters that byte-pair encoding made last.
    """
    texts = tell_tokens(tokens)
    if query is not None or "it" in texts:
        return find_query(texts, query)
    words = [n for n, text in enumerate(texts) if re.match(r"[^\W\d_]", text)]
    return max(words or range(len(texts)), key=lambda n: tokens[n].id)


def choose_row(trace: Any, attention: Attention, query: Query) -> int:
    """Return the row to draw, as `choose_token` does; the decoder's rows by what they predict."""
    if query is not None:
        return find_query(attention.queries, query)
    return choose_token(trace.source if attention.side == "encoder" else trace.predicted, None)


def find_sharpest(attention: Attention, weights: g.Array, row: int) -> int:
    """Return the head with the largest weight on one token other than the query itself."""
    seen = weights[:, row].copy()
    if attention.kind == "self_attention":
        seen[:, row] = 0
    return int(seen.max(-1).argmax())


def find_two_heads(attention: Attention, weights: g.Array, row: int) -> tuple[int, int]:
    """Return the head with the largest weight of a row, and the one that differs most from it."""
    first = find_sharpest(attention, weights, row)
    return first, int(np.abs(weights[:, row] - weights[first, row]).sum(-1).argmax())


def _find_query(
    plan: g.Outline, side: str, kind: str, layer: int, query: Query
) -> tuple[Attention, int, g.Array]:
    """Return an attention, the row to draw, and the weights of all heads."""
    attention = plan.attention(side, layer, kind)
    weights: g.Array = plan.trace[f"{attention.name}.weights"]
    return attention, choose_row(plan.trace, attention, query), weights


def _show_columns(
    plan: g.Outline, attention: Attention, row: int, heads: Sequence[int]
) -> tuple[g.Node, list[g.Link], list[int]]:
    """Return a column for each key, the query below them, and lines between them."""
    inks = [style.head_ink(h) for h in heads]
    rows = [plan.of(f"{attention.name}.weights[{h},{row},m]") for h in heads]
    tops = np.stack([weights.values for weights in rows])
    own = (row,) if attention.kind == "self_attention" else ()
    shown = keep_largest(tops.max(0), MOST, (*own, *tops.argmax(1).tolist()))
    limit, thick = max(0.3, float(tops.max())), 20.0 if len(heads) == 1 else 15.0
    columns, links, before = list[g.Part](), list[g.Link](), -1
    for m in shown:
        columns += [g.Label("…", ink=style.SOFT)] if m > before + 1 else []
        before = m
        bars = [g.Pillar(w[m], limit, ink, width=thick) for w, ink in zip(rows, inks, strict=True)]
        chip = g.Chip(attention.keys[m], size=style.SMALL, lit=m in own, fit=54)
        bars_on_it = g.Across(*bars, gap=2, align="bottom")
        columns.append(g.middle(bars_on_it, chip.named(f"key {m}"), gap=5))
        for weight, ink in zip(tops[:, m].tolist(), inks, strict=True):
            if weight >= 0.03:
                links.append(
                    g.Link(
                        "query",
                        f"key {m}",
                        "ribbon",
                        ink=ink,
                        line=0.6 + 6 * weight,
                        alpha=min(1.0, 0.25 + weight),
                        head=False,
                        sides=("above", "below"),
                        layer=1,
                    )
                )
    columns += [g.Label("…", ink=style.SOFT)] if len(attention.keys) - 1 > before else []
    query = g.Chip(attention.queries[row], "query", lit=True, fit=200).named("query")
    body = g.middle(g.Across(*columns, gap=3, align="bottom"), g.Spacer(0, 44), query, gap=0)
    return body, links, shown


@g.figure("look")
def draw_look(
    plan: g.Outline,
    *,
    side: str = "encoder",
    kind: str = "self_attention",
    layer: int = -1,
    head: int | None = None,
    query: Query = None,
) -> g.Scene:
    """Show what a pronoun hangs on, or the attention of one token in one head (V49).

    The first is drawn of a riddle that the shipped model translated, if nothing is asked for.
    """
    asked = (side, kind, layer, head, query) != ("encoder", "self_attention", -1, None, None)
    if not asked and (riddle := find_riddle(plan.trace)):
        return _show_riddle(plan, riddle)
    attention, row, weights = _find_query(plan, side, kind, layer, query)
    head = find_sharpest(attention, weights, row) if head is None else head
    head = pick(head, len(weights), "head")
    body, links, shown = _show_columns(plan, attention, row, [head])
    place = int(weights[head, row].argmax())
    top = float(weights[head, row, place])
    key = "mostly" if top >= 0.85 else "most" if top >= 0.25 else "nowhere"
    if side == "encoder" and place == row and top >= 0.25:
        key = "itself"
    callouts = []
    note = plan.say("head", head=head) + plan.say("note", **plan.facts)
    plan.facts |= {"word": attention.queries[row], "key": attention.keys[place]}
    if measured := find_share(plan.trace, attention, row, head):
        plan.facts |= {"share": g.percent(measured[0]), "riddles": measured[1]}
        callouts.append(g.Callout("query", "measured", "right", 190))
    return plan.compose(
        body,
        title=key,
        note=note,
        left=(len(shown), len(attention.keys)),
        links=links,
        callouts=callouts,
    )


@g.figure("look")
def draw_look_of_two_heads(
    plan: g.Outline,
    *,
    side: str = "encoder",
    kind: str = "self_attention",
    layer: int = -1,
    heads: Sequence[int] | None = None,
    query: Query = None,
) -> g.Scene:
    """Show the attention of one token in two heads (V50).

    By default these are the head with the largest weight and the one that differs most from it.
    """
    attention, row, weights = _find_query(plan, side, kind, layer, query)
    both = find_two_heads(attention, weights, row)
    chosen = pick_heads(plan.trace, both if heads is None else heads)
    body, links, shown = _show_columns(plan, attention, row, chosen)
    legend, places = [], [int(weights[h, row].argmax()) for h in chosen]
    for h, place in zip(chosen, places, strict=True):
        most = plan.number(f"{attention.name}.weights[{h},{row},{place}]", ink=style.SOFT)
        word = g.small(attention.keys[place], style.INK, fit=60)
        total = plan.number(f"sum[m] {attention.name}.weights[{h},{row},m]", before="Σ = ")
        name = Head(plan, attention, h).name(style.SMALL, 220)
        legend.append(g.Across(name, word, most, g.Spacer(2), total, gap=5))
    return plan.compose(
        g.middle(g.wrap_across(legend, WIDE, gap=18, between=2), body, gap=style.NEAR),
        title="apart" if len({*places}) > 1 else "together",
        left=(len(shown), len(attention.keys)),
        links=links,
        word=attention.queries[row],
        one=attention.keys[places[0]],
        two=attention.keys[places[-1]],
    )


@g.figure("look")
def draw_look_of_all_heads(
    plan: g.Outline,
    *,
    side: str = "encoder",
    kind: str = "self_attention",
    layer: int = -1,
    query: Query = None,
    share_of_heads: bool = False,
) -> g.Scene:
    """Show the attention of one token in all heads, a row for each (V51).

    share_of_heads: divide each weight by its sum over all heads, as Tensor2Tensor draws it.
    Then a column says which head attends most to a token, not how strongly it attends.
    """
    attention, row, _ = _find_query(plan, side, kind, layer, query)
    name = f"{attention.name}.weights"
    over = f" / sum[i] {name}[i,{row},m]" if share_of_heads else ""
    weights = plan.of(f"{name}[h,{row},m]{over}")
    heads = range(len(weights))
    best = weights.values.argmax(1).tolist()
    shown = keep_largest(weights.values.max(0), MOST, (row, *best) if side == "encoder" else best)
    wide, high = min(44.0, 560 / len(shown)), 20.0 if len(heads) <= 16 else 12.0
    limit = 1.0 if share_of_heads else max(0.3, float(weights.values.max()))
    lit = [(h, shown.index(m)) for h, m in enumerate(best) if m in shown]
    digits = 2 if wide >= 26 and high >= 14 else None
    panel = g.Panel(
        weights,
        only=(heads, shown),
        digits=digits,
        lit=lit,
        scale="share",
        limit=limit,
        edge=style.FAINT,
        width=wide * len(shown),
        height=high * len(heads),
        size=style.TINY,
    )
    names = [plan.say("named", head=h) for h in heads]
    keys = [attention.keys[m] for m in shown]
    chip = g.Chip(attention.queries[row], "query", lit=True, fit=200)
    count, top = len({*best}), int(weights.values.max(1).argmax())
    sums = [] if share_of_heads else [plan.of(f"sum[m] {name}[{h},{row},m]") for h in heads]
    return plan.compose(
        g.Down(chip, g.Matrix(panel, rows=names, columns=keys, sums=sums, fit=170), gap=4),
        title="share" if share_of_heads else "places" if count > 1 else "one_place",
        note=plan.say("share_note" if share_of_heads else "framed")
        + plan.say("note_heads", **plan.facts),
        left=(len(shown), len(attention.keys)),
        word=attention.queries[row],
        n=len(heads),
        k=count,
        head=top,
        key=attention.keys[best[top]],
        most=g.percent(float(weights.values[top].max())),
    )


WAYS = (  # numbered from 1: the part of the sentence, what was cut, ink and thickness
    ("it", "it -> the nouns", style.SOFT, 1.4),
    ("noun", "the pronoun step -> the nouns, English and French", "#8a5d00", 2.4),
    ("adjective", "the pronoun step -> the adjective", style.LIT, 5.0),
)


def _show_riddle(plan: g.Outline, riddle: Riddle) -> g.Scene:
    """Show which glances the pronoun hangs on, by what is lost when each is cut."""
    trace, tokens = plan.trace, plan.source
    requested = {riddle.adjective: "adjective", "it": "it", **dict.fromkeys(riddle.nouns, "noun")}
    inks = {part: ink for part, _, ink, _ in WAYS}
    lines = {part: line for part, _, _, line in WAYS}
    layer, head, weight = find_glance(trace, riddle)
    words, links = list[g.Node](), list[g.Link]()
    table, losses = _show_cuts(plan, riddle)

    def join(
        start: str,
        end: str,
        part: str,
        way: g.Way,
        sides: tuple[g.Side, g.Side] | None = None,
        gap: float = 3.0,
        dashed: bool = False,
    ) -> None:
        """Add an arrow; the first of a way has its number, and how much is lost without it."""
        ink, text, badge = inks[part], losses.pop(part, None), None
        if text is not None:
            number = 1 + [each[0] for each in WAYS].index(part)
            lost = plan.say("points", n=number, lost=g.spell(100 * float(text), 0))
            badge = g.Label(lost, style.SMALL, ink, bold=True, of=text)
        look = partial(g.Link, sides=sides, gap=gap, dashed=dashed, badge=badge)
        links.append(look(start, end, way, ink, lines[part]))

    for n, text in enumerate(tokens[:-1]):  # without the end mark
        part = requested.get(text, "")
        word = g.Label(text, RIDDLE, inks.get(part, style.SOFT), bold=bool(part), fit=110)
        name = f"decoder.{layer}.cross_attention.weights[{head},{riddle.row},{n}]"
        bar = plan.panel(name, width=word.width, height=5.0, scale="share", limit=1.0)
        words.append(g.middle(word, bar, gap=1).named(f"word {n}"))
        if part in ("adjective", "noun"):
            join("pronoun", f"word {n}", part, "ribbon", sides=("above", "below"), gap=5)
        if part == "noun" and "it" in tokens:  # the arrow that everyone draws
            join(f"word {tokens.index('it')}", f"word {n}", "it", "arc", dashed=True)
    pronoun = g.Chip(trace.predicted[riddle.row].text.strip(), "decoder", size=RIDDLE, lit=True)
    french: list[g.Node] = []
    for n, text in enumerate(plan.predicted[: riddle.row]):
        is_noun = n in find_nouns(trace, riddle)
        label = g.Label(
            text, RIDDLE, inks["noun"] if is_noun else style.SOFT, bold=is_noun, fit=110
        )
        french.append(label.named(f"french {n}"))
        if is_noun:
            join("pronoun", f"french {n}", "noun", "arc", sides=("below", "below"))
    written = g.Across(*french, pronoun.named("pronoun"), gap=5)
    sentences = g.middle(g.Across(*words, gap=5), g.Spacer(0, 84), written, g.Spacer(0, 44), gap=0)
    return plan.compose(
        g.middle(sentences, table, gap=style.APART),
        title="cut",
        note="cut_note",
        links=links,
        word=riddle.adjective,
        riddles=riddle.riddles,
        layer=layer,
        head=head,
        weight=g.spell(weight),
    )


def _show_cuts(plan: g.Outline, riddle: Riddle) -> tuple[g.Node, dict[str, g.Quantity]]:
    """Return a bar for what is still right after each cut, and how much each cut loses."""
    nouns, losses = "”, “".join(riddle.nouns), dict[str, g.Quantity]()
    rows = [plan.heads("", "right")]
    for n, (part, name, ink, _) in enumerate((("nothing", "", style.FAINT, 0.0), *WAYS)):
        share = plan.give(part, [riddle.cut[name] if name else riddle.right])[0]
        losses |= {part: plan.of(f"{part}[0] - nothing[0]")} if n else {}
        text = plan.say(f"cut_{part}", word=riddle.adjective, nouns=nouns)
        label = g.Label(text, ink=ink if n else style.INK, bold=part == "adjective")
        rows.append(
            [
                label,
                g.Bar(
                    share,
                    1.0,
                    ink,
                    width=230,
                    show=g.percent,
                    track=True,
                    size=style.BODY,
                    guide=0.5,
                ),
            ]
        )
    rows.append([None, g.Slot(plan.small("guess", style.LIT), 230)])  # below the middle of a bar
    return g.Columns(rows, gap=(style.NEAR, 7), align="rl"), losses


def find_glance(trace: Any, riddle: Riddle) -> tuple[int, int, float]:
    """Return the layer and head that read the adjective most when the pronoun is written."""
    at = tell_tokens(trace.source).index(riddle.adjective)
    layers = range(trace.settings.decoder_layers)
    weights = [trace[f"decoder.{n}.cross_attention.weights"][:, riddle.row, at] for n in layers]
    layer, head = np.unravel_index(int(np.argmax(weights)), np.shape(weights))
    return int(layer), int(head), float(weights[layer][head])


def find_nouns(trace: Any, riddle: Riddle) -> set[int]:
    """Return the written tokens before the pronoun that the aligner joins to the nouns."""
    aligner, texts = find_aligner(trace), [text.lower() for text in tell_tokens(trace.source)]
    weights = trace[f"decoder.{aligner.layer}.cross_attention.weights"]
    own = weights.mean(0) if aligner.head is None else weights[aligner.head]
    first = int(aligner.row != "predicts")  # what is read was written a row before
    rows = own[first : riddle.row + first]
    return {int(rows[:, texts.index(noun)].argmax()) for noun in riddle.nouns if noun in texts}


@g.figure("choose")
def draw_selectors(
    plan: g.Outline, *, layer: int = -1, heads: Sequence[int] | None = None
) -> g.Scene:
    """Show the three attentions of a layer in one head, and in all that are on (V52).

    In the first row one head is on: without `heads`, the sharpest of each attention.
    """
    trace, longest, counts = plan.trace, 0, list[dict[bool, int]]()
    on = sorted(pick_heads(trace, range(plan.settings.heads) if heads is None else heads))
    columns: list[list[g.Part]] = []
    for side, kind in KINDS:
        attention = plan.attention(side, layer, kind)
        longest = max(longest, len(attention.queries), len(attention.keys))
        weights = trace[f"{attention.name}.weights"][:, :ROWS, :ROWS]
        sharpest = max(on, key=lambda h: float(weights[h].max(-1).mean()))
        reads = plan.source if side == "encoder" else plan.target
        queries = (plan.predicted if kind == "cross_attention" else reads)[:ROWS]
        column: list[g.Part] = [plan.label(f"{side}_{kind}", bold=True)]
        counts.append({})
        for lone in (True, False) if len(on) > 1 else (True,):
            chosen = [sharpest] if lone else on
            lines = [
                (int(i), int(j), style.head_ink(h), float(weights[h, i, j]))
                for h in chosen
                for i, j in np.argwhere(weights[h] >= LEAST)
            ]
            counts[-1][lone] = len(lines)
            text = g.small(plan.say("lines", n=len(lines)), style.LIT if lone else style.INK)
            bundle = g.Bundle(queries, attention.keys[:ROWS], lines, reach=70)
            squares = _Squares(plan.settings.heads, chosen)
            column.append(g.middle(g.Across(squares, text, gap=8), bundle, gap=3))
        columns.append(column)
    few, many = (sum(each.get(lone, 0) for each in counts) for lone in (True, False))
    names = [plan.say("one", n=few), plan.say("all", n=len(on), many=many)]
    side_names = [g.small(name, style.INK, bold=True, width=62) for name in names]
    rows = [[None, *(column[0] for column in columns)]]
    rows += [
        [name, *(column[n] for column in columns)]
        for n, name in enumerate(side_names[: len(columns[0]) - 1], 1)
    ]
    return plan.compose(
        g.Columns(rows, gap=(12, 14), align="lm"),
        title="title_one" if len(on) == 1 else "title" if many > CROWDED * few else "title_counts",
        left=(min(longest, ROWS), longest),
        n=len(on),
        few=few,
        many=many,
        layer=attention.layer,
    )


class _Squares(g.Node):
    """A square for each head, filled in its colour if it is on."""

    def __init__(self, count: int, on: Sequence[int]):
        self.side = min(8.0, 72 / count)
        self.count, self.on = count, on
        self.width, self.height = count * (self.side + 2) - 2, self.side

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        for h in range(self.count):
            ink, left = style.head_ink(h), x + h * (self.side + 2)
            sheet.box(
                left,
                y,
                self.side,
                self.side,
                fill=ink if h in self.on else style.PAPER,
                edge=ink,
                line=1.0,
            )

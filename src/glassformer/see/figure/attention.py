"""Figures of one token's attention, and of what the translation hangs on (V49-V52)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from . import style
from .links import Callout, Link
from .measured import Riddle, find_riddle, find_share
from .nodes import (
    Across,
    Bar,
    Bundle,
    Chip,
    Columns,
    Down,
    Label,
    Node,
    Numeral,
    Pillar,
    Spacer,
    percent,
)
from .plan import Outline, figure
from .quantity import Array
from .scene import Scene
from .selection import (
    Attention,
    find_attention,
    find_query,
    keep_largest,
    pick,
    pick_heads,
    show_tokens,
    tell_tokens_left_out,
)

MOST = 14  # tokens drawn as columns
ROWS = 18  # tokens drawn in a bundle
RIDDLE = 14.0  # size of the type of its sentences
Query = int | str | None


def choose_token(tokens: Sequence[Any], query: Query) -> int:
    """Return the token to draw: the one asked for, `it`, or the rarest word.

    The rarest word is the token of letters that byte-pair encoding made last.
    """
    texts = show_tokens(tokens)
    if query is not None or "it" in texts:
        return find_query(texts, query)
    words = [n for n, text in enumerate(texts) if re.match(r"[^\W\d_]", text)]
    return max(words or range(len(texts)), key=lambda n: tokens[n].id)


def choose_row(trace: Any, attention: Attention, query: Query) -> int:
    """Return the row to draw, as `choose_token` does; the decoder's rows by what they predict."""
    if query is not None:
        return find_query(attention.queries, query)
    return choose_token(trace.source if attention.side == "encoder" else trace.predicted, None)


def find_sharpest(attention: Attention, weights: Array, row: int) -> int:
    """Return the head with the largest weight on one token other than the query itself."""
    seen = weights[:, row].copy()
    if attention.kind == "self_attention":
        seen[:, row] = 0
    return int(seen.max(-1).argmax())


def _show_columns(
    plan: Outline, attention: Attention, row: int, heads: Sequence[int], share: bool
) -> tuple[Node, list[Link], list[int]]:
    """Return a column for each key, the query below them, and lines between them."""
    weights = plan.of(f"{attention.name}.weights[h,q,m]")
    of = f"{attention.name}.weights[{{h}},{row},{{m}}]"
    if share:
        of += f" / sum[h] {attention.name}.weights[h,{row},{{m}}]"
    tops = np.stack([weights.values[h, row] for h in heads])
    own = (row,) if attention.kind == "self_attention" else ()
    best = tops.argmax(1)  # of each head
    shown = keep_largest(tops.max(0), max(MOST, len(heads) + 1), (*own, *best.tolist()))
    few = len(heads) <= 2
    thick = 20.0 if len(heads) == 1 else 15.0 if few else 4.0
    limit = 1.0 if share else max(0.3, float(tops.max()))
    columns: list[Node] = []
    links: list[Link] = []
    before = -1
    for m in shown:
        if m > before + 1:
            columns.append(Label("…", style.BODY, style.SOFT))
        before = m
        bars = [
            Pillar(
                plan.of(of.format(h=h, m=m)),
                limit,
                style.HEADS[h % len(style.HEADS)],
                width=thick,
                digits=2 if few else None,
            )
            for h in heads
        ]
        chip = Chip(attention.keys[m], size=style.SMALL, lit=m in own, fit=54)
        columns.append(
            Down(
                Across(*bars, gap=2, align="bottom"), chip.named(f"key {m}"), gap=5, align="middle"
            )
        )
        for n, h in enumerate(heads):
            weight = float(tops[n, m])
            if weight >= 0.03 if few else m == best[n]:
                ink = style.HEADS[h % len(style.HEADS)]
                wide = 0.6 + (6 if few else 3) * weight
                links.append(
                    Link(
                        "query",
                        f"key {m}",
                        "ribbon",
                        ink=ink,
                        line=wide,
                        head=False,
                        alpha=min(1.0, 0.25 + weight),
                        sides=("above", "below"),
                        layer=1,
                    )
                )
    if len(attention.keys) - 1 > before:
        columns.append(Label("…", style.BODY, style.SOFT))
    query = Chip(attention.queries[row], "query", lit=True, fit=200).named("query")
    body = Down(
        Across(*columns, gap=3, align="bottom"), Spacer(0, 44), query, gap=0, align="middle"
    )
    return body, links, shown


def _write_note(plan: Outline, attention: Attention, shown: int) -> str:
    count = len(attention.keys)
    return plan.say("note", where=attention.title(plan.lang)) + tell_tokens_left_out(
        plan.lang, shown, count
    )


@figure("look")
def draw_look(
    plan: Outline,
    *,
    side: str = "encoder",
    kind: str = "self_attention",
    layer: int = -1,
    head: int | None = None,
    query: Query = None,
) -> Scene:
    """Show what a pronoun hangs on, or the attention of one token in one head (V49).

    The first is drawn of a riddle that the shipped model translated, if nothing is asked for.
    """
    asked = (side, kind, layer, head, query) != ("encoder", "self_attention", -1, None, None)
    if not asked and (riddle := find_riddle(plan.trace)):
        return _show_riddle(plan, riddle)
    attention = find_attention(plan.trace, side, layer, kind)
    row = choose_row(plan.trace, attention, query)
    weights = plan.trace[f"{attention.name}.weights"]
    head = pick(
        find_sharpest(attention, weights, row) if head is None else head, len(weights), "head"
    )
    body, links, shown = _show_columns(plan, attention, row, [head], False)
    place = int(weights[head, row].argmax())
    top, word = float(weights[head, row, place]), attention.queries[row]
    key = "mostly" if top >= 0.6 else "most" if top >= 0.25 else "nowhere"
    if side == "encoder" and place == row:
        key = "itself" if top >= 0.25 else key
    callouts = []
    if measured := find_share(plan.trace, attention, row, head):
        told = plan.say("measured", share=percent(measured[0]), riddles=measured[1])
        callouts.append(Callout("query", told, "right", 190))
    return plan.compose(
        body,
        title=plan.say(key, word=word, key=attention.keys[place]),
        note=plan.say("head", head=head) + _write_note(plan, attention, len(shown)),
        links=links,
        callouts=callouts,
    )


@figure("look")
def draw_look_of_two_heads(
    plan: Outline,
    *,
    side: str = "encoder",
    kind: str = "self_attention",
    layer: int = -1,
    heads: Sequence[int] | None = None,
    query: Query = None,
) -> Scene:
    """Show the attention of one token in two heads (V50).

    By default these are the head with the largest weight and the one that differs most from it.
    """
    attention = find_attention(plan.trace, side, layer, kind)
    row = choose_row(plan.trace, attention, query)
    weights = plan.trace[f"{attention.name}.weights"]
    first = find_sharpest(attention, weights, row)
    apart = np.abs(weights[:, row] - weights[first, row]).sum(-1)
    chosen = pick_heads(plan.trace, (first, int(apart.argmax())) if heads is None else heads)
    body, links, shown = _show_columns(plan, attention, row, chosen, False)
    tops = [attention.keys[int(weights[h, row].argmax())] for h in chosen]
    places = {int(weights[h, row].argmax()) for h in chosen}
    key = "apart" if len(places) > 1 else "together"
    return plan.compose(
        Down(_show_legend(plan, attention, row, chosen), body, gap=style.NEAR, align="middle"),
        title=plan.say(key, word=attention.queries[row], one=tops[0], two=tops[-1]),
        note=_write_note(plan, attention, len(shown)),
        links=links,
    )


@figure("look")
def draw_look_of_all_heads(
    plan: Outline,
    *,
    side: str = "encoder",
    kind: str = "self_attention",
    layer: int = -1,
    query: Query = None,
    share_of_heads: bool = False,
) -> Scene:
    """Show the attention of one token in all heads (V51).

    share_of_heads: divide each weight by its sum over all heads, as Tensor2Tensor draws it.
    Then a column says which head attends most to a token, not how strongly it attends.
    """
    attention = find_attention(plan.trace, side, layer, kind)
    row = choose_row(plan.trace, attention, query)
    weights = plan.trace[f"{attention.name}.weights"]
    heads = list(range(len(weights)))
    body, links, shown = _show_columns(plan, attention, row, heads, share_of_heads)
    count = len({int(weights[h, row].argmax()) for h in heads})
    key = "share" if share_of_heads else "places" if count > 1 else "one_place"
    note = plan.say("share_note") if share_of_heads else ""
    return plan.compose(
        Down(_show_legend(plan, attention, row, heads), body, gap=style.NEAR, align="middle"),
        title=plan.say(key, word=attention.queries[row], n=len(heads), k=count),
        note=note + _write_note(plan, attention, len(shown)),
        links=[] if share_of_heads else links,
    )


def _show_legend(plan: Outline, attention: Attention, row: int, heads: Sequence[int]) -> Node:
    """Return for each head its colour, the token that it attends to most, and how much."""
    weights, entries = plan.of(f"{attention.name}.weights[h,{row},m]"), []
    for h in heads:
        place = int(weights.values[h].argmax())
        ink = style.HEADS[h % len(style.HEADS)]
        entry = Across(
            Label(plan.say("number", head=h), style.SMALL, ink, bold=True),
            Label(attention.keys[place], style.SMALL, fit=60),
            Numeral(weights[h, place], ink=style.SOFT),
            gap=5,
        )
        entries.append(entry)
    rows = [entries[n : n + 4] for n in range(0, len(entries), 4)]
    return Columns(rows, gap=(18, 2))


def _show_riddle(plan: Outline, riddle: Riddle) -> Scene:
    """Show which glances the pronoun hangs on, by what is lost when each is cut."""
    trace, tokens = plan.trace, show_tokens(plan.trace.source)
    wanted = {riddle.adjective: "adjective", "it": "it", **dict.fromkeys(riddle.nouns, "noun")}
    ways = (
        ("adjective", "the pronoun step -> the adjective", style.LIT, 5.0),
        ("noun", "the pronoun step -> the nouns, English and French", "#8a5d00", 2.4),
        ("it", "it -> the nouns", style.SOFT, 1.4),
    )
    words: list[Node] = []
    links = []
    for n, text in enumerate(tokens[:-1]):  # without the end mark
        part = wanted.get(text, "")
        way = next((way for way in ways if way[0] == part), None)
        ink = way[2] if way else style.SOFT
        word = Label(text, RIDDLE, ink, bold=bool(way), fit=110)
        words.append(word.named(f"word {n}"))
        if way and part != "it":
            up = Link("pronoun", f"word {n}", "ribbon", ink=ink, line=way[3], gap=5)
            links.append(replace(up, sides=("above", "below")))
        if part == "noun" and "it" in tokens:  # the arrow that everyone draws
            it = f"word {tokens.index('it')}"
            links.append(Link(it, f"word {n}", "arc", ink=style.SOFT, line=1.2, dashed=True))
    before = "".join(token.text for token in trace.predicted[: riddle.row]).strip()
    pronoun = Chip(trace.predicted[riddle.row].text.strip(), "decoder", size=RIDDLE, lit=True)
    french = Across(Label(before, RIDDLE, style.SOFT, fit=400), pronoun.named("pronoun"), gap=6)
    rows: list[list[Node]] = []
    for part, name, ink, _ in (("nothing", "", style.FAINT, 1.0), *ways[::-1]):
        cut = riddle.cut[name] if name else riddle.right
        share = plan.give(part, [cut])[0]
        told = plan.say(f"cut_{part}", word=riddle.adjective, nouns="”, “".join(riddle.nouns))
        bold = part == "adjective"
        bar = Bar(share, 1.0, ink, width=230, show=percent, track=True, size=style.BODY)
        rows.append(
            [Label(told, style.BODY, ink if name else style.INK, bold=bold), bar.named(part)]
        )
    head: list[Node] = [Spacer(), Label(plan.say("right"), style.SMALL, style.SOFT)]
    table = Columns([head, *rows], gap=(style.NEAR, 7), align=["end", "start"])
    body = Down(
        Down(Across(*words, gap=5), Spacer(0, 74), french, gap=0, align="middle"),
        table,
        gap=style.APART + 6,
        align="middle",
    )
    return plan.compose(
        body,
        title=plan.say("cut", word=riddle.adjective),
        note=plan.say("cut_note", riddles=riddle.riddles),
        links=links,
        callouts=[Callout("adjective", plan.say("guess"), "right", 90)],
    )


@figure("choose")
def draw_selectors(plan: Outline, *, layer: int = -1, heads: Sequence[int] | None = None) -> Scene:
    """Show the three attentions of a layer in one head, in two, and in all that are on (V52)."""
    trace = plan.trace
    on = sorted(pick_heads(trace, range(trace.settings.heads) if heads is None else heads))
    rows: list[list[Node]] = [[Spacer()]]
    for count in (1, 2, len(on)):
        text = (
            plan.say("on", heads=", ".join(map(str, on[:count])))
            if count < 3
            else plan.say("all", n=count)
        )
        rows[0].append(Label(text, style.SMALL, style.SOFT))
    kinds = (
        ("encoder", "self_attention"),
        ("decoder", "cross_attention"),
        ("decoder", "self_attention"),
    )
    longest = 0
    for side, kind in kinds:
        attention = find_attention(trace, side, layer, kind)
        longest = max(longest, len(attention.queries), len(attention.keys))
        weights = trace[f"{attention.name}.weights"][:, :ROWS, :ROWS]
        queries = show_tokens(trace.source if side == "encoder" else trace.target)[:ROWS]
        name = Label(plan.say(f"{side}_{kind}"), style.SMALL, bold=True, width=64)
        row: list[Node] = [name]
        for count in (1, 2, len(on)):
            lines = [
                (int(i), int(j), style.HEADS[h % len(style.HEADS)], float(weights[h, i, j]))
                for h in on[:count]
                for i, j in np.argwhere(weights[h] >= 0.1)
            ]
            row.append(Bundle(queries, attention.keys[:ROWS], lines))
        rows.append(row)
    return plan.compose(
        Columns(rows, gap=(18, 18), align=["start", "middle", "middle", "middle"]),
        title=plan.say("title" if len(on) > 1 else "title_one", n=len(on)),
        note=plan.say("note", layer=attention.layer)
        + tell_tokens_left_out(plan.lang, min(longest, ROWS), longest),
    )

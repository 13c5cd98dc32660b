"""Figures of text that becomes tokens, ids and vectors (V10-V15, V17)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from . import style
from .attention import Query, choose_token
from .links import Callout
from .measures import cosine, length
from .nodes import (
    Across,
    Chip,
    Columns,
    Down,
    Held,
    Label,
    Node,
    Panel,
    Spacer,
    Strip,
    find_largest,
    spell,
    wrap_across,
)
from .plan import Outline, figure
from .scene import Scene
from .selection import show_tokens, tell_tokens_left_out
from .typesetting import quote

TOY = ("a", "am", "I", "thanks", "student", "<eos>")
ANIMALS = ("cat", "kitty", "dog", "house", "car", "the", "is", "on", "red", "run")
TABLE = "source_embedding.table.weight"
EMBEDDED = "source_embedding.embedded"
WIDE, MOST = 620.0, 60  # of lines of tokens; tokens that are shown
ROWS, SYMBOLS = 12, 24  # merges and symbols of a word that are shown


@figure("tokens")
def draw_tokens(plan: Outline, *, query: Query = None) -> Scene:
    """Show the text, its tokens with ids and spans, and the merges of one word (V10)."""
    tokens, words = plan.trace.source, plan.trace.document.words
    columns: list[Node] = []
    for token in tokens[:MOST]:
        mark = token.start == token.end
        chip = Chip(token.text.replace(" ", "▁"), "" if mark else "embedded", lit=not mark)
        id = Label(str(token.id), style.SMALL, style.role("embedded").ink, bold=True)
        span = plan.say("mark") if mark else f"{token.start}–{token.end}"
        columns.append(Down(chip, id, Label(span, style.TINY, style.SOFT), gap=2, align="middle"))
    body: list[Node] = [
        Label(quote(plan.trace.text), style.HEADING, width=WIDE),
        wrap_across(columns, WIDE, gap=5, between=12),
    ]
    callouts = []
    split = [n for n, count in enumerate(_count_tokens(words)) if count > 1]
    if any(word.merges for word in words):
        number = choose_word(plan.trace, query)
        body.append(_show_merges(plan, words[number]))
        callouts.append(Callout("ladder", plan.say("first"), "right", 130))
    key, size = "split" if split else "whole", plan.trace.document.source_vocabulary
    word = "".join(words[split[0]].symbols).strip() if split else ""
    count = _count_tokens(words)[split[0]] if split else 1
    return plan.compose(
        Down(*body, gap=style.APART),
        title=plan.say(key, word=word, n=count),
        note=plan.say("note", size=size) + tell_tokens_left_out(plan.lang, MOST, len(tokens)),
        callouts=callouts,
    )


def _count_tokens(words: Sequence[Any]) -> list[int]:
    return [len(word.symbols) - len(word.merges) for word in words]


def choose_word(trace: Any, query: Query = None) -> int:
    """Return the index of the word to which a token belongs.

    Without a token it is the first word of several tokens, else the one with most merges.
    """
    words = trace.document.words
    counts = _count_tokens(words)
    if query is None:
        merges = [len(word.merges) for word in words]
        return max(range(len(words)), key=lambda n: ((counts[n] > 1) * (merges[n] > 0), merges[n]))
    ends = list(accumulate(counts))
    place = choose_token(trace.source, query)
    return next((n for n, end in enumerate(ends) if place < end), len(words) - 1)


def _show_merges(plan: Outline, word: Any) -> Node:
    """Return the symbols of a word, and below them a row for each merge with its result lit."""
    symbols = [text.replace(" ", "▁") for text in word.symbols[:SYMBOLS]]
    widths = [max(20.0, Label(text, style.BODY, mono=True).width + 9) for text in symbols]
    gaps = [*range(len(symbols) + 1)]
    rows: list[list[Node]] = []
    shown = [merge for merge in word.merges if merge.index < len(symbols)][:ROWS]
    for merge in (None, *shown):
        if merge:
            gaps.remove(merge.index)
        told = plan.say("merge", n=merge.rank) if merge else plan.say("letters")
        cells: list[Node] = []
        for left, right in pairwise(gaps):
            lit = merge is not None and left < merge.index < right
            wide = sum(widths[left:right]) + 2 * (right - left - 1)
            text = "".join(symbols[left:right])
            cells.append(Chip(text, "embedded" if lit else "", width=wide, lit=lit, fit=wide))
        rows.append([Label(told, style.SMALL, style.SOFT), Across(*cells, gap=2)])
    if rows[1:]:
        rows[1][1].named("ladder")
    else:
        rows[0][1].named("ladder")
    left_out = len(word.merges) - len(shown)
    more = [Label(plan.say("more", n=left_out), style.SMALL, style.SOFT)] if left_out else []
    return Down(Columns(rows, gap=(12, 3), align=["end", "start"]), *more, gap=4)


@figure("vocabulary")
def draw_vocabulary(plan: Outline, *, query: Query = None) -> Scene:
    """Show a slice of the vocabulary around a token, and a toy vocabulary of six words (V11)."""
    trace = plan.trace
    token = trace.source[choose_token(trace.source, query)]
    known = {each.id: each.text for each in trace.source}
    if trace.settings.tie == "three-way" and trace.vocabulary is not None:
        known |= dict(enumerate(trace.vocabulary))
    near = sorted(sorted(known, key=lambda id: abs(id - token.id))[:9])
    own = _list_entries([(id, known[id].replace(" ", "▁")) for id in near], token.id)
    toy = _list_entries(list(enumerate(TOY)), 1)
    tables = [
        Down(Label(plan.say(key), style.BODY, bold=True), table, gap=8)
        for key, table in (("own", own), ("toy", toy))
    ]
    size = trace.document.source_vocabulary
    return plan.compose(
        Across(*tables, gap=90, align="top"),
        title=plan.say("title", word=token.text.strip() or "▁", n=token.id, size=size),
        note=plan.say("note"),
    )


def _list_entries(entries: Sequence[tuple[int, str]], lit: int) -> Node:
    """Return numbers and tokens below each other, one of them lit."""
    rows: list[list[Node]] = []
    for id, text in entries:
        own = id == lit
        number = Label(str(id), style.BODY, style.role("embedded").ink if own else style.SOFT)
        rows.append([number, Chip(text, "embedded" if own else "", width=110, lit=own)])
    return Columns(rows, gap=(10, 2), align=["end", "start"])


@figure("one_hot")
def draw_one_hot(plan: Outline, *, toy: bool = False) -> Scene:
    """Show ten words as ten one-hot vectors (V12); or that of "am" in a toy vocabulary (V13)."""
    words = TOY if toy else ANIMALS
    values = plan.give("one_hot", np.eye(len(words)))
    wide, shown = (70.0, [1]) if toy else (44.0, [*range(len(words))])
    heads = [
        Held(Label(word, style.BODY, bold=toy and n == 1), wide).named(f"column {n}")
        for n, word in enumerate(words)
    ]
    rows: list[list[Node]] = [[Spacer(), Across(*heads, gap=0)]]
    for n in shown:
        strip = Strip(
            values[n], "embedded", shown=len(words), cell=(wide, 24.0 + 8 * toy), digits=0, lit=[n]
        )
        rows.append([Label(words[n], style.BODY, bold=True), strip.named(f"row {n}")])
    apart = plan.of("sqrt(sum[i] ((one_hot[0,i] - one_hot[1,i]) * (one_hot[0,i] - one_hot[1,i])))")
    told = plan.say("apart", far=f"{float(apart):.3f}")
    pairs = len(words) * (len(words) - 1) // 2
    return plan.compose(
        Columns(rows, gap=(10, 2), align=["end", "start"]),
        title=plan.say("title_toy" if toy else "title", n=pairs),
        note=plan.say("note_toy" if toy else "note", n=len(words)),
        callouts=[
            Callout("column 1", plan.say("here"), "above", 200)
            if toy
            else Callout("row 1", told, "right", 120, of=apart)
        ],
        origin=plan.say("formulas"),
    )


@figure("lookup")
def draw_lookup(plan: Outline, *, query: Query = None, around: int = 7) -> Scene:
    """Show a one-hot row times the embedding matrix, which is one row of it (V14)."""
    trace = plan.trace
    place = choose_token(trace.source, query)
    token, (size, d) = trace.source[place], trace[TABLE].shape
    first = max(0, min(token.id - around // 2, size - around))
    ids, ink = [*range(first, first + around)], style.role("embedded").ink
    one_hot = plan.give("one_hot", [float(id == token.id) for id in ids])
    wide, high = 26.0, 22.0
    heads = [Held(Label(str(id), style.TINY, style.SOFT), wide) for id in ids]
    cells = Strip(
        one_hot, "embedded", shown=around, cell=(wide, high), digits=0, lit=[token.id - first]
    )
    left = Down(
        Across(*heads, gap=0),
        cells.named("one-hot"),
        Label(f"1 × {size}", style.TINY, style.SOFT),
        gap=3,
        align="middle",
        stands_on=1,
    )
    rows: list[list[Node]] = []
    limit = find_largest([trace[TABLE][ids]])
    for id in ids:
        own = id == token.id
        panel = Panel(
            plan.of(f"{TABLE}[{id},d]"),
            width=150,
            height=17,
            limit=limit,
            edge=style.LIT if own else "",
        )
        rows.append(
            [
                Label(str(id), style.TINY, style.LIT if own else style.SOFT, bold=own),
                panel.named(f"E {id}"),
            ]
        )
    table = Columns(rows, gap=(5, 2), align=["end", "start"])
    matrix = Down(
        Label("$E$", style.HEADING, ink),
        table,
        Label(f"{size} × {d}", style.TINY, style.SOFT),
        gap=3,
        align="middle",
        stands_on=1,
    )
    row = Strip(plan.of(f"{TABLE}[{token.id},d]"), "embedded", shown=3, digits=3, cell=(44.0, high))
    word = show_tokens([token])[0]
    right = Down(Chip(word, lit=True), row.named("row"), gap=6, align="start", stands_on=1)
    times, equals = (Label(sign, style.TITLE, style.SOFT) for sign in "×=")
    return plan.compose(
        Across(
            Label("…", style.BODY, style.SOFT),
            left,
            Label("…", style.BODY, style.SOFT),
            times,
            matrix,
            equals,
            right,
            gap=8,
        ),
        title=plan.say("title", word=word, n=token.id, d=d, all=spell(size * d, 0)),
        note=plan.say("note", first=first, last=ids[-1]),
        callouts=[Callout("row", plan.say("same"), "below", 150)],
    )


@figure("vectors")
def draw_vectors(plan: Outline, *, whole: bool = False) -> Scene:
    """Show each token as a vector of numbers (V15); if `whole`, the sentence as a matrix (V17)."""
    trace = plan.trace
    texts, d = show_tokens(trace.source), trace.settings.d_model
    count = min(len(texts), MOST if whole else 6)
    limit = find_largest([trace[EMBEDDED]])
    ids = [token.id for token in trace.source]
    twin = next((n for n in range(count) if ids[n] in ids[:n]), None)
    high = max(8.0, min(18.0, 420 / count)) if whole else 22.0
    rows: list[list[Node]] = []
    for i in range(count):
        vector = plan.of(f"{EMBEDDED}[{i},d]")
        twins = twin is not None and ids[i] == ids[twin]
        panel = Panel(vector, width=420 if whole else 240, height=high, limit=limit)
        name = Label(
            texts[i],
            min(style.BODY, high * 0.8),
            style.LIT if twins else style.INK,
            bold=twins,
            fit=100,
        )
        row: list[Node] = [name]
        if not whole:
            letter = Label(f"$e_{{{i}}}$", style.BODY, style.role("embedded").ink)
            row += [letter, Strip(vector, "embedded")]
        rows.append([*row, panel.named(f"row {i}")])
    if not whole:
        heads = [Label(plan.say(key, d=d), style.SMALL, style.SOFT) for key in ("first", "all")]
        rows.insert(0, [Spacer(), Spacer(), *heads])
    title = _find_alike(plan, texts[:count], ids)
    callouts = []
    if whole:
        title = plan.say("title_whole", d=d, n=len(texts), all=len(texts) * d)
        sizes = [plan.of(length(f"{EMBEDDED}[{n},d]")) for n in range(count)]
        most = max(range(count), key=lambda n: float(sizes[n]))
        told = plan.say("longest", word=texts[most], long=f"{float(sizes[most]):.1f}")
        callouts = [Callout(f"row {most}", told, "right", 100, of=sizes[most])]
    if twin is not None:
        told = plan.say("twins", word=texts[twin])
        callouts = [Callout(f"row {twin}", told, "right", 110)]
    return plan.compose(
        Columns(
            rows, gap=(style.CLOSE, 0.0 if whole else 9), align=["end", "start", "start", "start"]
        ),
        title=title,
        note=plan.say("note") + tell_tokens_left_out(plan.lang, count, len(texts)),
        callouts=callouts,
    )


def _find_alike(plan: Outline, texts: Sequence[str], ids: Sequence[int]) -> str:
    """Return a title: which two of these tokens have the vectors that are most alike."""
    pairs = [(a, b) for b in range(len(texts)) for a in range(b) if ids[a] != ids[b]]
    d = plan.trace.settings.d_model
    if not pairs:
        return plan.say("title", d=d)
    alike = [float(plan.of(cosine(*(f"{EMBEDDED}[{n},d]" for n in pair)))) for pair in pairs]
    best = int(np.argmax(alike))
    one, two = (texts[n] for n in pairs[best])
    return plan.say("alike", d=d, one=one, two=two, cosine=spell(alike[best]))

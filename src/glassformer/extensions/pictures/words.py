"""Figures of text that becomes tokens, ids and vectors (V10-V15, V17)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from glassformer.config import EOS
from glassformer.see.tokens import name_invisible
from glassformer.text.layout import is_tag

from .attention import Query, choose_token
from .measures import cosine, length
from .parts import grammar as g
from .parts import style
from .parts.selection import tell_token
from .parts.typesetting import TypeStyle, fit_text, quote

TOY = ("a", "am", "I", "thanks", "student", "<eos>")
ANIMALS = ("cat", "kitty", "dog", "house", "car", "the", "is", "on", "red", "run")
TABLE = "source_embedding.table.weight"
EMBEDDED = "source_embedding.embedded"
WIDE, MOST = 620.0, 60  # of lines of tokens; tokens that are shown
ROWS, SYMBOLS = 12, 24  # merges and symbols of a word that are shown


@g.figure("tokens")
def draw_tokens(plan: g.Outline, *, query: Query = None) -> g.Scene:
    """Show the text, its tokens with ids and spans, and the merges of one word (V10)."""
    tokens, words = plan.trace.source, plan.trace.document.words
    columns, number, joined = list[g.Node](), 0, 0
    for token in tokens[:MOST]:
        mark = token.id == EOS or (token.start == token.end and is_tag(token.text))
        chip = g.Chip(
            name_invisible(token.text).replace(" ", "▁"), "" if mark else "embedded", lit=not mark
        )
        id = g.small(str(token.id), "embedded", bold=True)
        span = plan.say("mark") if token.id == EOS else f"{token.start}–{token.end}"
        columns.append(g.middle(chip, id, g.tiny(span), gap=2))
    body: list[g.Node] = [
        g.Label(quote(plan.trace.text), style.HEADING, width=WIDE),
        g.wrap_across(columns, WIDE, gap=5, between=12),
    ]
    callouts = []
    split = [n for n, count in enumerate(_count_tokens(words)) if count > 1]
    if any(word.merges for word in words):
        number = choose_word(plan.trace, query)
        joined, shown = len(words[number].merges), [_show_merges(plan, words[number])]
        others = [each for each in words if each.symbols != words[number].symbols and each.merges]
        if others and query is None:  # beside it, the one that comes next
            shown.append(_show_merges(plan, max(others, key=lambda each: len(each.merges))))
        ladders = g.wrap_across(shown, WIDE, gap=style.FAR, between=style.NEAR)
        body.append(ladders.named("ladders"))
        callouts.append(g.Callout("ladders", "first", "below", 300))
    key = "split" if split else "joined" if joined else "whole"
    word = _spell_word(plan.trace, split[0] if split else number)
    count = _count_tokens(words)[split[0]] if split else joined
    return plan.compose(
        g.Down(*body, gap=style.APART),
        title=key,
        left=(MOST, len(tokens)),
        callouts=callouts,
        word=fit_text(word, TypeStyle(style.TITLE, bold=True), WIDE / 2),
        n=count,
        size=plan.trace.document.source_vocabulary,
    )


def _spell_word(trace: Any, number: int) -> str:
    """Return the characters of a word, or "" if the words are not recorded."""
    ends = [*accumulate(_count_tokens(trace.document.words), initial=0)]
    own = [token for token in trace.source if not is_tag(token.text)][slice(*ends[number:][:2])]
    return trace.text[own[0].start : own[-1].end].strip() if len(ends) > 1 else ""


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
    place -= sum(is_tag(token.text) for token in trace.source[:place])
    return next((n for n, end in enumerate(ends) if place < end), len(words) - 1)


def _show_merges(plan: g.Outline, word: Any) -> g.Node:
    """Return the symbols of a word, and below them a row for each merge with its result lit."""
    symbols = [name_invisible(text).replace(" ", "▁") for text in word.symbols[:SYMBOLS]]
    widths = [max(20.0, g.Label(text, mono=True).width + 9) for text in symbols]
    gaps = [*range(len(symbols) + 1)]
    rows: list[list[g.Node]] = []
    shown = [merge for merge in word.merges if merge.index < len(symbols)][:ROWS]
    for merge in (None, *shown):
        if merge:
            gaps.remove(merge.index)
        texts = plan.say("merge", n=merge.rank) if merge else plan.say("letters")
        cells: list[g.Node] = []
        for left, right in pairwise(gaps):
            lit = merge is not None and left < merge.index < right
            wide = sum(widths[left:right]) + 2 * (right - left - 1)
            text = "".join(symbols[left:right])
            cells.append(g.Chip(text, "embedded" if lit else "", width=wide, lit=lit, fit=wide))
        rows.append([g.small(texts), g.Across(*cells, gap=2)])
    left_out = len(word.merges) - len(shown)
    more = [g.small(plan.say("more", n=left_out))] if left_out else []
    return g.Down(g.Columns(rows, gap=(12, 3), align="rl"), *more, gap=4)


@g.figure("vocabulary")
def draw_vocabulary(plan: g.Outline, *, query: Query = None) -> g.Scene:
    """Show a slice of the vocabulary around a token, and a toy vocabulary of six words (V11)."""
    trace = plan.trace
    token = trace.source[choose_token(trace.source, query)]
    known = {each.id: each.text for each in trace.source}
    if trace.settings.tie == "three-way" and trace.vocabulary is not None:
        known |= dict(enumerate(trace.vocabulary))
    near = sorted(sorted(known, key=lambda id: abs(id - token.id))[:9])
    own = _list_entries(
        [(id, name_invisible(known[id]).replace(" ", "▁")) for id in near], token.id
    )
    toy = _list_entries(list(enumerate(TOY)))
    tables = [
        g.Down(plan.label(key, bold=True), table, gap=8)
        for key, table in (("own", own), ("toy", toy))
    ]
    body, size = g.Across(*tables, gap=90, align="top"), trace.document.source_vocabulary
    return plan.compose(body, word=tell_token(token.text), n=token.id, size=size)


def _list_entries(entries: Sequence[tuple[int, str]], lit: int | None = None) -> g.Node:
    """Return numbers and tokens below each other, one of them lit if it is asked for."""
    rows = [
        [
            g.Label(str(id), ink="embedded" if id == lit else style.SOFT),
            g.Chip(text, "embedded" if id == lit else "", width=110, lit=id == lit),
        ]
        for id, text in entries
    ]
    return g.Columns(rows, gap=(10, 2), align="rl")


@g.figure("one_hot")
def draw_one_hot(plan: g.Outline, *, toy: bool = False) -> g.Scene:
    """Show ten words as ten one-hot vectors (V12); or that of "am" in a toy vocabulary (V13)."""
    words = TOY if toy else ANIMALS
    values = plan.give("one_hot", np.eye(len(words)))
    wide, shown = (70.0, [1]) if toy else (44.0, [*range(len(words))])
    heads = [
        g.Slot(g.Label(word, bold=toy and n == 1), wide).named(f"column {n}")
        for n, word in enumerate(words)
    ]
    rows: list[list[g.Node]] = [[g.Spacer(), g.Across(*heads, gap=0)]]
    for n in shown:
        cell = wide, 24.0 + 8 * toy
        strip = g.Strip(
            values[n], "embedded", shown=len(words), cell=cell, digits=0, lit=[n], sparse=True
        )
        rows.append([g.Label(words[n], bold=True), strip.named(f"row {n}")])
    apart = plan.of("sqrt(sum[i] ((one_hot[0,i] - one_hot[1,i]) * (one_hot[0,i] - one_hot[1,i])))")
    text = plan.say("apart", far=f"{float(apart):.3f}")
    pairs = len(words) * (len(words) - 1) // 2
    here = g.Callout("column 1", "here", "above", 200)
    far = g.Callout("row 1", text, "right", 120, of=apart)
    return plan.compose(
        g.Columns(rows, gap=(10, 2), align="rl"),
        title="title_toy" if toy else "title",
        note=plan.say("note_toy" if toy else "note", n=len(words)),
        callouts=[here if toy else far],
        origin="formulas",
        n=pairs,
    )


@g.figure("lookup")
def draw_lookup(plan: g.Outline, *, query: Query = None, around: int = 7) -> g.Scene:
    """Show a one-hot row times the embedding matrix, which is one row of it (V14)."""
    trace, place = plan.trace, choose_token(plan.trace.source, query)
    token, word, (size, d) = trace.source[place], plan.source[place], trace[TABLE].shape
    first = max(0, min(token.id - around // 2, size - around))
    ids, (wide, high) = [*range(first, first + around)], (26.0, 22.0)
    one_hot = plan.give("one_hot", [float(id == token.id) for id in ids])
    lit = [token.id - first]
    cells = g.Strip(
        one_hot, "embedded", shown=around, cell=(wide, high), digits=0, lit=lit, sparse=True
    )
    numbers = g.Across(*(g.Slot(g.tiny(str(id)), wide) for id in ids), gap=0)
    limit = g.find_largest([trace[TABLE][ids]])
    rows = []
    for id in ids:
        ink, edge = (style.LIT, style.LIT) if id == token.id else (style.SOFT, "")
        panel = plan.panel(f"{TABLE}[{id},d]", width=150, height=17, limit=limit, edge=edge)
        rows.append((g.tiny(str(id), ink, bold=bool(edge)), panel))
    table = g.Columns(rows, gap=(5, 2), align="rl")
    row = plan.strip(f"{TABLE}[{token.id},d]", "embedded", shown=3, digits=3, cell=(44.0, high))
    dots = [g.Label("…", ink=style.SOFT) for _ in range(2)]
    letter, sizes = g.Label("$E$", style.HEADING, "embedded"), g.tiny(f"{size} × {d}")
    return plan.compose(
        g.equation(
            dots[0],
            g.middle(numbers, cells, g.tiny(f"1 × {size}"), gap=3, stands_on=1),
            dots[1],
            "×",
            g.middle(letter, table, sizes, gap=3, stands_on=1),
            "=",
            g.Down(g.Chip(word, lit=True), row.named("row"), gap=6, stands_on=1),
            gap=8,
        ),
        callouts=[g.Callout("row", "same", "below", 150)],
        word=word,
        n=token.id,
        d=d,
        all=g.spell(size * d, 0),
        first=first,
        last=ids[-1],
    )


@g.figure("vectors")
def draw_vectors(plan: g.Outline) -> g.Scene:
    """Show tokens as vectors of numbers, and how alike each is to one of them (V15)."""
    texts, ids, d = plan.source, [token.id for token in plan.trace.source], plan.settings.d_model
    count, limit = min(len(texts), 6), g.find_largest([plan.trace[EMBEDDED]])
    twin = next((n for n in range(count) if ids[n] in ids[:n]), None)
    pair, order = _find_alike(plan, count, ids), [*range(count)]
    heads = [*plan.heads("", "", "first"), g.small(plan.say("all", d=d))]
    if pair:
        one, two = (texts[n] for n in pair)
        like = [plan.of(cosine(*(f"{EMBEDDED}[{n},d]" for n in (pair[0], i)))) for i in order]
        order.sort(key=lambda n: -float(like[n]))
        held = g.Slot(heads[-1], 200, "start")
        heads[-1] = g.Across(held, g.small(plan.say("cosine", word=one)))
        plan.facts |= {"one": one, "two": two, "cosine": g.spell(float(like[pair[1]]))}
    rows: list[list[g.Part]] = [heads]
    for i in order:
        vector, twins = plan.of(f"{EMBEDDED}[{i},d]"), twin is not None and ids[i] == ids[twin]
        name = g.Label(texts[i], ink=style.LIT if twins else style.INK, bold=twins, fit=100)
        panel: g.Node = g.Panel(vector, width=200, height=22, limit=limit)
        if pair:
            panel = g.Across(panel, g.Numeral(like[i], bold=i == pair[1]))
        row: list[g.Part] = [name, g.Label(f"$e_{{{i}}}$", ink="embedded")]
        rows.append([*row, g.Strip(vector, "embedded"), panel.named(f"row {i}")])
    text = plan.say("twins", word=texts[twin or 0])
    return plan.compose(
        g.Columns(rows, gap=(style.CLOSE, 9), align="rl"),
        title="alike" if pair else "title",
        left=(count, len(texts)),
        callouts=[] if twin is None else [g.Callout(f"row {twin}", text, "right", 110)],
        d=d,
    )


@g.figure("vectors")
def draw_sentence(plan: g.Outline) -> g.Scene:
    """Show the sentence as a matrix, a row for each token, and how long each row is (V17)."""
    texts, count = plan.source, min(len(plan.source), MOST)
    high, limit = max(8.0, min(18.0, 420 / count)), g.find_largest([plan.trace[EMBEDDED]])
    sizes = [plan.of(length(f"{EMBEDDED}[{n},d]")) for n in range(count)]
    order = sorted(range(count), key=lambda n: float(sizes[n]))
    least, longest = order[0], order[-1]
    rows: list[list[g.Part]] = [plan.heads("", "", "length")]
    for i, size in enumerate(sizes):
        ink = style.LIT if i in (longest, least) else "embedded"
        bar = g.Bar(
            size,
            float(sizes[longest]),
            ink,
            digits=1 if high > 11 else None,
            width=70,
            height=min(11.0, high),
        )
        panel = plan.panel(f"{EMBEDDED}[{i},d]", width=380, height=high, limit=limit)
        rows.append([g.Label(texts[i], min(style.BODY, high * 0.8), fit=100), panel, bar])
    ratio = float(sizes[longest]) / float(sizes[least])
    return plan.compose(
        g.Columns(rows, gap=(style.CLOSE, 0.0), align="rl"),
        title="whole",
        left=(count, len(texts)),
        one=texts[longest],
        two=texts[least],
        ratio=f"{ratio:.1f}",
        rows=len(texts),
        d=plan.settings.d_model,
    )


def _find_alike(plan: g.Outline, count: int, ids: Sequence[int]) -> tuple[int, int] | None:
    """Return which two of the first tokens have the vectors that are most alike."""
    pairs = [(a, b) for b in range(count) for a in range(b) if ids[a] != ids[b]]
    alike = [float(plan.of(cosine(*(f"{EMBEDDED}[{n},d]" for n in pair)))) for pair in pairs]
    return pairs[int(np.argmax(alike))] if pairs else None

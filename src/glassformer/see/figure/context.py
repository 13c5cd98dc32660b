"""Figures of what a token learns from the others: other words (V18), another order (V28)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from . import grammar as g
from . import style
from .attention import Query, choose_token
from .kinds import find_rows, read_kinds
from .measured import find_riddle
from .measures import length
from .reencode import Fetch, read_again
from .selection import find_output, find_query, show_tokens
from .typesetting import quote

MOST = 96  # tokens of a sentence that is encoded again
CHANGES, USUAL = 8, 24  # of one word, that are tried; fewer in a sentence of more tokens
WIDE = 520.0
FLIPS = ("wide", "tired")  # adjectives that decide what `it` is: of a street, of an animal
ORDER = ("adjective", "animal", "person", "place", "verb")  # which word is changed, if one can be


class Reading(NamedTuple):
    """A second sentence with the same token: its tensors, the token's place, and its text."""

    fetch: Fetch
    place: int
    text: str
    swap: tuple[str, str] | None = None  # the word that was changed, and the one in its place


@g.figure("context")
def draw_context(plan: g.Outline, *, other: Any = None, query: Query = None) -> g.Scene:
    """Show how far apart the vectors of one token are in two sentences, layer by layer (V18).

    other: a second recording of the same model with the same token. Without it, one word of the
    sentence is changed for another of its kind; if none can be, a part of it is the second.
    """
    trace = plan.trace
    names = ["source_embedding.embedded", "source_embedding.sum"]
    names += [find_output(trace, "encoder", n) for n in range(trace.settings.encoder_layers)]
    place, second = choose_readings(trace, names[-1], other, query)
    word = plan.source[place]
    moved, pillars = [], []
    for n, name in enumerate(names):
        plan.give(f"second{n}", second.fetch(name)[second.place])
        differ = f"({name}[{place},d] - second{n}[d])"
        moved.append(
            plan.of(f"sqrt(sum[d] ({differ} * {differ})) / {length(f'{name}[{place},d]')}")
        )
    limit = max(0.01, g.find_largest(moved))
    for n, share in enumerate(moved):
        ink = ("embedded", "positions", "memory")[min(n, 2)]
        pillar = g.Pillar(
            share, limit, ink, width=30, height=96, show=partial(g.percent, digits=1)
        ).named(f"pillar {n}")
        told = plan.say(("word", "position", "layer")[min(n, 2)], n=n - 2)
        pillars.append(g.middle(pillar, g.small(told), gap=4))
    last = f"{names[-1]}[{place},d]", f"second{len(names) - 1}[d]"
    vectors = [plan.of(each) for each in (*last, " - ".join(last))]
    limit = g.find_largest(vectors[:2])
    strips = [
        [g.Label(sign, bold=True), g.Panel(vector, width=WIDE - 60, height=16, limit=limit)]
        for sign, vector in zip(("1", "2", "1 − 2"), vectors, strict=True)
    ]
    texts = (f"1   {quote(trace.text.strip())}", f"2   {quote(second.text)}")
    body = g.Down(
        g.Down(*(g.Label(text, style.HEADING, bold=True, fit=WIDE) for text in texts), gap=2),
        g.Across(*pillars, gap=18, align="bottom"),
        g.Down(plan.small("top"), g.Columns(strips, gap=(8, 4), align="rl"), gap=6),
        gap=style.APART,
    )
    key, (old, new) = ("changed", second.swap) if second.swap else ("other", ("", ""))
    told_by = "told_one" if second.swap else "told"
    where = "stays" if place == second.place else "shifted"
    return plan.compose(
        body,
        title=key,
        note=plan.say("note") + plan.say(where, here=place, there=second.place),
        callouts=[g.Callout(f"pillar {len(names) - 1}", told_by, "right", 110)],
        old=old,
        new=new,
        word=word,
        share=g.percent(float(moved[-1])),
    )


def choose_readings(trace: Any, name: str, other: Any, query: Query) -> tuple[int, Reading]:
    """Return a token and a second sentence with it.

    Without `other` and `query`, these are the change of one word and the other word which, of
    all, move the last vector of the latter most.
    """
    place, texts = choose_token(trace.source, query), show_tokens(trace.source)
    best, chosen = 0.0, None
    if query is None and other is None and (found := find_flip(trace)):
        return found
    if query is None and other is None:
        for changed in list_changes(trace)[: max(1, CHANGES * USUAL // max(USUAL, len(texts)))]:
            fetch = read_again(trace, changed.ids)
            apart = np.linalg.norm(trace[name] - fetch(name), axis=1)
            apart /= np.linalg.norm(trace[name], axis=1)
            for n in range(len(texts)):
                if n != changed.at and is_whole_word(trace.source, n) and apart[n] > best:
                    best, chosen = apart[n], (n, Reading(fetch, n, changed.text, changed.swap))
    return chosen or (place, read_second(trace, place, other, texts[place]))


def find_flip(trace: Any) -> tuple[int, Reading] | None:
    """Return the pronoun of a riddle, and the riddle with the adjective that means the other noun.

    None if the sentence is no riddle that the shipped model translated.
    """
    riddle, texts = find_riddle(trace), show_tokens(trace.source)
    if riddle is None or "it" not in texts or riddle.adjective not in texts:
        return None
    for changed in list_changes(trace, FLIPS):
        if texts[changed.at] == riddle.adjective:
            place = texts.index("it")
            return place, Reading(read_again(trace, changed.ids), place, changed.text, changed.swap)
    return None


def read_second(trace: Any, place: int, other: Any, word: str) -> Reading:
    """Return the second sentence for a token of a recording.

    Raise ValueError if `other` is the same sentence or a recording of another model.
    """
    ids = [token.id for token in trace.source]
    if other is not None:
        if [token.id for token in other.source] == ids:
            raise ValueError(
                f"other: it is the same sentence, “{trace.text.strip()}”: take another"
            )
        there = find_query(show_tokens(other.source)[:-1], word)
        row = "source_embedding.embedded"
        if not np.array_equal(other[row][there], trace[row][place]):
            raise ValueError(f"other: “{word}” has another vector there: it is of another model")
        return Reading(other.__getitem__, there, other.text.strip())
    if changes := [each for each in list_changes(trace) if each.at != place]:
        return Reading(read_again(trace, changes[0].ids), place, changes[0].text, changes[0].swap)
    if len(ids) == 2:
        text = _quote(trace, slice(0, 1))
        return Reading(read_again(trace, [ids[0], *ids]), 2 * place, f"{text} {text}")
    part = cut_sentence(len(ids) - 1, min(place, len(ids) - 2))
    return Reading(
        read_again(trace, [*ids[part], ids[-1]]), place - part.start, _quote(trace, part)
    )


class Changed(NamedTuple):
    """A sentence in which one word was changed: where, its ids, its text, and the words."""

    at: int
    ids: list[int]
    text: str
    swap: tuple[str, str]


def is_whole_word(tokens: Sequence[Any], n: int) -> bool:
    """Return whether a token is a whole word of more than one letter."""
    after = tokens[n + 1].text if n + 1 < len(tokens) else ""
    text = show_tokens(tokens)[n]
    ends = tokens[n].text.startswith(" ") and not after[:1].isalpha()
    return ends and text.isalpha() and len(text) > 1


def list_changes(trace: Any, into: Collection[str] = ()) -> list[Changed]:
    """Return the sentence with one word changed, for each word that has others of its kind.

    The new word is the one whose vector is least like that of the old, of `into` if it is given.
    """
    rows, kinds, texts, found = find_rows(trace), read_kinds(), show_tokens(trace.source), []
    known = [n for n, text in enumerate(texts) if text in rows and len(texts) <= MOST]
    table = np.asarray(trace["source_embedding.table.weight"], dtype=float)
    for n in sorted(known, key=lambda n: ORDER.index(kinds[texts[n]][0])):
        others = [word for word in rows if kinds[word] == kinds[texts[n]] and word not in texts]
        others = [word for word in others if word in into] if into else others
        if others:
            alike = compare_meanings(table[[rows[w] for w in others]], table[rows[texts[n]]])
            new, token = others[int(alike.argmin())], trace.source[n]
            ids = [each.id for each in trace.source]
            ids[n] = rows[new]
            spaced = " " * token.text.startswith(" ") + new
            text = trace.text[: token.start] + spaced + trace.text[token.end :]
            found.append(Changed(n, ids, text.strip(), (texts[n], new)))
    return found


def compare_meanings(a: g.Array, b: g.Array) -> g.Array:
    """Return the cosine of each row of one array with that row of the other."""
    a, b = a.astype(float), b.astype(float)
    found: g.Array = (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
    return found


def cut_sentence(count: int, place: int) -> slice:
    """Return a part of a sentence of `count` tokens that has the token at `place`, but not all.

    It has at most `MOST` tokens, since it is encoded again. Raise ValueError for a sentence of
    one token, which has no such part.
    """
    if count < 2:
        raise ValueError(f"a sentence of {count} token has no part that differs from it")
    if not place:
        return slice(0, min(count // 2, MOST))
    if count - place >= 3:
        return slice(place, min(count, place + MOST))
    return slice(max(1, place // 2, place + 1 - MOST), count)


def _quote(trace: Any, part: slice) -> str:
    """Return the text that some source tokens stand for."""
    tokens = trace.source[part]
    return str(trace.text[tokens[0].start : tokens[-1].end].strip())


@g.figure("order")
def draw_order(plan: g.Outline) -> g.Scene:
    """Show how far each token's self-attention moves when the order is reversed (V28)."""
    trace = plan.trace
    count = min(6, len(trace.source) - 1)
    texts = plan.source[:count]
    apart = []
    for key, (there, back) in zip(("without", "with"), compare_orders(trace, count), strict=True):
        plan.give(f"there_{key}", there)
        plan.give(f"back_{key}", back)
        differ = f"(there_{key}[i,j] - back_{key}[i,j])"
        apart.append(plan.of(f"sqrt(sum[j] ({differ} * {differ}))"))
    limit = g.find_largest(apart)
    inks = (style.FAINT, "positions")
    rows: list[list[g.Part]] = [
        [None, *(plan.label(key, bold=True) for key in ("without", "with"))]
    ]
    for n, text in enumerate(texts):
        pairs = zip(apart, inks, strict=True)
        one, two = (g.Bar(each[n], limit, ink, width=130) for each, ink in pairs)
        rows.append([g.Chip(text, lit=True), one, two.named(f"bar {n}")])
    orders = [_show_order(texts), plan.small("reversed"), _show_order(texts[::-1])]
    free = float(apart[0].values.max()) < 1e-6 * max(1.0, limit)
    key = "alone" if count == 1 else "same" if free else "differs"
    most = int(apart[1].values.argmax())
    told = plan.say("moved", word=texts[most])
    callouts = [g.Callout(f"bar {most}", told, "right", 100)] if count > 1 else []
    return plan.compose(
        g.middle(
            g.Across(*orders, gap=style.NEAR),
            g.Columns(rows, gap=(style.NEAR, 6), align="rl"),
            gap=style.APART,
        ),
        title=key,
        callouts=callouts,
    )


def _show_order(texts: Sequence[str]) -> g.Node:
    return g.Across(*(g.Chip(text, size=style.SMALL, fit=46) for text in texts), gap=3)


def attend_first(trace: Any, x: g.Array) -> g.Array:
    """Return what the first encoder layer's self-attention gives for the vectors `x`."""
    ids = [token.id for token in trace.source[: len(x)]]  # none of these is padding
    return read_again(trace, ids, {"source_embedding.sum": x})("encoder.0.self_attention.output")


def compare_orders(trace: Any, count: int) -> list[tuple[g.Array, g.Array]]:
    """Return what attention gives the first tokens in their order and in reverse, as two pairs.

    The first pair is without positions, the second with them. Both arrays of a pair have the
    tokens in the order of the sentence.
    """
    words, places = (
        np.asarray(trace[f"source_embedding.{name}"][:count], dtype=float)
        for name in ("embedded", "positions")
    )
    return [
        (attend_first(trace, words + extra), attend_first(trace, words[::-1] + extra)[::-1])
        for extra in (np.zeros_like(places), places)
    ]

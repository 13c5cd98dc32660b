"""Figures of what a token learns from the others: other words (V18), another order (V28)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .attention import Query, choose_token
from .measured import Riddle, find_riddle
from .measures import length
from .parts import grammar as g
from .parts import style
from .parts.kinds import find_rows, read_kinds
from .parts.selection import find_output, find_query, tell_token, tell_tokens
from .parts.typesetting import quote
from .reencode import Fetch, read_again

MOST = 96  # tokens of a sentence that is encoded again
CHANGES, USUAL = 8, 24  # of one word, that are tried; fewer in a sentence of more tokens
PART, SPACE = 262.0, 4.0  # widths: of a part of a sentence; before a word
FLIPS = ("wide", "tired")  # adjectives that decide what `it` is: of a street, of an animal
ORDER = ("adjective", "animal", "person", "place", "verb")  # which word is changed, if one can be


class Reading(NamedTuple):
    """A sentence with the token: its tensors, the token's place, and its tokens as spelt."""

    fetch: Fetch
    place: int
    texts: list[str]  # without the end mark
    swap: tuple[str, str] | None = None  # the word that was changed, and the one in its place
    riddle: Riddle | None = None  # to which the new word gives the other answer

    @property
    def text(self) -> str:
        return "".join(self.texts).strip()


@g.figure("context")
def draw_context(plan: g.Outline, *, other: Any = None, query: Query = None) -> g.Scene:
    """Show one token in two sentences: what it means, and how far its vector moves (V18).

    other: a second recording of the same model with the same token. Without it, one word of the
    sentence is changed for another of its kind; if none can be, a part of it is the second.
    """
    trace = plan.trace
    names = ["source_embedding.embedded", "source_embedding.sum"]
    names += [find_output(trace, "encoder", n) for n in range(trace.settings.encoder_layers)]
    place, second = choose_readings(trace, names[-1], other, query)
    swap, meanings = second.swap or ("", ""), find_meanings(trace, second)
    texts = [token.text for token in trace.own_source]
    pair = Reading(trace.__getitem__, place, texts), second
    moved = []
    for n, name in enumerate(names):
        for side, each in zip("ab", pair, strict=True):
            plan.give(f"{side}{n}", each.fetch(name))
        a, b = f"a{n}[{place},d]", f"b{n}[{second.place},d]"
        moved.append(plan.of(f"{length(f'({a} - {b})')} / {length(a)}"))
    rows = [_show_sentence(n, each, swap[n]) for n, each in enumerate(pair)]
    for row, (token, noun, sure) in zip(rows, meanings, strict=False):
        chip = g.Chip(token.strip(), "decoder", lit=True, size=style.HEADING)
        text = g.Label(plan.say("means", noun=noun), style.HEADING, bold=True)
        probability = g.Numeral(
            plan.give(f"sure_{noun}", [sure])[0], before="$P$ = ", ink=style.SOFT
        )
        row.append(g.Across(g.Label("→", ink=style.SOFT), chip, text, probability, gap=6))
    key = "turns" if meanings else "changed" if second.swap else "other"
    where = "stays" if place == second.place else "shifted"
    return plan.compose(
        g.Down(
            g.Columns(rows, gap=(8, 10)),
            g.Down(plan.small("apart"), _show_moves(plan, moved), gap=6),
            gap=style.APART,
        ),
        title=key,
        note=plan.say("note_decoder" if meanings else "note")
        + plan.say(where, here=place, there=second.place),
        old=swap[0],
        new=swap[1],
        word=plan.source[place],
        share=g.percent(float(moved[-1])),
    )


def find_meanings(trace: Any, second: Reading) -> list[tuple[str, str, float]]:
    """Return the pronoun that comes next in both sentences, its noun, and how probable it is.

    What is written before it is that of the recording. There are none if the second sentence is
    not one of a riddle, or if the pronoun is the same.
    """
    if second.riddle is None or trace.vocabulary is None:
        return []
    row, meanings = second.riddle.row, []
    for fetch in (trace.__getitem__, second.fetch):
        logits = np.asarray(fetch("logits")[row], dtype=float)
        token = trace.vocabulary[best := int(logits.argmax())]
        gender = "f" if token.strip().endswith("elle") else "m"
        noun = second.riddle.nouns[second.riddle.genders.index(gender)]
        meanings.append((token, noun, float(np.exp(logits[best] - np.logaddexp.reduce(logits)))))
    return meanings if meanings[0][0] != meanings[1][0] else []


def _show_sentence(n: int, each: Reading, changed: str) -> list[g.Part]:
    """Return a sentence with its number, the token large, and the changed word bold."""
    parts, plain = list[g.Part](), ""
    for at, text in enumerate([*each.texts, ""]):
        is_it, is_changed = at == each.place, bool(changed) and text.strip() == changed
        if (is_it or is_changed or at == len(each.texts)) and plain:
            node = g.Label(quote(plain.strip()), style.HEADING, fit=PART)
            parts += [g.Spacer(SPACE * plain.startswith(" ")), node]
        plain = "" if is_it or is_changed else plain + text
        if is_it:
            chip = g.Chip(quote(tell_token(text)), "memory", size=style.TITLE, lit=True)
            parts += [g.Spacer(SPACE), chip, g.Spacer(2)]
        elif is_changed:
            parts += [g.Spacer(SPACE), g.Label(changed, style.HEADING, style.LIT, bold=True)]
    return [g.Label(str(n + 1), style.HEADING, style.SOFT), g.Across(*parts, gap=0)]


def _show_moves(plan: g.Outline, moved: Sequence[g.Quantity]) -> g.Node:
    """Return how far apart the token is in two sentences: as a word, with position, by layer."""
    limit, pillars = max(0.01, g.find_largest(moved)), list[g.Node]()
    for n, share in enumerate(moved):
        ink = ("embedded", "positions", "memory")[min(n, 2)]
        text = plan.say(("word", "position", "layer")[min(n, 2)], n=n - 2)
        pillars.append(
            g.middle(
                g.Pillar(share, limit, ink, width=36, height=96, show=partial(g.percent, digits=1)),
                g.small(text),
                gap=4,
            )
        )
    return g.Across(*pillars, gap=18, align="bottom")


def choose_readings(trace: Any, name: str, other: Any, query: Query) -> tuple[int, Reading]:
    """Return a token and a second sentence with it.

    Without `other` and `query`, these are the change of one word and the other word which, of
    all, move the last vector of the latter most.
    """
    place, texts = choose_token(trace.source, query), tell_tokens(trace.source)
    best, chosen = 0.0, None
    if query is None and other is None and (readings := find_flip(trace)):
        return readings
    if query is None and other is None:
        for changed in list_changes(trace)[: max(1, CHANGES * USUAL // max(USUAL, len(texts)))]:
            fetch = read_again(trace, changed.ids)
            apart = np.linalg.norm(trace[name] - fetch(name), axis=1)
            apart /= np.linalg.norm(trace[name], axis=1)
            for n in range(len(texts)):
                if n != changed.at and is_whole_word(trace.source, n) and apart[n] > best:
                    best, chosen = apart[n], (n, Reading(fetch, n, changed.texts, changed.swap))
    return chosen or (place, read_second(trace, place, other, texts[place]))


def find_flip(trace: Any) -> tuple[int, Reading] | None:
    """Return the pronoun of a riddle, and the riddle with the adjective that means the other noun.

    None if the sentence is no riddle that the shipped model translated.
    """
    riddle, texts = find_riddle(trace), tell_tokens(trace.source)
    if riddle is None or not {"it", riddle.adjective, *riddle.nouns} <= {*texts}:
        return None
    for changed in list_changes(trace, FLIPS):
        if texts[changed.at] == riddle.adjective:
            place, rows = texts.index("it"), riddle.row + 1
            fetch = read_again(trace, changed.ids, rows=rows)
            return place, Reading(fetch, place, changed.texts, changed.swap, riddle)
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
        there = find_query(tell_tokens(other.own_source), word)
        row = "source_embedding.embedded"
        if not np.array_equal(other[row][there], trace[row][place]):
            raise ValueError(f"other: “{word}” has another vector there: it is of another model")
        texts = [token.text for token in other.own_source]
        return Reading(other.__getitem__, there, texts)
    if changes := [each for each in list_changes(trace) if each.at != place]:
        change = changes[0]
        return Reading(read_again(trace, change.ids), place, change.texts, change.swap)
    texts = [token.text for token in trace.own_source]
    if len(texts) == 1:
        spaced = f" {texts[0].strip()}"
        return Reading(read_again(trace, [ids[0], *ids]), 2 * place, [texts[0], spaced])
    part = cut_sentence(len(texts), min(place, len(texts) - 1))
    fetch = read_again(trace, [*ids[part], *ids[len(texts) :]])
    return Reading(fetch, place - part.start, texts[part])


class ChangedSentence(NamedTuple):
    """A sentence in which one word was changed: where, its ids, its tokens, and the words."""

    at: int
    ids: list[int]
    texts: list[str]  # as spelt, without the end mark
    swap: tuple[str, str]


def is_whole_word(tokens: Sequence[Any], n: int) -> bool:
    """Return whether a token is a whole word of more than one letter."""
    after = tokens[n + 1].text if n + 1 < len(tokens) else ""
    text = tell_tokens(tokens)[n]
    ends = tokens[n].text.startswith(" ") and not after[:1].isalpha()
    return ends and text.isalpha() and len(text) > 1


def list_changes(trace: Any, into: Collection[str] = ()) -> list[ChangedSentence]:
    """Return the sentence with one word changed, for each word that has others of its kind.

    The new word is the one whose vector is least like that of the old, of `into` if it is given.
    """
    rows, kinds, texts, changes = find_rows(trace), read_kinds(), tell_tokens(trace.source), []
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
            spelt = [each.text for each in trace.own_source]
            spelt[n] = " " * token.text.startswith(" ") + new
            changes.append(ChangedSentence(n, ids, spelt, (texts[n], new)))
    return changes


def compare_meanings(a: g.Array, b: g.Array) -> g.Array:
    """Return the cosine of each row of one array with that row of the other."""
    a, b = a.astype(float), b.astype(float)
    meanings: g.Array = (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
    return meanings


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


@g.figure("order")
def draw_order(plan: g.Outline) -> g.Scene:
    """Show how far each token's self-attention moves when the order is reversed (V28)."""
    trace = plan.trace
    count = min(6, len(trace.own_source))
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
    caption = plan.say("moved", word=texts[most])
    callouts = [g.Callout(f"bar {most}", caption, "right", 100)] if count > 1 else []
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

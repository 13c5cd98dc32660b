"""The figure of the embedding as a map of words (V16)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .attention import Query, choose_token
from .context import compare_meanings
from .measures import cosine
from .parts import grammar as g
from .parts import style
from .parts.kinds import find_rows, read_kinds
from .parts.selection import tell_token

WIDE, TALL, SHORT = 430.0, 350.0, 60.0  # size of the map; of a line that joins two words
NEAR, LISTS, FEW = 4, 4, 3  # neighbours in a list; lists; words that are too few for a map
TABLE = "source_embedding.table.weight"
INKS = dict(
    zip(
        ("animal", "person", "place", "adjective", "verb"),
        ("#b5530c", "#a32674", "#2a7d25", "#1d5a96", "#5b3696"),
        strict=True,
    )
)


@g.figure("map")
def draw_map(plan: g.Outline, *, query: Query = None, most: int = 160) -> g.Scene:
    """Show words of five kinds as a map of their embeddings, and the neighbours of four (V16)."""
    trace = plan.trace
    rows, kinds = _choose_rows(trace, most)
    own = trace.source[choose_token(trace.source, query)]
    words, chosen = list(rows), _choose_words(trace, kinds, tell_token(own.text), query)
    rows.setdefault(tell_token(own.text), own.id)
    table = np.asarray(trace[TABLE], dtype=float)[[rows[word] for word in words]]
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    alike = table @ table.T
    np.fill_diagonal(alike, -2.0)
    points = spread_out(alike) if len(words) > 2 else np.eye(2)[: len(words)]
    here = [kinds.get(word, "") for word in words]
    nearest = [here[int(row.argmax())] for row in alike]
    same = sum(a == b for a, b in zip(here, nearest, strict=True))
    pairs = sum(here.count(kind) * (here.count(kind) - 1) for kind in INKS)
    chance = pairs / max(1, len(words) * (len(words) - 1))
    names = [plan.small(k, INKS[k], bold=True) for k in INKS if k in here]
    neighbours = [_list_neighbours(plan, word, words, rows, kinds) for word in chosen]
    neighbours.sort(key=lambda each: each[1])  # the callout points at the last one
    lists = [node for node, _ in neighbours]
    text = plan.say("like_it", n=neighbours[-1][1], all=NEAR)
    inks = [INKS.get(kind, style.SOFT) for kind in here]
    pairs_of = list(enumerate(alike.argmax(1).tolist())) if kinds else []
    joined = [(a, b, inks[a] if here[a] == here[b] else style.FAINT) for a, b in pairs_of]
    drawn = WordMap(words, points, inks, chosen, joined)
    left = g.Down(g.Across(*names, gap=14), drawn, gap=8)
    finds = bool(kinds) and same > 2 * chance * len(words)
    lists[-1].named("last list")
    return plan.compose(
        g.Across(left, g.Down(*lists, gap=16), gap=style.APART, align="top"),
        title="same" if finds else "plain",
        note="note" if kinds else "note_few",
        callouts=[g.Callout("last list", text, "below", 120)] if neighbours[-1][1] > 1 else [],
        same=same,
        all=len(words),
        chance=g.spell(chance * len(words), 0),
    )


def _choose_rows(trace: Any, most: int) -> tuple[dict[str, int], dict[str, str]]:
    """Return rows of the embedding by word, and the kind of each word.

    The words are of the language of the sentence. If the model has hardly any of them, they are
    the tokens of the sentence, of no kind.
    """
    table, rows = read_kinds(), find_rows(trace)
    here = [tell_token(token.text) for token in trace.source]
    spoken = [table[word][1] for word in here if word in rows] or [table[word][1] for word in rows]
    spoken = [max(spoken, key=spoken.count)] if spoken else []
    rows = {word: row for word, row in rows.items() if table[word][1] in spoken}
    if len(rows) > FEW:
        rows = dict(list(rows.items())[:most])
        return rows, {word: table[word][0] for word in rows}
    return {tell_token(token.text): token.id for token in trace.source[:most]}, {}


def _choose_words(trace: Any, kinds: dict[str, str], own: str, query: Query) -> list[str]:
    """Return the token that is asked for, words of the sentence, then one of each other kind."""
    here = [tell_token(token.text) for token in trace.source]
    words = [own] if query is not None or not kinds or own in kinds else []
    for word in [*here, *kinds]:
        if word in kinds and kinds[word] not in [kinds.get(other) for other in words]:
            words.append(word)
    return words[:LISTS]


def _list_neighbours(
    plan: g.Outline, word: str, words: Sequence[str], rows: dict[str, int], kinds: dict[str, str]
) -> tuple[g.Node, int]:
    """Return a word and the words nearest to it, with their cosines; how many are of its kind."""
    table = plan.trace[TABLE]
    others = [other for other in words if rows[other] != rows[word]]
    near = compare_meanings(table[[rows[other] for other in others]], table[rows[word]][None])
    lines: list[list[g.Node]] = []
    nearest = np.argsort(-near)[:NEAR].tolist()
    for n in nearest:
        ink = INKS.get(kinds.get(others[n], ""), style.SOFT)
        like = plan.of(cosine(f"{TABLE}[{rows[others[n]]},d]", f"{TABLE}[{rows[word]},d]"))
        lines.append([g.Label(others[n], ink=ink, fit=90), g.Numeral(like, ink=style.SOFT)])
    text = plan.small("near")
    same = sum(word in kinds and kinds.get(others[n]) == kinds[word] for n in nearest)
    head = g.Across(text, g.Chip(word, lit=True), gap=6)
    return g.Down(head, g.Columns(lines, gap=(10, 1)), gap=4), same


class WordMap(g.Node):
    """Dots and the names of as many as there is room for, none upon another.

    joined: pairs of words that a line joins if it is short, and its colour.
    """

    def __init__(
        self,
        words: Sequence[str],
        points: g.Array,
        inks: Sequence[str],
        first: Sequence[str],
        joined: Sequence[tuple[int, int, str]] = (),
    ):
        low, high = points.min(0, initial=0), points.max(0, initial=1e-9)
        places = 12 + (points - low) / (high - low) * (WIDE - 70, TALL - 24)
        lines = [(places[a], places[b], ink) for a, b, ink in joined]
        self.joined = [line for line in lines if np.hypot(*(line[0] - line[1])) < SHORT]
        entries = zip(words, places.tolist(), inks, strict=True)
        self.entries = sorted(entries, key=lambda entry: entry[0] not in first)
        self.width, self.height, self.first = WIDE, TALL, first

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        sheet.box(x, y, WIDE, TALL, fill=style.GROUND, round=8, layer=0)
        for one, two, ink in self.joined:
            ends = ((x + float(a), y + float(b)) for a, b in (one, two))
            faint = ink == style.FAINT
            sheet.line(*ends, ink=ink, line=0.8 if faint else 1.6, alpha=0.55, layer=1)
        taken = [g.Area(x + a - 2, y + b - 2, 4, 4) for _, (a, b), _ in self.entries]
        for (word, (a, b), ink), dot in zip(self.entries, tuple(taken), strict=True):
            sheet.dot(*dot.middle, 2.0, ink, layer=4)
            label = g.small(word, ink, fit=70, bold=word in self.first)
            for at in (x + a + 4, x + a - 4 - label.width):
                place = g.Area(at, y + b - 5, label.width, 10)
                if any(place.meets(other) for other in taken):
                    continue
                if x < place.x and place.right < x + WIDE:
                    sheet.box(
                        place.x - 1,
                        place.y,
                        label.width + 2,
                        place.height,
                        fill=style.GROUND,
                        alpha=0.8,
                        layer=2,
                    )
                    label.place(sheet, place.x, y + b - label.height / 2)
                    taken.append(place)
                    break


def spread_out(alike: g.Array, *, neighbours: float = 12.0, steps: int = 400) -> g.Array:
    """Return points in the plane whose neighbours are those of greatest likeness (t-SNE).

    alike: cosines of all pairs. neighbours: the perplexity. It begins with the two main
    directions, so that the same words always give the same map.
    """
    n = len(alike)
    apart = np.clip(2 - 2 * alike, 0, None)
    np.fill_diagonal(apart, 0)
    shares = np.zeros((n, n))
    for i in range(n):
        low, high, others = 1e-3, 1e4, np.delete(np.arange(n), i)
        for _ in range(50):
            rate = np.sqrt(low * high)
            p = np.exp(-rate * (apart[i, others] - apart[i, others].min()))
            p /= p.sum()
            wide = np.exp(-(p * np.log(p + 1e-30)).sum()) > min(neighbours, (n - 1) / 2)
            low, high = (rate, high) if wide else (low, rate)
        shares[i, others] = p
    shares = np.maximum((shares + shares.T) / (2 * n), 1e-12)
    middle = np.eye(n) - 1 / n
    _, directions = np.linalg.eigh(-0.5 * middle @ apart @ middle)
    signs = np.sign(directions[np.abs(directions).argmax(0), np.arange(n)])
    points: g.Array = 1e-2 * (directions * signs)[:, :-3:-1] / max(1e-9, directions[:, -1].std())
    moved = np.zeros_like(points)
    for step in range(steps):
        near = 1 / (1 + ((points[:, None] - points) ** 2).sum(-1))
        np.fill_diagonal(near, 0)
        pull = (shares * (4.0 if step < 100 else 1.0) - near / near.sum()) * near
        force = 4 * (pull.sum(1)[:, None] * points - pull @ points)
        moved = (0.5 if step < 100 else 0.8) * moved - max(n / 12, 10.0) * force
        points = points + moved
    return points

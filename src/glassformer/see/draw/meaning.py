"""The picture of word vectors as a map (V16)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from . import theme
from .canvas import Page
from .charts import dots
from .fonts import measure_width
from .selection import find_query, show_token, show_tokens

Array = NDArray[Any]
WIDE, TALL = 460.0, 380.0  # size of the map
FIRST_TEXT = 259  # smaller ids are marks and bytes


def _get_words(trace: Any) -> tuple[Array, list[str]]:
    """Return the embedding matrix and the texts of its rows.

    The vocabulary of a trace is that of the target side. If the source does not share it, only
    the tokens of the sentence have a text.
    """
    table = np.asarray(trace["source_embedding.table.weight"], dtype=float)
    texts = [""] * len(table)
    if trace.vocabulary is not None and trace.settings.tie == "three-way":
        texts = list(trace.vocabulary)
    for token in trace.source:
        texts[token.id] = token.text
    return table, texts


def draw_map(
    trace: Any, *, lang: str = "en", query: int | str | None = None, most: int = 70
) -> Figure:
    """Draw the embeddings along their two main directions, and a token's neighbours (V16)."""
    page = Page(lang)
    table, texts = _get_words(trace)
    own = trace.source[find_query(show_tokens(trace.source), query)].id
    named = [i for i, text in enumerate(texts) if i >= FIRST_TEXT and text.strip().isalpha()]
    named = [i for i in named if len(texts[i].strip()) > 1]
    named = named if len(named) > 2 else [token.id for token in trace.source]
    cosine = compare_meanings(table[named], table[own][None])
    near = [i for i in (named[k] for k in np.argsort(-cosine)) if i != own][:8]
    points, share = _project(table, named)
    page.box(0, 0, WIDE, TALL, fill="#fbfcfd", edge=theme.FAINT, round=6, layer=0)
    dots(page, points[named], 2, "#cfd4db", layer=1)
    sentence, some = [token.id for token in trace.source], named[:: max(1, len(named) // most)]
    _draw_words(page, texts, points, [own, *near, *sentence, *some], near, own)
    _list_neighbours(page, table, texts, near, own)
    percent = f"{100 * share:.0f} %"
    return page.finish(
        page.say("A map of words", "词的地图"),
        page.say(
            f"Principal components of the embedding matrix: the two axes show {percent} of the "
            "variance, so near on the map need not be near. The list on the right is exact: "
            "cosine in all dimensions.",
            f"嵌入矩阵的主成分：两轴只显示 {percent} 的方差，图上近未必真近。"
            "右侧列表是精确的：全部维度的余弦。",
        ),
    )


def _project(table: Array, named: list[int]) -> tuple[Array, float]:
    """Return every row as a point of the map, and the share of the variance that the map shows."""
    middle = table[named].mean(0)
    apart = table[named] - middle
    variance, directions = np.linalg.eigh(apart.T @ apart)  # the largest is last
    two = directions[:, :-3:-1]
    two = two * np.sign(two[np.abs(two).argmax(0), [0, 1]])  # the sign is arbitrary: fix it
    points = (table - middle) @ two
    low, high = points[named].min(0), points[named].max(0)
    points = (points - low) / np.maximum(high - low, 1e-12) * (1, -1) + (0, 1)
    room = np.array([WIDE - 28, TALL - 28])
    return 14 + points * room, float(variance[-2:].sum() / variance.sum())


def _list_neighbours(page: Page, table: Array, texts: list[str], near: list[int], own: int) -> None:
    """List the nearest tokens with their cosines."""
    word = show_token(texts[own])
    title = page.say(f"nearest to “{word}”", f"离“{word}”最近")
    page.text(WIDE + 36, 10, title, bold=True)
    for row, i in enumerate(near):
        y, value = 36 + row * 24.0, float(compare_meanings(table[i], table[own]))
        a, b = (f"trace['source_embedding.table.weight'][{k}]" for k in (i, own))
        page.text(WIDE + 116, y, show_token(texts[i]), mono=True, ha="right", width=84)
        ink = theme.role("embedded").ink
        page.box(WIDE + 124, y - 5, max(90 * value, 0.5), 10, fill=ink, edge=None, round=0)
        page.number(WIDE + 130 + 90 * max(value, 0), y, value, _cosine_of(a, b), ha="left")


def _cosine_of(a: str, b: str) -> str:
    """Return the tag of a cosine: the expression that computes it."""
    return f"derived:{a}@{b}/np.linalg.norm({a})/np.linalg.norm({b})"


def _draw_words(
    page: Page, texts: list[str], points: Array, wanted: list[int], near: list[int], own: int
) -> None:
    """Draw token names without overlap: first the token, then its neighbours, then others."""
    taken: list[tuple[float, float, float, float]] = []
    for i in dict.fromkeys(wanted):
        text = show_token(texts[i])
        x, y = (float(v) for v in points[i])
        width = measure_width(text, theme.SMALL, i == own)
        box = (x - 2, y - 6, x + width + 8, y + 6)
        if box[2] > WIDE or any(
            box[0] < t[2] and t[0] < box[2] and box[1] < t[3] and t[1] < box[3] for t in taken
        ):
            continue
        taken.append(box)
        color = "#b03030" if i == own else theme.role("embedded").ink if i in near else theme.SOFT
        page.box(x - 2, y - 2, 4, 4, round=2, fill=color, edge=None, layer=4)
        page.text(x + 5, y, text, size=theme.SMALL, color=color, bold=i == own)


def compare_meanings(a: Array, b: Array) -> Array:
    """Return the cosine of each row of one array with that row of the other."""
    a, b = a.astype(float), b.astype(float)
    cosine: Array = (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
    return cosine

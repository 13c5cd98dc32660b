"""What word vectors know, and what they learn from their sentence (V16, V18)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from . import theme
from .canvas import Page
from .fonts import measure
from .selection import find_output, find_query, show_piece, show_pieces

Array = NDArray[Any]
WIDE, TALL = 460.0, 380.0  # of the map
FIRST_TEXT = 259  # ids below stand for marks and bytes


def _get_words(trace: Any) -> tuple[Array, list[str]]:
    """The embedding matrix and the texts of its rows; ids that a trace cannot name have none."""
    table = np.asarray(trace["source_embedding.table.weight"], dtype=float)
    texts = [""] * len(table)
    if trace.vocabulary is not None and len(trace.vocabulary) == len(table):
        texts = list(trace.vocabulary)
    for piece in trace.source:
        texts[piece.id] = piece.text
    return table, texts


def draw_map(
    trace: Any, *, lang: str = "en", query: int | str | None = None, most: int = 70
) -> Figure:
    """The two directions in which the embeddings differ most, and a piece's nearest neighbours."""
    page = Page(lang)
    table, texts = _get_words(trace)
    own = trace.source[find_query(show_pieces(trace.source), query)].id
    named = [i for i, text in enumerate(texts) if i >= FIRST_TEXT and text.strip().isalpha()]
    named = [i for i in named if len(texts[i].strip()) > 1]
    named = named if len(named) > 2 else [piece.id for piece in trace.source]
    cosine = _compare(table[named], table[own][None])
    near = [i for i in (named[k] for k in np.argsort(-cosine)) if i != own][:8]
    points, share = _project(table, named)
    page.box(0, 0, WIDE, TALL, fill="#fbfcfd", edge=theme.FAINT, round=6, layer=0)
    for x, y in points[named]:
        page.box(x - 1, y - 1, 2, 2, round=1, fill="#cfd4db", edge=None, layer=1)
    sentence, some = [piece.id for piece in trace.source], named[:: max(1, len(named) // most)]
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
    """Every row as a point of the map, and the share of the variance that it shows."""
    middle = table[named].mean(0)
    _, strength, directions = np.linalg.svd(table[named] - middle, full_matrices=False)
    points = (table - middle) @ directions[:2].T
    low, high = points[named].min(0), points[named].max(0)
    points = (points - low) / np.maximum(high - low, 1e-12) * (1, -1) + (0, 1)
    room = np.array([WIDE - 28, TALL - 28])
    return 14 + points * room, float((strength[:2] ** 2).sum() / (strength**2).sum())


def _list_neighbours(page: Page, table: Array, texts: list[str], near: list[int], own: int) -> None:
    """The most alike pieces with their cosine."""
    word = show_piece(texts[own])
    title = page.say(f"nearest to “{word}”", f"离“{word}”最近")
    page.text(WIDE + 36, 10, title, bold=True)
    for row, i in enumerate(near):
        y, value = 36 + row * 24.0, float(_compare(table[i], table[own]))
        a, b = (f"trace['source_embedding.table.weight'][{k}]" for k in (i, own))
        page.text(WIDE + 116, y, show_piece(texts[i]), mono=True, ha="right", width=84)
        ink = theme.role("words").ink
        page.box(WIDE + 124, y - 5, max(90 * value, 0.5), 10, fill=ink, edge=None, round=0)
        page.number(WIDE + 130 + 90 * max(value, 0), y, value, _cosine_of(a, b), ha="left")


def _cosine_of(a: str, b: str) -> str:
    """What a cosine was made of, for its tag."""
    return f"derived:{a}@{b}/np.linalg.norm({a})/np.linalg.norm({b})"


def _draw_words(
    page: Page, texts: list[str], points: Array, wanted: list[int], near: list[int], own: int
) -> None:  # fmt: skip
    """Names where there is room: the piece and its neighbours first."""
    taken: list[tuple[float, float, float, float]] = []
    for i in dict.fromkeys(wanted):
        text = show_piece(texts[i])
        x, y = (float(v) for v in points[i])
        width = measure(text, theme.SMALL, i == own)
        box = (x - 2, y - 6, x + width + 8, y + 6)
        if box[2] > WIDE or any(
            box[0] < t[2] and t[0] < box[2] and box[1] < t[3] and t[1] < box[3] for t in taken
        ):  # fmt: skip
            continue
        taken.append(box)
        color = "#b03030" if i == own else theme.role("words").ink if i in near else theme.SOFT
        page.box(x - 2, y - 2, 4, 4, round=2, fill=color, edge=None, layer=4)
        page.text(x + 5, y, text, size=theme.SMALL, color=color, bold=i == own)


def draw_context(
    trace: Any, *, lang: str = "en", other: Any = None, query: str | None = None
) -> Figure:  # fmt: skip
    """The same row of E in two places: as the layers go by, the vectors part.

    other: a second recording of the same model in which the piece `query` also stands. Without
    it, a piece that stands twice in this sentence; or else each piece beside its own embedding.
    """
    page = Page(lang)
    pair = _find_pair(trace, other, query)
    names = [
        "source_embedding.words",
        *(find_output(trace, "encoder", i) for i in range(trace.settings.encoder_layers)),
    ]  # fmt: skip
    wide, tall = 430.0, 220.0
    step = wide / max(len(names) - 1, 1)
    for level in (0.0, 0.5, 1.0):
        page.line(
            [(0, tall * (1 - level)), (wide, tall * (1 - level))], color="#e6e9ed", width=0.8,
            layer=1,
        )  # fmt: skip
        page.text(
            -6, tall * (1 - level), f"{level:g}", size=theme.TINY, color=theme.SOFT, ha="right",
            gid="scale",
        )  # fmt: skip
    for i in range(len(names)):
        label = page.say("E", "E") if i == 0 else str(i - 1)
        page.text(i * step, tall + 34, label, size=theme.SMALL, color=theme.SOFT, ha="center")
    page.text(
        wide / 2, tall + 50, page.say("after encoder layer", "编码器各层之后"), size=theme.SMALL,
        color=theme.SOFT, ha="center",
    )  # fmt: skip
    page.text(
        -30, tall / 2, page.say("cosine", "余弦"), size=theme.SMALL, color=theme.SOFT, rotation=90,
        ha="center",
    )  # fmt: skip
    if pair is None:
        note = _draw_departures(page, trace, names, step, tall)
    else:
        note = _draw_pair(page, trace, other or trace, names, step, tall, pair, other is not None)
    return page.finish(
        page.say("A word in its sentence is more than the word", "句中的词不止是词"), note
    )  # fmt: skip


def _find_pair(trace: Any, other: Any, query: str | None) -> tuple[int, int] | None:
    first, second = trace.source[:-1], (other or trace).source[:-1]
    for i, a in enumerate(first):
        for j, b in enumerate(second):
            apart = other is not None or j > i
            if apart and a.id == b.id and query in (None, show_piece(a.text)):
                return i, j
    return None


def _draw_pair(
    page: Page, trace: Any, other: Any, names: list[str], step: float, tall: float,
    pair: tuple[int, int], two: bool,
) -> str:  # fmt: skip
    points = []
    for layer, name in enumerate(names):
        a, b = (
            np.asarray(t[name][i], dtype=float) for t, i in zip((trace, other), pair, strict=True)
        )  # fmt: skip
        value = float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        x, y = layer * step, tall * (1 - value)
        points.append((x, y))
        u, v = (f"trace['{name}'][{i}].astype(float)" for i in pair)
        page.number(
            x, y - 11, value,
            "computed" if two else f"derived:{u}@{v}/np.linalg.norm({u})/np.linalg.norm({v})",
        )  # fmt: skip
        page.box(x - 3, y - 3, 6, 6, round=3, fill=theme.role("memory").ink, edge=None, layer=5)
    page.line(points, color=theme.role("memory").ink, width=2)
    word = show_piece(trace.source[pair[0]].text)
    return page.say(
        f"“{word}” in two places, {pair[0]} and {pair[1]}: the same row of E, so the cosine "
        "starts at 1; then each takes up its own surroundings.",
        f"“{word}”出现在位置 {pair[0]} 和 {pair[1]}：查到的是 E 的同一行，余弦从 1 开始；之后各自"
        "吸收自己的上下文。",
    )  # fmt: skip


def _draw_departures(page: Page, trace: Any, names: list[str], step: float, tall: float) -> str:
    """Every piece: how alike it still is to its own embedding."""
    values = np.array([_compare(trace[names[0]], trace[name]) for name in names])
    lit = find_query(show_pieces(trace.source), None)
    for i in range(len(trace.source)):
        points = [(layer * step, tall * (1 - float(v))) for layer, v in enumerate(values[:, i])]
        own = i == lit
        page.line(
            points, color=theme.role("memory").ink if own else theme.FAINT, width=2.2 if own else 1,
            layer=4 if own else 2,
        )  # fmt: skip
    for layer, name in enumerate(names):
        u, v = f"trace['{names[0]}'][{lit}].astype(float)", f"trace['{name}'][{lit}].astype(float)"
        page.number(
            layer * step, tall * (1 - float(values[layer, lit])) - 11, float(values[layer, lit]),
            f"derived:{u}@{v}/np.linalg.norm({u})/np.linalg.norm({v})", bold=True,
        )  # fmt: skip
    word = show_piece(trace.source[lit].text)
    return page.say(
        "No piece stands twice in this sentence, so each line compares a piece with its own "
        f"embedding; in bold, “{word}”.",
        f"本句没有重复的词元，因此每条线把一个词元与它自己的嵌入相比；粗线为“{word}”。",
    )  # fmt: skip


def _compare(a: Array, b: Array) -> Array:
    """The cosine of each row of one with that of the other."""
    a, b = a.astype(float), b.astype(float)
    cosine: Array = (a * b).sum(-1) / np.linalg.norm(a, axis=-1) / np.linalg.norm(b, axis=-1)
    return cosine

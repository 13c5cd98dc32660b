"""A word in two sentences: the same row of E, and what the layers make of it (V18)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from . import theme
from .canvas import Page, Rect
from .cells import find_limit, heat, legend
from .charts import Chart
from .meaning import compare
from .rereading import read_again
from .selection import Array, find_output, find_query, show_pieces

WIDE, TALL = 430.0, 200.0
MOST = 48  # pieces that are read again


def cut_sentence(trace: Any, place: int) -> slice:
    """The sentence from one piece on; up to there, if little comes after. It is read again, so not
    more of it than can be at once."""
    count = len(trace.source) - 1
    if count - place >= 3:
        return slice(place, min(count, place + MOST))
    return slice(max(0, place + 1 - MOST), place + 1)


def quote(trace: Any, part: slice) -> str:
    """What some pieces stand for in the text."""
    pieces = trace.source[part]
    return str(trace.text[pieces[0].start : pieces[-1].end].strip())


def draw_context(
    trace: Any, *, lang: str = "en", other: Any = None, query: int | str | None = None
) -> Figure:
    """V18: one piece in two sentences, layer by layer.

    other: a second recording of the same model in which the piece stands too; without it, the
    second sentence is a part of the first, read by itself.
    """
    page = Page(lang)
    texts = show_pieces(trace.source)
    place = find_query(texts, query)
    if other is None:
        part = cut_sentence(trace, place)
        ids = [piece.id for piece in (*trace.source[part], trace.source[-1])]
        second, second_place, said = read_again(trace, ids), place - part.start, quote(trace, part)
    else:
        said, others = other.text.strip(), show_pieces(other.source)[:-1]
        second, second_place = other.__getitem__, find_query(others, texts[place])
    count = trace.settings.encoder_layers
    names = ["source_embedding.words", *(find_output(trace, "encoder", i) for i in range(count))]
    pairs = [(trace[name][place], second(name)[second_place]) for name in names]
    _draw_cosines(page, [float(compare(*pair)) for pair in pairs])
    _draw_strips(page, pairs[0][0], pairs[-1], (trace.text.strip(), said))
    word = texts[place]
    return page.finish(
        page.say(
            f"“{word}” in two sentences: one row of E, two vectors",
            f"两个句子里的“{word}”：E 的同一行，两个向量",
        ),
        page.say(
            "The cosine between the vectors of the same piece in the two sentences. Both look up "
            "the same row of E; each layer adds what stands around it, and where.",
            "同一词元在两个句子中的向量的余弦。查到的是 E 的同一行；每一层加入各自的上下文和位置。",
        ),
    )


def _draw_cosines(page: Page, values: list[float]) -> None:
    """From E upwards; the axis ends where the values do."""
    low = math.floor(10 * min(values) - 0.5) / 10
    chart = Chart(
        page,
        Rect(0, 0, WIDE, TALL),
        (0, max(len(values) - 1, 1)),
        (low, 1),
        x_ticks=(),
        across=page.say("after encoder layer", "编码器各层之后"),
        up=page.say("cosine", "余弦"),
    )
    ink = theme.role("memory").ink
    chart.curve(range(len(values)), values, ink, width=2)
    for layer, value in enumerate(values):
        x, y = chart.at(layer, value)
        page.box(x - 3, y - 3, 6, 6, round=3, fill=ink, edge=None, layer=5)
        right, down, ha = (0, 13, "center") if layer else (10, 0, "left")
        page.number(x + right, y + down, value, "computed", bold=True, ha=ha)
        page.text(
            x,
            TALL + 9,
            str(layer - 1) if layer else "E",
            size=theme.SMALL,
            ha="center",
            color=theme.SOFT,
        )


def _draw_strips(
    page: Page, row: Array, ends: tuple[Array, Array], sentences: tuple[str, str]
) -> None:
    """The row that both look up, and what each has become at the top."""
    top, limit = TALL + 66, find_limit(np.stack(ends))
    labels = (
        page.say("the row of E, × √d", "E 的那一行 × √d"),
        *(f"“{text}”" for text in sentences),
    )
    for line, (label, values) in enumerate(zip(labels, (row, *ends), strict=True)):
        y, own = top + 42.0 * line, find_limit(row) if line == 0 else limit
        page.text(
            0,
            y - 9,
            label,
            size=theme.SMALL,
            width=WIDE,
            color=theme.role("memory" if line else "words").ink,
        )
        heat(page, 0, y, values[None], WIDE, 16, role="memory" if line else "words", limit=own)
    for x, top_limit, label in (
        (0, limit, page.say("after the last layer", "最后一层之后")),
        (250, find_limit(row), page.say("the row of E", "E 的那一行")),
    ):
        legend(page, x, top + 106, "signed", top_limit, label=label)

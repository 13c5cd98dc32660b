"""The picture of one token in two sentences: one row of E, two vectors (V18)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from . import theme
from .canvas import Page, Rect
from .cells import find_limit, heat, legend
from .charts import Chart
from .meaning import compare_meanings
from .reencode import Fetch, read_again
from .selection import Array, find_output, find_query, show_tokens

WIDE, TALL = 430.0, 200.0
MOST = 48  # most tokens that are encoded again


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


def quote(trace: Any, part: slice) -> str:
    """Return the text that some source tokens stand for."""
    tokens = trace.source[part]
    return str(trace.text[tokens[0].start : tokens[-1].end].strip())


def draw_context(
    trace: Any, *, lang: str = "en", other: Any = None, query: int | str | None = None
) -> Figure:
    """Draw the cosine between the vectors of one token in two sentences, layer by layer (V18).

    other: a second recording of the same model with the same token. Without it, the second
    sentence is a part of the first, encoded by itself, or a single token twice.
    """
    page = Page(lang)
    texts = show_tokens(trace.source)
    place = find_query(texts, query)
    word = texts[place]
    second, second_place, said = _find_second(trace, place, other, word)
    count = trace.settings.encoder_layers
    names = ["source_embedding.embedded", "source_embedding.sum"]
    names += [find_output(trace, "encoder", i) for i in range(count)]
    pairs = [(trace[name][place], second(name)[second_place]) for name in names]
    cosines = [float(compare_meanings(*pair)) for pair in pairs]
    _draw_cosines(page, cosines)
    _draw_strips(page, pairs[0][0], pairs[-1], (trace.text.strip(), said))
    if place == second_place:
        position = page.say(
            f"The position ({place}) is the same in both, so all of the change is context.",
            f"两句中的位置相同（{place}），因此变化全部来自上下文。",
        )
    else:
        position = page.say(
            f"The positions {place} and {second_place} alone, before any layer, make it "
            f"{cosines[1]:.2f}; what the layers change is position and context together.",
            f"仅位置（{place} 与 {second_place}）不同，在任何层之前就已变为 {cosines[1]:.2f}；"
            "各层带来的变化则兼有位置与上下文。",
        )
    return page.finish(
        page.say(
            f"“{word}” in two sentences: one row of E, two vectors",
            f"两个句子里的“{word}”：E 的同一行，两个向量",
        ),
        page.say(
            "The cosine between the vectors of the same token in the two sentences. Both look up "
            f"the same row of E. {position}",
            f"同一词元在两个句子中的向量的余弦。查到的是 E 的同一行。{position}",
        ),
    )


def _find_second(trace: Any, place: int, other: Any, word: str) -> tuple[Fetch, int, str]:
    """Return the tensors of the second sentence, the index of the token in it, and its text.

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
        return other.__getitem__, there, other.text.strip()
    if len(ids) == 2:
        text = quote(trace, slice(0, 1))
        return read_again(trace, [ids[0], *ids]), 2 * place, f"{text} {text}"
    part = cut_sentence(len(ids) - 1, min(place, len(ids) - 2))
    return read_again(trace, [*ids[part], ids[-1]]), place - part.start, quote(trace, part)


def _draw_cosines(page: Page, values: list[float]) -> None:
    """Draw the cosine of the embedded token, of its sum with the position, and of each layer.

    The y axis ends just below the smallest value.
    """
    low = math.floor(10 * min(values) - 0.5) / 10
    chart = Chart(
        page,
        Rect(0, 0, WIDE, TALL),
        (0, len(values) - 1),
        (low, 1 + 0.1 * (1 - low)),
        x_ticks=(),
        across=page.say(
            "the word, its position added, and after each layer", "词，加上位置，各层之后"
        ),
        up=page.say("cosine", "余弦"),
    )
    ink = theme.role("memory").ink
    chart.curve(range(len(values)), values, ink, width=2)
    steps = [
        page.say("word", "词"),
        page.say("+ position", "+ 位置"),
        page.say("layer 0", "第 0 层"),
    ]
    for number, value in enumerate(values):
        x, y = chart.at(number, value)
        page.box(x - 3, y - 3, 6, 6, round=3, fill=ink, edge=None, layer=5)
        near = values[max(number - 1, 0) : number + 2]
        below = value < sum(near) / len(near)
        right, ha = (0, "center") if number else (5, "left")
        page.number(x + right, y + (12 if below else -12), value, "computed", bold=True, ha=ha)
        label = steps[number] if number < len(steps) else str(number - 2)
        page.text(x, TALL + 9, label, size=theme.SMALL, ha="center", color=theme.SOFT)


def _draw_strips(
    page: Page, row: Array, ends: tuple[Array, Array], sentences: tuple[str, str]
) -> None:
    """Draw the row of E that both sentences look up, and its two vectors after the last layer."""
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
            color=theme.role("memory" if line else "embedded").ink,
        )
        heat(page, 0, y, values[None], WIDE, 16, role="memory" if line else "embedded", limit=own)
    for x, top_limit, label in (
        (0, limit, page.say("after the last layer", "最后一层之后")),
        (250, find_limit(row), page.say("the row of E", "E 的那一行")),
    ):
        legend(page, x, top + 106, "signed", top_limit, label=label)

"""The merges by which byte-pair encoding made the tokens of one word (part of V10)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from . import theme
from .canvas import Page
from .fonts import measure_width
from .selection import find_query, show_tokens

ROWS, COLUMNS = 14, 30  # merges and symbols that are shown of a word
HIGH = 21.0  # height of a row


def choose_word(trace: Any, query: int | str | None) -> int:
    """Return the index of the word to which a token belongs.

    Without a token, choose the word with most merges among those that fit.
    """
    words = trace.document.words
    if query is None:
        merges = [len(word.merges) for word in words]
        return max(range(len(words)), key=lambda n: (merges[n] <= ROWS) * merges[n])
    place, left = find_query(show_tokens(trace.source), query), 0
    for number, word in enumerate(words):
        left += len(word.symbols) - len(word.merges)
        if place < left:
            return number
    return len(words) - 1


def draw_merges(page: Page, word: Any, number: int, x: float, y: float) -> None:
    """Draw the symbols of a word, and below them a row for each merge with its result lit."""
    ink, symbols = (
        theme.role("embedded"),
        [text.replace(" ", "▁") for text in word.symbols[:COLUMNS]],
    )
    edges = [x]
    for text in symbols:
        edges.append(edges[-1] + max(17.0, measure_width(text, theme.TEXT, mono=True) + 8))
    place = {0, len(symbols)} | {*range(1, len(symbols))}
    merges = [(n, m) for n, m in enumerate(word.merges) if m.index < len(symbols)]
    page.text(
        x - 8, y + 8, page.say("characters", "字符"), size=theme.SMALL, color=theme.SOFT, ha="right"
    )
    _draw_row(page, symbols, edges, sorted(place), y, -1)
    for row, (n, merge) in enumerate(merges[:ROWS], 1):
        place.remove(merge.index)
        top = y + row * HIGH
        page.text(
            x - 46,
            top + 8,
            page.say("merge", "合并"),
            size=theme.SMALL,
            color=theme.SOFT,
            ha="right",
        )
        page.number(
            x - 8,
            top + 8,
            merge.rank,
            f"derived:trace.document.words[{number}].merges[{n}].rank",
            digits=0,
            bold=True,
            color=ink.ink,
            ha="right",
        )
        _draw_row(page, symbols, edges, sorted(place), top, merge.index)
    hidden = len(word.merges) - min(len(merges), ROWS)
    if hidden:
        page.text(
            x,
            y + (ROWS + 1) * HIGH + 6,
            page.say(f"and {hidden} more merges", f"另有 {hidden} 次合并"),
            size=theme.SMALL,
            color=theme.SOFT,
        )


def _draw_row(
    page: Page, symbols: list[str], edges: list[float], gaps: list[int], y: float, closed: int
) -> None:
    """Draw the symbols between the gaps that are not yet closed."""
    ink = theme.role("embedded")
    for left, right in pairwise(gaps):
        lit = left < closed < right
        text = "".join(symbols[left:right])
        fill, edge, line = (ink.fill, ink.ink, 1.4) if lit else (theme.PAPER, theme.FAINT, 0.7)
        page.box(
            edges[left] + 1,
            y,
            edges[right] - edges[left] - 2,
            17,
            round=3,
            fill=fill,
            edge=edge,
            line=line,
        )
        page.text((edges[left] + edges[right]) / 2, y + 8.5, text, mono=True, ha="center", bold=lit)

"""An SVG of what each word of a translation reads: two columns of words, and threads between."""

from collections.abc import Collection, Sequence
from html import escape

import numpy as np

from glassformer.see.derive import group_words, mean_cross_attention, merge_words
from glassformer.see.document import Token
from glassformer.see.trace import Trace

WIDE, ROW, LETTERS = 340, 27, 128  # pixels of the picture, of a line, and of a column of words
FAINTEST, THICK = 0.08, 12.0  # the least weight that is drawn; pixels of a weight of 1


def draw_threads(trace: Trace, cut: int = -1, fresh: Collection[int] = ()) -> str:
    """Return the SVG of a recording: cross-attention between words, the mean of all heads.

    cut: the place of a source word that is not read. fresh: places of new words of the translation.
    """
    sources = locate_words(trace.source, trace.text)
    targets = locate_words(trace.predicted, trace.translation)
    groups = [[group for group, _ in side] for side in (targets, sources)]
    weights = np.zeros((len(targets), len(sources)))
    if weights.size:
        weights = merge_words(mean_cross_attention(trace), *groups)
    high = ROW * max(len(sources), len(targets), 1)
    places = [_spread(len(side), high) for side in (sources, targets)]
    drawn = [
        f'<path d="M{LETTERS} {places[0][m]}C{WIDE / 2} {places[0][m]} {WIDE / 2} {places[1][q]} '
        f'{WIDE - LETTERS} {places[1][q]}" stroke-width="{THICK * weights[q, m]:.1f}" '
        f'opacity="{0.2 + 0.7 * weights[q, m]:.2f}"/>'
        for q, m in np.argwhere(weights > FAINTEST).tolist()
    ]
    marks = ((' class="cut"', {cut}), (' class="fresh"', fresh))
    for side, words in enumerate((sources, targets)):
        mark, marked = marks[side]
        x, anchor = ((LETTERS - 6, "end"), (WIDE - LETTERS + 6, "start"))[side]
        drawn += [
            f'<text x="{x}" y="{y + 5}" text-anchor="{anchor}"{mark * (n in marked)}>'
            f"{escape(word)}</text>"
            for n, (y, (_, word)) in enumerate(zip(places[side], words, strict=True))
        ]
    caption = escape(f"{trace.text} → {trace.translation}")
    head = f'<svg viewBox="0 0 {WIDE} {high}" role="img" aria-label="{caption}">'
    return "".join((head, *drawn, "</svg>"))


def locate_words(tokens: Sequence[Token], text: str) -> list[tuple[list[int], str]]:
    """Return the tokens of each word that says something, with the word."""
    groups = group_words(tokens, text)
    spelt = [text[tokens[group[0]].start : tokens[group[-1]].end].strip() for group in groups]
    return [each for each in zip(groups, spelt, strict=True) if each[1]]


def _spread(count: int, high: int) -> list[int]:
    return [round(high * (n + 0.5) / count) for n in range(count)]

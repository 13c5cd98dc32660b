"""The whole translation on one page of size A1, to be printed (V113)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from .alignment import draw_cross_attention, find_clearest_step
from .choice import draw_choice
from .decoding import draw_first_word
from .parts import grammar as g
from .parts import style
from .parts.typesetting import quote
from .places import draw_sum
from .products import draw_row_of_scores
from .residual import draw_residual
from .words import draw_tokens

A1 = (1683.8, 2383.9)  # points
EDGE, GUTTER, HEAD, PAD = 38.0, 28.0, 176.0, 9.0
BETWEEN, BADGE = 20.0, 14.0  # two cards; the radius of a number on the line
SIZES = (40.0, 36.0, 32.0, 28.0, 25.0, 22.0, 19.0)  # of the texts at the head
LINES = 62.0  # the height that each of them has
TOP = style.MARGIN - 6  # of a scene: where its topic begins


def draw_clearest_choice(trace: Any, lang: str) -> g.Scene:
    """Show the choice of the step whose look is drawn above it."""
    return draw_choice(trace, lang=lang, step=find_clearest_step(trace))


COLUMNS: tuple[tuple[Callable[..., g.Scene], ...], ...] = (  # read downwards, then to the right
    (draw_tokens, draw_sum, draw_row_of_scores, partial(draw_residual, sublayer="feed_forward")),
    (draw_first_word, draw_cross_attention, draw_clearest_choice),
)


@g.figure("poster")
def draw_poster(plan: g.Outline) -> g.Scene:
    """Show the pictures of the way to the translation, all at one scale (V113)."""
    columns = [[draw(plan.trace, lang=plan.lang) for draw in column] for column in COLUMNS]
    widths = [max(scene.width for scene in column) - 2 * style.MARGIN for column in columns]
    across = A1[0] - 2 * EDGE - (len(columns) - 1) * GUTTER - 2 * PAD * len(columns)
    scale = min(across / sum(widths), *(_fill_height(column) for column in columns))
    spare = (across - scale * sum(widths)) / len(columns)
    sheet, x, count = g.Sheet(), EDGE, 0
    _write_head(plan, sheet)
    for column, wide in zip(columns, widths, strict=True):
        width = scale * wide + 2 * PAD + spare
        cards = _stack_cards(plan, sheet, column, (x, width), scale, count)
        _draw_line(sheet, cards, count, last=column is columns[-1])
        x, count = x + width + GUTTER, count + len(cards)
    return g.Scene(
        id="",
        lang=plan.lang,
        title=plan.say("title", n=count),
        description=plan.say("note"),
        width=A1[0],
        height=A1[1],
        marks=tuple(sheet.marks),
        data=plan.data,
    )


def _write_head(plan: g.Outline, sheet: g.Sheet) -> None:
    """Write the topic, the text and its translation across the page, and a foot."""
    wide = A1[0] - 2 * EDGE
    topic, trace = plan.say("topic"), plan.trace
    if len(trace.sentences) > 1:
        topic += plan.say("part", n=trace.sentence + 1, all=len(trace.sentences), text=trace.text)
    g.Label(topic, 20.0, style.TOPIC, bold=True, fit=wide).place(sheet, EDGE, EDGE - 14)
    y = EDGE + 12
    for label in _fit_texts(trace.whole_text, f"→ {trace.whole_translation}", wide):
        label.place(sheet, EDGE, y)
        y += label.height + 4
    foot = g.Label(plan.say("note"), 16.0, style.SOFT, fit=wide - 130)
    foot.place(sheet, EDGE, A1[1] - EDGE + 12)
    own = g.Label("glassformer", 16.0, style.SOFT, bold=True)
    own.place(sheet, A1[0] - EDGE - own.width, A1[1] - EDGE + 10)


def _fit_texts(source: str, target: str, wide: float) -> list[g.Label]:
    """Return both texts in the largest of the sizes at which each has at most two lines."""
    texts = [(" ".join(quote(source).split()), style.INK)]
    texts.append((" ".join(quote(target).split()), style.LIT))
    for size in SIZES:
        labels = [g.Label(text, size, ink, bold=True, width=wide) for text, ink in texts]
        if all(each.height <= LINES and each.width <= wide for each in labels):
            return labels
    return [g.Label(text, SIZES[-1], ink, bold=True, fit=wide) for text, ink in texts]


def _fill_height(scenes: Sequence[g.Scene]) -> float:
    """Return the scale at which scenes below each other fill the page."""
    return _measure_room(scenes) / sum(map(_measure, scenes))


def _measure_room(scenes: Sequence[g.Scene]) -> float:
    """Return the height of the page that is left for what is on the cards of a column."""
    return A1[1] - HEAD - EDGE - 20 - BETWEEN * (len(scenes) - 1) - 2 * PAD * len(scenes)


def _stack_cards(
    plan: g.Outline,
    sheet: g.Sheet,
    scenes: Sequence[g.Scene],
    across: tuple[float, float],
    scale: float,
    number: int,
) -> list[g.Area]:
    """Put scenes below each other on cards that fill the column; return the cards.

    across: the left edge and the width of the column. number: the pictures before these.
    """
    (x, width), y, cards = across, HEAD, list[g.Area]()
    spare = (_measure_room(scenes) - scale * sum(map(_measure, scenes))) / len(scenes)
    for n, scene in enumerate(scenes, number + 1):
        high = _measure(scene) * scale + 2 * PAD + spare
        sheet.box(x, y, width, high, edge=style.HAIR, round=10, layer=0)
        cards.append(g.Area(x, y, width, high))
        left = x + PAD - style.MARGIN * scale
        top = y + PAD + spare / 3 - TOP * scale
        sheet.marks += [m.shift(left, top, scale) for m in _rename(plan, scene, f"n{n}_")]
        y += high + BETWEEN
    return cards


def _draw_line(sheet: g.Sheet, cards: Sequence[g.Area], number: int, *, last: bool) -> None:
    """Draw a line beside the cards of a column, with the number of each; but for the last, on."""
    x = cards[0].x - BADGE
    for n, card in enumerate(cards, number + 1):
        sheet.dot(x, card.y + BADGE, BADGE, style.TOPIC, layer=6)
        text = g.Label(str(n), 15.0, style.PAPER, bold=True)
        text.place(sheet, x - text.width / 2, card.y + BADGE - text.height / 2)
    end = cards[-1].y + BADGE if last else cards[-1].bottom
    sheet.line((x, cards[0].y + BADGE), (x, end), ink=style.TOPIC, line=3.0, layer=5)


def _measure(scene: g.Scene) -> float:
    """Return the height of a scene without its margins and the line at its foot."""
    return max(mark.area.bottom for mark in scene.marks if mark.id != "foot") - TOP


def _rename(plan: g.Outline, scene: g.Scene, prefix: str) -> list[g.Mark]:
    """Return the marks of a finished scene; its own arrays get a prefix, and go to the poster."""
    plan.data |= {prefix + name: array for name, array in scene.data.items()}
    own = re.compile("|".join(rf"\b{name}(?=\[)" for name in scene.data) or "(?!)")
    marks = [mark for mark in scene.marks if mark.id != "foot" and not mark.until]
    return [
        replace(mark, of=own.sub(lambda m: prefix + m[0], mark.of), step=0, start=None)
        for mark in marks
    ]

"""The whole translation on one page of size A1, to be printed (V113)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from . import grammar as g
from . import style
from .alignment import draw_cross_attention
from .architecture import draw_figure_1
from .attention import draw_look
from .choice import draw_choice
from .decoding import draw_first_word, draw_walk
from .feed_forward import draw_feed_forward
from .measured import find_riddle
from .multihead import draw_all_heads
from .number import draw_number
from .places import draw_sum
from .residual import draw_stream
from .steps import draw_table
from .typesetting import quote
from .words import draw_tokens

A1 = (1683.8, 2383.9)  # points
EDGE, GUTTER, HEAD, PAD, TRIM = 60.0, 30.0, 196.0, 14.0, 20.0  # TRIM: of a picture's margin
COLUMNS: tuple[tuple[Callable[..., g.Scene], ...], ...] = (  # read downwards, then to the right
    (draw_tokens, draw_sum, draw_look, draw_figure_1),
    (partial(draw_table, stage=6), draw_number, draw_all_heads, draw_feed_forward),
    (draw_stream, draw_first_word, draw_cross_attention, draw_walk, draw_choice),
)


@g.figure("poster")
def draw_poster(plan: g.Outline) -> g.Scene:
    """Show thirteen pictures on one thread, from the text to its translation (V113)."""
    width = (A1[0] - 2 * EDGE - (len(COLUMNS) - 1) * GUTTER) / len(COLUMNS)
    sheet, cards = g.Sheet(), list[g.Area]()
    _write_head(plan, sheet)
    for n, functions in enumerate(COLUMNS):
        scenes = [function(plan.trace, lang=plan.lang) for function in functions]
        cards += _fill_column(plan, sheet, scenes, EDGE + n * (width + GUTTER), width, len(cards))
    _draw_thread(sheet, cards)
    return g.Scene(
        id="",
        lang=plan.lang,
        title=plan.say("title", n=len(cards)),
        description=_write_note(plan),
        width=A1[0],
        height=A1[1],
        marks=tuple(sheet.marks),
        data=plan.data,
    )


def _write_note(plan: g.Outline) -> str:
    """Return the line at the foot; of a riddle, one picture was measured on other sentences."""
    own = not find_riddle(plan.trace)
    return plan.say("note" if own else "note_but", n=1 + COLUMNS[0].index(draw_look))


def _write_head(plan: g.Outline, sheet: g.Sheet) -> None:
    """Write the topic, the text and its translation across the page, and a foot."""
    wide = A1[0] - 2 * EDGE
    plan.label("topic", 20.0, style.TOPIC, bold=True).place(sheet, EDGE, EDGE - 14)
    texts = quote(plan.trace.text), quote(plan.trace.translation)
    g.Label(texts[0], 40.0, bold=True, fit=wide).place(sheet, EDGE, EDGE + 12)
    g.Label(f"→ {texts[1]}", 40.0, style.LIT, bold=True, fit=wide).place(sheet, EDGE, EDGE + 66)
    foot = g.Label(_write_note(plan), 13.0, style.SOFT, fit=wide - 130)
    foot.place(sheet, EDGE, A1[1] - EDGE + 12)
    own = g.Label("glassformer", 16.0, style.SOFT, bold=True)
    own.place(sheet, A1[0] - EDGE - own.width, A1[1] - EDGE + 10)


def _fill_column(
    plan: g.Outline, sheet: g.Sheet, scenes: Sequence[g.Scene], x: float, width: float, number: int
) -> list[g.Area]:
    """Put scenes below each other on cards that fill the column; return the cards."""
    room = A1[1] - HEAD - EDGE - 20 - GUTTER * (len(scenes) - 1)
    sizes = [(scene.width - 2 * TRIM, _end_of(scene) - TRIM) for scene in scenes]
    factors = [(width - 2 * PAD) / wide for wide, _ in sizes]
    needed = sum(high * factor for (_, high), factor in zip(sizes, factors, strict=True))
    shrink = min(1.0, (room - 2 * PAD * len(scenes)) / needed)
    spare = (room - needed * shrink) / len(scenes)
    y, cards = HEAD, list[g.Area]()
    for scene, (wide, high), factor in zip(scenes, sizes, factors, strict=True):
        number, scale = number + 1, factor * shrink
        tall = high * scale + spare
        sheet.box(x, y, width, tall, edge=style.HAIR, round=10, layer=0)
        cards.append(g.Area(x, y, width, tall))
        left, top = x + (width - wide * scale) / 2, y + (tall - high * scale) / 2
        for mark in _rename(plan, scene, f"n{number}_"):
            sheet.marks.append(mark.shift(left - TRIM * scale, top - TRIM * scale, scale))
        y += tall + GUTTER
    return cards


def _draw_thread(sheet: g.Sheet, cards: Sequence[g.Area]) -> None:
    """Join the cards by a line in their order, with the number of each on it."""
    points: list[g.Point] = []
    for n, card in enumerate(cards, 1):
        if points and card.x > points[-1][0]:  # from the foot of a column to the head of the next
            below, above, between = cards[n - 2].bottom + 12, HEAD - 14, card.x - GUTTER / 2
            points += [(points[-1][0], below), (between, below), (between, above), (card.x, above)]
        points.append((card.x, card.y + 26))
        sheet.dot(card.x, card.y + 26, 14.0, style.TOPIC, layer=6)
        told = g.Label(str(n), 15.0, style.PAPER, bold=True)
        told.place(sheet, card.x - told.width / 2, card.y + 26 - told.height / 2)
    sheet.line(*points, ink=style.TOPIC, line=3.0, layer=5)


def _end_of(scene: g.Scene) -> float:
    """Return the height of a scene without the line at its foot, which the poster has once."""
    return max(mark.area.bottom for mark in scene.marks if mark.id != "foot") + 14


def _rename(plan: g.Outline, scene: g.Scene, prefix: str) -> list[g.Mark]:
    """Return the marks of a finished scene; its own arrays get a prefix, and go to the poster."""
    plan.data |= {prefix + name: array for name, array in scene.data.items()}
    own = re.compile("|".join(rf"\b{name}(?=\[)" for name in scene.data) or "(?!)")
    marks = [mark for mark in scene.marks if mark.id != "foot" and not mark.until]
    return [
        replace(mark, of=own.sub(lambda m: prefix + m[0], mark.of), step=0, start=None)
        for mark in marks
    ]

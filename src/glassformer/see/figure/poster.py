"""The whole translation on one page of size A1, to be printed (V113)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from . import grammar as g
from . import style
from .alignment import draw_cross_attention
from .attention import draw_look
from .choice import draw_choice
from .decoding import draw_first_word
from .measured import find_riddle
from .steps import draw_mean
from .typesetting import quote
from .words import draw_vectors

A1 = (1683.8, 2383.9)  # points
EDGE, GUTTER, HEAD, PAD = 48.0, 26.0, 196.0, 18.0
TOP = style.MARGIN - 6  # of a scene: where its topic begins
COLUMNS: tuple[tuple[Callable[..., g.Scene], ...], ...] = (  # read downwards, then to the right
    (draw_vectors, draw_mean, draw_look),
    (draw_first_word, draw_cross_attention, draw_choice),
)


@g.figure("poster")
def draw_poster(plan: g.Outline) -> g.Scene:
    """Show six pictures, each as wide as its column, on one thread to the translation (V113)."""
    width = (A1[0] - 2 * EDGE - (len(COLUMNS) - 1) * GUTTER) / len(COLUMNS)
    sheet, cards = g.Sheet(), list[g.Area]()
    _write_head(plan, sheet)
    for n, functions in enumerate(COLUMNS):
        scenes = [draw(plan.trace, lang=plan.lang) for draw in functions]
        across = EDGE + n * (width + GUTTER), width
        cards += _fill_column(plan, sheet, scenes, across, len(cards))
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
    return plan.say("note" if own else "note_but", n=1 + sum(COLUMNS, ()).index(draw_look))


def _write_head(plan: g.Outline, sheet: g.Sheet) -> None:
    """Write the topic, the text and its translation across the page, and a foot."""
    wide = A1[0] - 2 * EDGE
    plan.label("topic", 20.0, style.TOPIC, bold=True).place(sheet, EDGE, EDGE - 14)
    texts = quote(plan.trace.text), quote(plan.trace.translation)
    g.Label(texts[0], 40.0, bold=True, fit=wide).place(sheet, EDGE, EDGE + 12)
    g.Label(f"→ {texts[1]}", 40.0, style.LIT, bold=True, fit=wide).place(sheet, EDGE, EDGE + 66)
    foot = g.Label(_write_note(plan), 16.0, style.SOFT, fit=wide - 130)
    foot.place(sheet, EDGE, A1[1] - EDGE + 12)
    own = g.Label("glassformer", 16.0, style.SOFT, bold=True)
    own.place(sheet, A1[0] - EDGE - own.width, A1[1] - EDGE + 10)


def _fill_column(
    plan: g.Outline,
    sheet: g.Sheet,
    scenes: Sequence[g.Scene],
    across: tuple[float, float],
    number: int,
) -> list[g.Area]:
    """Put scenes below each other on cards that fill the column; return the cards.

    across: the left edge and the width of the column.
    """
    room = A1[1] - HEAD - EDGE - 20 - GUTTER * (len(scenes) - 1)
    scales = [(across[1] - 2 * PAD) / (scene.width - 2 * style.MARGIN) for scene in scenes]
    high = sum(_measure(scene) * scale for scene, scale in zip(scenes, scales, strict=True))
    shrink = min(1.0, (room - 2 * PAD * len(scenes)) / high)
    spare = (room - 2 * PAD * len(scenes) - high * shrink) / len(scenes)
    (x, width), y, cards = across, HEAD, list[g.Area]()
    for scene, wide in zip(scenes, scales, strict=True):
        number, scale = number + 1, wide * shrink
        high = _measure(scene) * scale + 2 * PAD
        sheet.box(x, y, width, high + spare, edge=style.HAIR, round=10, layer=0)
        cards.append(g.Area(x, y, width, high + spare))
        left, top = x + PAD - style.MARGIN * scale, y + PAD + spare / 3 - TOP * scale
        sheet.marks += [m.shift(left, top, scale) for m in _rename(plan, scene, f"n{number}_")]
        y += high + spare + GUTTER
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

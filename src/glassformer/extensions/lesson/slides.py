"""The slides of a lesson: one at a time, answers when asked, and notes for the teacher."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from typing import NamedTuple

from glassformer.extensions.pictures.measured import find_riddle
from glassformer.extensions.pictures.parts.svg import write_svg
from glassformer.extensions.pictures.pictures import make_scene

from .facts import LessonFacts
from .parts import (
    HERE,
    Say,
    address_live,
    lay_list,
    lay_table,
    list_terms,
    tell_all_shares,
    tell_back,
    tell_cuts,
    tell_doubt,
    tell_limits,
    tell_outcomes,
    tell_readings,
    tell_sides,
    tell_warnings,
    tell_weights,
    write_percent,
)

RIDDLES = "V49"  # the picture of what a pronoun hangs on


class Slide(NamedTuple):
    """A slide, in HTML."""

    title: str
    body: str
    note: str


def list_slides(facts: LessonFacts, say: Say) -> list[Slide]:
    """Return the slides, each with a note for the teacher."""
    sure = [(escape(each.word), write_percent(each.probability)) for each in facts.readings]
    columns = (say("column.word"), say("column.sure"))
    doubt = f'<p class="answer">{tell_doubt(facts, say)}</p>'
    limits = f'<div class="answer">{tell_limits(facts, say)}</div>'
    link = f'<a href="{escape(address_live(facts, say))}">{say("open.live")}</a>'
    back = f'<div class="answer">{tell_back(facts, say)}</div>' if facts.turned_back else ""
    first = f"{tell_sides(facts, say)}{back}{tell_warnings(facts, say)}"
    slides = [
        Slide(say("sentence"), first, say("note.first")),
        Slide(say("slide.words"), lay_list(list_terms(facts, say, short=True)), say("note.words")),
        Slide(say("slide.sure"), lay_table(columns, sure) + doubt, say("note.sure")),
        Slide(say("slide.read"), tell_readings(facts, say), say("note.guess")),
        Slide(say("slide.all"), tell_all_shares(facts, say), say("note.all")),
        Slide(say("slide.cut"), tell_cuts(facts, say), say("note.cut")),
        Slide(say("slide.weights"), tell_weights(facts, say), say("note.compute")),
        Slide(say("slide.limits"), tell_outcomes(facts, say) + limits, say("note.limits")),
    ]
    if find_riddle(facts.trace):
        slides.append(Slide(say("slide.pronoun"), draw_riddle(facts, say), say("note.pronoun")))
    last = f"<p>{say('step.own')}</p><p>{link}</p>"
    return [*slides, Slide(say("slide.live"), last, say("note.live"))]


def make_slides(facts: LessonFacts, say: Say) -> str:
    """Return the slides, and the program that turns them."""
    parts = [
        f'<section class="slide"><h2>{number}. {each.title}</h2>{each.body}'
        f'<p class="note">{each.note}</p></section>\n'
        for number, each in enumerate(list_slides(facts, say), start=1)
    ]
    script = (HERE / "slides.js").read_text(encoding="utf-8")
    return f'<p class="keys">{say("keys")}</p>' + "".join(parts) + f"<script>{script}</script>"


def draw_riddle(facts: LessonFacts, say: Say) -> str:
    """Return the picture of what the pronoun hangs on as an element that holds it."""
    scene = make_scene(facts.trace, RIDDLES, lang=say.lang)
    data = b64encode(write_svg(scene).encode()).decode("ascii")
    return f'<img alt="{escape(scene.description)}" src="data:image/svg+xml;base64,{data}">'

"""The slides of a lesson: one at a time, answers when asked, and notes for the teacher."""

from __future__ import annotations

from base64 import b64encode
from html import escape

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
    tell_cuts,
    tell_doubt,
    tell_limits,
    tell_readings,
    tell_sides,
    tell_weights,
    write_percent,
)

PICTURES = {"slide.picture": "V54", "slide.look": "V49"}


def make_slides(facts: LessonFacts, say: Say) -> str:
    """Return the slides, each with a note for the teacher, and the program that turns them."""
    sure = [(escape(each.word), write_percent(each.probability)) for each in facts.readings]
    link = f'<a href="{escape(address_live(facts, say))}">{say("open.live")}</a>'
    limits = f'<div class="answer">{tell_limits(facts, say)}</div>'
    columns = (say("column.word"), say("column.sure"))
    slides = (
        ("sentence", tell_sides(facts, say), say("note.first")),
        ("slide.words", lay_list(list_terms(facts, say, short=True)), say("note.words")),
        (
            "slide.sure",
            lay_table(columns, sure) + f'<p class="answer">{tell_doubt(facts, say)}</p>',
            say("note.sure"),
        ),
        ("slide.read", tell_readings(facts, say), say("note.guess")),
        ("slide.picture", draw_on_slide("slide.picture", facts, say), say("note.picture")),
        ("slide.cut", tell_cuts(facts, say), say("note.cut")),
        ("slide.weights", tell_weights(facts, say), say("note.compute")),
        ("slide.limits", limits, say("note.limits")),
        ("slide.look", draw_on_slide("slide.look", facts, say), say("note.look")),
        ("slide.live", f"<p>{say('step.own')}</p><p>{link}</p>", say("note.live")),
    )
    parts = [
        f'<section class="slide"><h2>{number}. {say(head)}</h2>{body}'
        f'<p class="note">{note}</p></section>\n'
        for number, (head, body, note) in enumerate(slides, start=1)
    ]
    script = (HERE / "slides.js").read_text(encoding="utf-8")
    return f'<p class="keys">{say("keys")}</p>' + "".join(parts) + f"<script>{script}</script>"


def draw_on_slide(key: str, facts: LessonFacts, say: Say) -> str:
    """Return a picture of the recording as an element that holds it."""
    scene = make_scene(facts.trace, PICTURES[key], lang=say.lang)
    data = b64encode(write_svg(scene).encode()).decode("ascii")
    return f'<img alt="{escape(scene.description)}" src="data:image/svg+xml;base64,{data}">'

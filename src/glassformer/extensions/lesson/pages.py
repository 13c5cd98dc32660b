"""The pages of a lesson: plan, sheet, answers, questions, slides and the app, each one file."""

from __future__ import annotations

from html import escape
from pathlib import Path

from glassformer.extensions.site.living import build_living_page
from glassformer.foundation.disk import write_text
from glassformer.foundation.messages import LANGUAGES

from .facts import LessonFacts, collect_facts
from .parts import (
    HERE,
    LIVE,
    Say,
    address_live,
    lay_list,
    lay_table,
    list_terms,
    list_warnings,
    mark_answer,
    tell_back,
    tell_cuts,
    tell_doubt,
    tell_limits,
    tell_readings,
    tell_sides,
    tell_warnings,
    tell_weights,
    write_percent,
)
from .slides import Slide, list_slides, make_slides

NAMES = ("plan", "sheet", "answers", "questions", "slides")
# Steps of the lesson and their minutes.
SHORT = {"ask": 5, "watch": 5, "guess": 10, "cut": 12, "limits": 8, "again": 5}
LONG = {"ask": 5, "watch": 10, "guess": 12, "cut": 15, "compute": 13, "limits": 10}
LONG |= {"own": 10, "code": 10, "again": 5}
QUIZ = 4  # questions; the first answer of each is the right one
ORDERS = ((1, 0, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0))  # in which the answers of each are shown
WHEN = ("before", "after")
GOALS, PREPARED = 3, ("sheet", "slides", "questions", "live", "course")


def write_lesson(
    model: Path | str, sentence: str, folder: Path, lang: str
) -> tuple[list[Path], list[str]]:
    """Write the pages of a lesson; return their paths, and warnings of the translation.

    ValueError for another language, a sentence that is too long for the pages, or a network of
    which the app has no views.
    """
    if lang not in LANGUAGES:
        raise ValueError(f"lang={lang}: one of {', '.join(LANGUAGES)}")
    facts = collect_facts(model, sentence)
    live = build_living_page([model], text=facts.sentence, lang=lang)
    say = Say(lang)
    makers = (make_plan, make_sheet, make_answers, make_questions, make_slides)
    pages = {
        name: wrap_page(name, make(facts, say), facts, say)
        for name, make in zip(NAMES, makers, strict=True)
    }
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.html" for name in (*pages, LIVE)]
    for path, text in zip(paths, (*pages.values(), live), strict=True):
        write_text(path, text)
    return paths, list_warnings(facts, say)


def wrap_page(name: str, body: str, facts: LessonFacts, say: Say) -> str:
    """Return a whole page around its body."""
    title, code = say("title", sentence=facts.sentence), "zh-CN" if say.lang == "zh" else "en"
    addresses = {each: f"{each}.html" for each in NAMES} | {LIVE: address_live(facts, say)}
    links = " · ".join(
        f'<a href="{escape(address)}">{say(f"name.{each}")}</a>'
        for each, address in addresses.items()
    )
    style = (HERE / "style.css").read_text(encoding="utf-8")
    return (
        f'<!doctype html>\n<html lang="{code}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{say(f'name.{name}')}: {title}</title><style>\n{style}</style></head>\n<body>"
        f'<nav>{links}</nav><main class="{name}"><h1>{title}</h1>\n{body}'
        f'<p class="note">{say("made", model=facts.model)}</p></main></body></html>\n'
    )


def make_plan(facts: LessonFacts, say: Say) -> str:
    """Return goals, what to prepare, the words, and the plans for 45 and for 90 minutes."""
    goals = lay_list(say(f"goal.{n}") for n in range(1, GOALS + 1))
    prepared = lay_list(say(f"prepare.{each}") for each in PREPARED)
    sides = f"{tell_sides(facts, say)}{tell_back(facts, say)}{tell_warnings(facts, say)}"
    parts = [f"{sides}<h2>{say('goals')}</h2>{goals}<h2>{say('prepare')}</h2>{prepared}"]
    for plan in (SHORT, LONG):
        begin, rows = 0, []
        for step, minutes in plan.items():
            rows.append((f"{begin}-{begin + minutes}", say(f"step.{step}")))
            begin += minutes
        head = (say("column.time"), say("column.what"))
        parts.append(f"<h2>{say('minutes', count=begin)}</h2>{lay_table(head, rows)}")
    notes = (tell_note(each, say) for each in list_slides(facts, say))
    parts.append(f"<h2>{say('words')}</h2>{lay_list(list_terms(facts, say))}")
    parts.append(f"<h2>{say('notes')}</h2>{lay_list(notes, numbered=True)}")
    return "".join(parts)


def tell_note(slide: Slide, say: Say) -> str:
    """Return the title of a slide with its note; both are HTML already."""
    titled = say("note.titled", title="\0", note="\1")
    return titled.replace("\0", slide.title).replace("\1", slide.note)


def make_sheet(facts: LessonFacts, say: Say) -> str:
    """Return the two pages for the class."""
    reads = [(escape(each.word), write_percent(each.probability), "") for each in facts.readings]
    cuts = [(escape(each.word), write_percent(each.share), "") for each in facts.cuts]
    scores = [(escape(word), f"{score:.1f}", "") for word, score in facts.scores]
    line = '<p class="line"></p>' * 3
    return (
        f'<section class="page">{tell_sides(facts, say)}<p>{say("task.read")}</p>'
        + lay_table((say("column.word"), say("column.sure"), say("column.guess")), reads)
        + f'</section><section class="page"><p>{say("task.cut")}</p>'
        + lay_table((say("column.cut"), say("column.share"), say("column.guess")), cuts)
        + f"<p>{say('task.compute', word=facts.scored)}</p>"
        + lay_table((say("column.word"), say("column.score"), say("column.weight")), scores)
        + f"<p>{say('task.limits')}</p>{line}</section>\n"
    )


def make_answers(facts: LessonFacts, say: Say) -> str:
    """Return the answers to all tasks, for the teacher."""
    letters = ", ".join(f"{n + 1}{mark_answer(ORDERS[n].index(0))}" for n in range(QUIZ))
    return (
        f"{tell_sides(facts, say)}{tell_back(facts, say)}{tell_warnings(facts, say)}"
        f"<p>{say('task.read')}</p>{tell_readings(facts, say)}"
        f"<p>{say('note.sure')} {tell_doubt(facts, say)}</p>"
        f"<p>{say('task.cut')}</p>{tell_cuts(facts, say)}"
        f"<p>{say('task.compute', word=facts.scored)}</p>{tell_weights(facts, say)}"
        f"<p>{say('task.limits')}</p>{tell_limits(facts, say)}"
        f"<h2>{say('name.questions')}</h2><p>{say('right', letters=letters)}</p>"
    )


def make_questions(facts: LessonFacts, say: Say) -> str:
    """Return the questions, to be answered before and after, with counts."""
    parts = [f'<p class="note">{say("quiz.note")}</p>']
    for when in WHEN:
        parts.append(f'<section class="page"><h2>{say(when)}</h2>')
        for number in range(1, QUIZ + 1):
            question, *answers = say(f"quiz.{number}").split("|")
            parts.append(f"<p>{number}. {question}</p>")
            for letter, place in zip(map(mark_answer, range(3)), ORDERS[number - 1], strict=True):
                data = f'data-when="{when}" data-question="{number}" data-answer="{letter}"'
                data += f' data-text="{question}" data-words="{answers[place]}"'
                data += ' data-right="1"' if place == 0 else ""
                count = '<span class="count">: <output>0</output></span>'
                text = f"{letter}) {answers[place]}{count}"
                parts.append(f'<button type="button" {data}>{text}</button><br>')
        parts.append("</section>")
    script = (HERE / "tally.js").read_text(encoding="utf-8")
    for action in ("save", "undo", "clear"):
        sure = f' data-sure="{say("clear.sure")}"' if action == "clear" else ""
        parts.append(f'<button type="button" class="{action}"{sure}>{say(action)}</button> ')
    return "".join([*parts, f"<script>{script}</script>"])

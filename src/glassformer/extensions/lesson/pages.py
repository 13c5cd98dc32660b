"""The pages of a lesson: plan, sheet, answers, questions and slides, each a file of HTML."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from pathlib import Path

from glassformer.foundation.disk import write_text
from glassformer.foundation.messages import LANGUAGES, Messages

from .facts import LessonFacts, collect_facts

HERE = Path(__file__).parent
NAMES = ("plan", "sheet", "answers", "questions", "slides")
# Steps of the lesson and their minutes.
SHORT = {"ask": 5, "watch": 5, "guess": 10, "cut": 12, "limits": 8, "again": 5}
LONG = {"ask": 5, "watch": 10, "guess": 12, "cut": 15, "compute": 13, "limits": 10}
LONG |= {"own": 10, "code": 10, "again": 5}
QUIZ = 4  # questions; the first answer of each is the right one
ORDERS = ((1, 0, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0))  # in which the answers of each are shown
WIDE = ("before", "after")
Say = Callable[..., str]


def write_lesson(model: Path | str, sentence: str, folder: Path, lang: str) -> list[Path]:
    """Write the pages of a lesson, and return their paths.

    ValueError for another language, or a sentence that is too long for the pages.
    """
    if lang not in LANGUAGES:
        raise ValueError(f"lang={lang}: one of {', '.join(LANGUAGES)}")
    facts = collect_facts(model, sentence)
    texts = Messages(HERE / "messages.json")

    def say(key: str, **fill: object) -> str:
        return escape(texts.say(key, lang, **fill))

    folder.mkdir(parents=True, exist_ok=True)
    makers = (make_plan, make_sheet, make_answers, make_questions, make_slides)
    paths = []
    for name, make in zip(NAMES, makers, strict=True):
        path = folder / f"{name}.html"
        write_text(path, wrap_page(name, make(facts, say), facts, say, lang))
        paths.append(path)
    return paths


def wrap_page(name: str, body: str, facts: LessonFacts, say: Say, lang: str) -> str:
    """Return a whole page around its body."""
    title = say("title", sentence=facts.sentence)
    links = " · ".join(f'<a href="{each}.html">{say(f"name.{each}")}</a>' for each in NAMES)
    code = "zh-CN" if lang == "zh" else "en"
    style = (HERE / "style.css").read_text(encoding="utf-8")
    return (
        f'<!doctype html>\n<html lang="{code}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{say(f'name.{name}')}: {title}</title><style>\n{style}</style></head>\n<body>"
        f"<nav>{links}</nav><main><h1>{title}</h1>\n{body}"
        f'<p class="note">{say("made", model=facts.model)}</p></main></body></html>\n'
    )


def lay_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; an empty cell is one to write in."""
    cells = (
        "".join(f"<td>{each}</td>" if each else '<td class="blank"></td>' for each in row)
        for row in rows
    )
    top = "".join(f"<th>{each}</th>" for each in head)
    return f"<table><tr>{top}</tr>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>\n"


def make_plan(facts: LessonFacts, say: Say) -> str:
    """Return the plans for 45 and for 90 minutes."""
    parts = []
    for plan in (SHORT, LONG):
        begin, rows = 0, []
        for step, minutes in plan.items():
            rows.append((f"{begin}-{begin + minutes}", say(f"step.{step}")))
            begin += minutes
        head = (say("column.time"), say("column.what"))
        parts.append(f"<h2>{say('minutes', count=begin)}</h2>{lay_table(head, rows)}")
    return "".join(parts)


def make_sheet(facts: LessonFacts, say: Say) -> str:
    """Return the two pages for the class."""
    reads = [(escape(each.word), write_percent(each.probability), "") for each in facts.readings]
    cuts = [(escape(each.word), "") for each in facts.cuts]
    scores = [(escape(word), f"{score:.1f}", "") for word, score in facts.scores]
    line = '<p class="line"></p>' * 3
    return (
        f'<section class="page">{tell_sides(facts, say)}<p>{say("task.read")}</p>'
        + lay_table((say("column.word"), say("column.sure"), say("column.guess")), reads)
        + f'</section><section class="page"><p>{say("task.cut")}</p>'
        + lay_table((say("column.cut"), say("column.guess")), cuts)
        + f"<p>{say('task.compute', word=facts.scored)}</p>"
        + lay_table((say("column.word"), say("column.score"), say("column.weight")), scores)
        + f"<p>{say('task.limits')}</p>{line}</section>\n"
    )


def tell_sides(facts: LessonFacts, say: Say) -> str:
    """Return the sentence and its translation."""
    sides = (("sentence", facts.sentence), ("translation", facts.translation))
    return "".join(f"<p><b>{say(key)}:</b> {escape(text)}</p>" for key, text in sides)


def write_percent(share: float) -> str:
    """Return a share in percent; one that is not quite 100 % never reads so."""
    return f"{100 * share:.0f} %" if share < 0.995 else ">99 %"


def tell_readings(facts: LessonFacts, say: Say) -> str:
    """Return what each word reads most."""
    rows = [
        (escape(one.word), escape(one.read), write_percent(one.share)) for one in facts.readings
    ]
    return lay_table((say("column.word"), say("column.reads"), say("column.weight")), rows)


def tell_cuts(facts: LessonFacts, say: Say) -> str:
    """Return what each cut changes."""
    rows = [
        (
            escape(each.word),
            escape(", ".join(each.changed)) or say("nothing"),
            escape(each.translation),
        )
        for each in facts.cuts
    ]
    return lay_table((say("column.cut"), say("column.changed"), say("column.says")), rows)


def tell_weights(facts: LessonFacts, say: Say) -> str:
    """Return the scores and their softmax."""
    pairs = zip(facts.scores, facts.weigh(), strict=True)
    rows = [(escape(word), f"{score:.1f}", f"{weight:.3f}") for (word, score), weight in pairs]
    return lay_table((say("column.word"), say("column.score"), say("column.weight")), rows)


def make_answers(facts: LessonFacts, say: Say) -> str:
    """Return the answers to all tasks, for the teacher."""
    letters = ", ".join(f"{n + 1}{'abc'[ORDERS[n].index(0)]}" for n in range(QUIZ))
    return (
        f"{tell_sides(facts, say)}<p>{say('task.read')}</p>{tell_readings(facts, say)}"
        f"<p>{say('task.cut')}</p>{tell_cuts(facts, say)}"
        f"<p>{say('task.compute', word=facts.scored)}</p>{tell_weights(facts, say)}"
        f"<p>{say('task.limits')}</p><p>{say('limits')}</p>"
        f"<h2>{say('name.questions')}</h2><p>{say('right', letters=letters)}</p>"
    )


def make_questions(facts: LessonFacts, say: Say) -> str:
    """Return the questions, to be answered before and after, with counts."""
    parts = [f'<p class="note">{say("quiz.note")}</p>']
    for when in WIDE:
        parts.append(f'<section class="page"><h2>{say(when)}</h2>')
        for number in range(1, QUIZ + 1):
            question, *answers = say(f"quiz.{number}").split("|")
            parts.append(f"<p>{number}. {question}</p>")
            for letter, place in zip("abc", ORDERS[number - 1], strict=True):
                data = f'data-when="{when}" data-question="{number}" data-answer="{letter}"'
                count = '<span class="count">: <output>0</output></span>'
                text = f"{letter}) {answers[place]}{count}"
                parts.append(f'<button type="button" {data}>{text}</button><br>')
        parts.append("</section>")
    script = (HERE / "tally.js").read_text(encoding="utf-8")
    parts.append(f'<button type="button" class="save">{say("save")}</button>')
    return "".join([*parts, f"<script>{script}</script>"])


def make_slides(facts: LessonFacts, say: Say) -> str:
    """Return the slides, each with a note for the teacher."""
    sure = [(escape(each.word), write_percent(each.probability)) for each in facts.readings]
    slides = (
        ("sentence", tell_sides(facts, say), "note.watch"),
        ("slide.sure", lay_table((say("column.word"), say("column.sure")), sure), "note.guess"),
        ("slide.read", tell_readings(facts, say), "step.guess"),
        ("slide.cut", tell_cuts(facts, say), "note.cut"),
        ("slide.weights", tell_weights(facts, say), "note.compute"),
        ("slide.limits", f"<p>{say('limits')}</p>", "step.limits"),
    )
    return "".join(
        f'<section class="slide"><h2>{number}. {say(head)}</h2>{body}'
        f'<p class="note">{say(note)}</p></section>\n'
        for number, (head, body, note) in enumerate(slides, start=1)
    )

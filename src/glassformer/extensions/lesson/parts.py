"""Parts of the pages of a lesson: tables, lists, and sentences with the model's numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import urlencode

from glassformer.foundation.messages import Messages

from .facts import LessonFacts

HERE = Path(__file__).parent
CODE = re.compile("`([^`]+)`")
LIVE = "live"  # the page with the app
NEAR = 0.05  # probabilities that differ by less are about equal
MARKED = ' class="marked"'  # white letters on a dark cell
TOP = 3  # words that are named


class Say:
    """Says texts of the lesson in one language, for HTML."""

    def __init__(self, lang: str) -> None:
        self.lang = lang

    def __call__(self, key: str, **fill: object) -> str:
        """Return a text with its braces filled in; what stands in backquotes is code."""
        text = escape(_read_messages().say(key, self.lang, **fill))
        return CODE.sub(r"<code>\1</code>", text)


@cache
def _read_messages() -> Messages:
    return Messages(HERE / "messages.json")


def lay_table(head: Sequence[str], rows: Iterable[Sequence[str]], hidden: int = 0) -> str:
    """Return a table; an empty cell is one to write in.

    hidden: so many last cells of each row are answers, which slides show only when asked.
    """
    parts = []
    for row in rows:
        kinds = ["answer" if n >= len(row) - hidden else "" for n in range(len(row))]
        kinds = [kind if cell else "blank" for kind, cell in zip(kinds, row, strict=True)]
        cells = zip(kinds, row, strict=True)
        parts.append("".join(f'<td class="{kind}">{each}</td>' for kind, each in cells))
    top = "".join(f"<th>{each}</th>" for each in head)
    body = "".join(f"<tr>{row}</tr>" for row in parts)
    return f"<table><tr>{top}</tr>{body}</table>\n".replace(' class=""', "")


def lay_list(items: Iterable[str], *, numbered: bool = False) -> str:
    """Return a list, with bullets or with numbers."""
    kind = "ol" if numbered else "ul"
    return f"<{kind}>{''.join(f'<li>{each}</li>' for each in items)}</{kind}>\n"


def address_live(facts: LessonFacts, say: Say) -> str:
    """Return the address of the app with the sentence in it."""
    place = {"text": facts.sentence, "language": say.lang}
    return f"{LIVE}.html#/first?{urlencode(place)}"


def mark_answer(place: int) -> str:
    """Return the letter of an answer, from 0."""
    return "abc"[place]


def write_percent(share: float) -> str:
    """Return a share in percent, of which only 0 and 1 read as 0 % and 100 %."""
    if 0 < share < 0.005:
        return f"{100 * share:.1g} %"
    return f"{100 * share:.0f} %" if share < 0.995 else ">99 %"


def tell_sides(facts: LessonFacts, say: Say) -> str:
    """Return the sentence and its translation."""
    sides = {say("sentence.is"): facts.sentence, say("translation.is"): facts.translation}
    return "".join(f"<p><b>{key}</b> {escape(text)}</p>" for key, text in sides.items())


def tell_back(facts: LessonFacts, say: Say) -> str:
    """Return the translation in the first language again; nothing if no model does that."""
    if facts.turned_back is None:
        return ""
    text, model = facts.turned_back
    return f"<p><b>{say('back.is', model=model)}</b> {escape(text)}</p>"


def list_warnings(facts: LessonFacts, say: Say) -> list[str]:
    """Return what a teacher has to know of the translation before showing it."""
    warnings = [say("warn.unmet", words=", ".join(facts.unmet))] if facts.unmet else []
    return [*warnings, say("warn.unsure")] if facts.is_unsure else warnings


def tell_warnings(facts: LessonFacts, say: Say) -> str:
    """Return the warnings as paragraphs."""
    return "".join(f'<p class="warning">{each}</p>' for each in list_warnings(facts, say))


def list_terms(facts: LessonFacts, say: Say, *, short: bool = False) -> list[str]:
    """Return what the words of the lesson mean; short: the three that everybody needs."""
    most = max(facts.readings, key=lambda each: each.share)
    weight = {"word": most.word, "share": write_percent(most.share), "read": most.read}
    keys = ("attention", "weight", "cut") if short else ("model", "attention", "weight", "sure")
    terms = [say(f"term.{key}", **weight) for key in keys]
    if short:
        return terms
    settings = facts.trace.settings
    size = {"layers": settings.decoder_layers, "heads": settings.heads}
    return [*terms, say("term.cut"), say("term.rows", **size)]


def tell_readings(facts: LessonFacts, say: Say) -> str:
    """Return what each word reads most."""
    rows = [
        (escape(one.word), escape(one.read), write_percent(one.share)) for one in facts.readings
    ]
    head = (say("column.word"), say("column.reads"), say("column.weight"))
    return lay_table(head, rows, hidden=2)


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
    head = (say("column.cut"), say("column.changed"), say("column.says"))
    return lay_table(head, rows, hidden=2)


def tell_all_shares(facts: LessonFacts, say: Say) -> str:
    """Return the shares of all words of the sentence as a table, dark where they are large."""
    head = "".join(f"<th><span>{escape(word)}</span></th>" for word in facts.words)
    rows = []
    for reading, shares in zip(facts.readings, facts.shares, strict=True):
        cells = "".join(
            f'<td style="--share: {share:.3f}"{MARKED if share > 0.5 else ""}>'
            f"{100 * share:.0f}</td>"
            for share in shares
        )
        rows.append(f"<tr><th>{escape(reading.word)}</th>{cells}</tr>")
    return f'<table class="shares"><tr><th></th>{head}</tr>{"".join(rows)}</table>\n'


def tell_outcomes(facts: LessonFacts, say: Say) -> str:
    """Return how much each word is read beside what its cut changes, the most read first."""
    most = max(each.share for each in facts.cuts)
    rows = [
        (
            escape(each.word),
            f'<span class="bar" style="--share: {each.share / most:.3f}"></span> '
            f"{write_percent(each.share)}",
            escape(", ".join(each.changed)) or say("nothing"),
        )
        for each in facts.rank_cuts()
    ]
    head = (say("column.cut"), say("column.share"), say("column.changed"))
    return lay_table(head, rows, hidden=1)


def tell_weights(facts: LessonFacts, say: Say) -> str:
    """Return the scores and their softmax."""
    pairs = zip(facts.scores, facts.weigh(), strict=True)
    rows = [(escape(word), f"{score:.1f}", f"{weight:.3f}") for (word, score), weight in pairs]
    head = (say("column.word"), say("column.score"), say("column.weight"))
    return lay_table(head, rows, hidden=1)


def tell_doubt(facts: LessonFacts, say: Say) -> str:
    """Return of which word the model is the least sure, and why of none it is sure wholly."""
    least, most = facts.find_least_sure(), max(each.probability for each in facts.readings)
    if most - least.probability < NEAR:
        numbers = {"least": write_percent(least.probability), "most": write_percent(most)}
        lines = [say("sure.even", **numbers)]
    else:
        rival = {"rival": least.rival, "rival_percent": write_percent(least.rival_probability)}
        lines = [
            say("sure.least", word=least.word, percent=write_percent(least.probability), **rival)
        ]
    if facts.smoothing and most < 1 - facts.smoothing + NEAR:
        lines.append(say("sure.smoothed", part=write_percent(facts.smoothing)))
    return " ".join(lines)


def tell_limits(facts: LessonFacts, say: Say) -> str:
    """Return words that are read and not needed, and the other way round."""
    lines = []
    for key, cuts in (("useless", facts.list_useless()), ("needed", facts.list_needed())):
        words = ", ".join(f"{each.word} ({write_percent(each.share)})" for each in cuts[:TOP])
        lines.append(say(f"limits.{key}", words=words) if cuts else say(f"limits.{key}.none"))
    return lay_list([*lines, say("limits")])

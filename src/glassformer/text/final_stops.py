"""The mark at the end of a sentence that is typed without one.

A network whose training text hardly has a line without a stop, as collections of sentences do,
loses the thread of one: it says the end twice, or goes on. So it reads a stop there, and the
translation loses it again. A training counts the lines without one, in `characters.json`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from unicodedata import category

from .patterns import LazyPattern
from .spacing import name_base

# What ends a sentence, and what ends a question.
STOPS = {".": "?", "。": "？", "।": "?", "።": "?", "፡፡": "?", "။": "။", "។": "?", "۔": "؟"}
STOPS |= {"։": "։", "᙮": "?", "᱾": "?", "།": "།"}
LINES, OPEN = "lines", "lines without a stop"  # what is counted
RARE = 0.02  # of the lines: fewer are without a stop
USUAL = 0.5  # of the lines: so many have the usual stop
_ENDS = tuple(".!?…‥。！？｡؟።፡፧:;,\"'”’»)]}" + "".join(STOPS))
ENCLOSED_END = LazyPattern(r"(?:^|\s)[(\[][^()\[\]]*[)\]]$")  # Not found (404)
_ANY, _QUESTION = ".!。！" + "".join(STOPS), "?？؟፧"
WRITTEN = dict.fromkeys(STOPS, _ANY) | dict.fromkeys(_QUESTION, _QUESTION)  # in a translation


def count_stops(lines: Sequence[str], counts: dict[str, int]) -> None:
    """Add to `counts` how many lines there are, how many end without a mark, and with which."""
    bare = [line.rstrip() for line in lines]
    here = {stop: sum(line.endswith(stop) for line in bare) for stop in STOPS}
    here |= {LINES: len(bare), OPEN: sum(not line.endswith(_ENDS) for line in bare)}
    counts |= {name: counts.get(name, 0) + count for name, count in here.items()}


def find_usual_stop(counts: Mapping[str, int], is_known: Callable[[str], bool]) -> str:
    """Return the stop that a sentence of this training text ends with; "" if many have none."""
    if not 0 <= counts.get(OPEN, 0) < RARE * counts.get(LINES, 0):
        return ""
    stop = max(filter(is_known, STOPS), key=lambda each: counts.get(each, 0), default="")
    is_usual = counts.get(stop, 0) >= USUAL * counts[LINES]
    return stop if is_usual or STOPS.keys().isdisjoint(counts) else ""  # they were not counted once


@cache
def find_questions(language: str | None) -> re.Pattern[str] | None:
    """Return what finds the beginning of a question, in small letters; None if not known."""
    import tomllib  # few texts lack a stop

    path = Path(__file__).with_name("questions.toml")
    known = tomllib.loads(path.read_text(encoding="utf-8")).get(name_base(language))
    return re.compile("|".join(known)) if known else None


def choose_stop(text: str, usual: str, language: str | None) -> str:
    """Return the mark that a sentence lacks at its end; "" if it lacks none.

    usual: see `find_usual_stop`.
    """
    last = text[-2:-1] if ENCLOSED_END.search(text) else text[-1:]
    if not usual or not last or not (last.isalnum() or category(last)[0] == "M"):
        return ""
    questions = find_questions(language)
    is_question = questions and questions.match(text.lower())
    return STOPS[usual] if is_question else usual


def strip_stop(text: str, stop: str) -> str:
    """Return a translation without the mark that stands for the one that its source lacked."""
    bare = text.rstrip(WRITTEN[stop])
    mark = text[len(bare) :]
    return bare.rstrip(" \u00a0\u202f") if len(mark) == 1 or mark in STOPS else text

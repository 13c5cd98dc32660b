"""The results of `benchmarks/pronoun.py` for the model that ships, for a picture's title."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from glassformer.see.files import fingerprint

from .parts.selection import Attention

MEASURED = Path(__file__).with_name("measured.json")
ASKED = {  # a query's name in the table; which rows of the picture it means
    "encoder self_attention": ("it reads the source", r"it"),
    "decoder cross_attention": ("the pronoun step reads the source", r".* → (qu['’])?(il|elle)"),
}


REASON = r"because it (?:is|was) (?:too |very )?"
RIDDLE = re.compile(
    rf"(?:{REASON}(?P<before>\w+), )?\w+ (?P<first>\w+) .*?(?P<last>\w+)"
    rf"(?: {REASON}(?P<behind>\w+))?\.?"
)


class Riddle(NamedTuple):
    """A riddle that the measured model translated, and what was measured of riddles like it."""

    nouns: tuple[str, str]
    adjective: str
    genders: tuple[str, str]  # of the nouns in French, m or f
    row: int  # the decoder's row that predicts the pronoun
    riddles: int
    right: float  # the share of riddles with the right pronoun
    cut: dict[str, float]  # that share while attention from one thing to another is masked


def find_riddle(trace: Any) -> Riddle | None:
    """Return the riddle of a recording; None if it is none, or if its model was not measured."""
    result = _read_measured(trace)
    rows = [
        n
        for n, token in enumerate(trace.predicted)
        if re.fullmatch(r"(qu['’])?(il|elle)", token.text.strip())
    ]
    if result is None or "cut" not in result or not rows:
        return None
    read = read_riddle(trace.text, result["genders"], result["adjectives"])
    if read is None:
        return None
    cut = {each["cut"]: each["right"] for each in result["cut"]}
    genders = result["genders"][read[0][0]], result["genders"][read[0][1]]
    return Riddle(*read, genders, rows[-1], result["riddles"], result["right"], cut)


def read_riddle(
    sentence: str, genders: Mapping[str, str], adjectives: Collection[str]
) -> tuple[tuple[str, str], str] | None:
    """Return the two nouns that `it` may be, and the adjective that decides; None if it is none.

    The nouns must have different `genders` in French, so that the pronoun shows which was chosen.
    """
    match = RIDDLE.fullmatch(sentence.lower())
    if not match or not {match["first"], match["last"]} <= genders.keys():
        return None
    adjective, nouns = match["before"] or match["behind"], (match["first"], match["last"])
    is_unlike = genders[nouns[0]] != genders[nouns[1]]
    return (nouns, adjective) if is_unlike and adjective in adjectives else None


def find_share(trace: Any, attention: Attention, row: int, head: int) -> tuple[float, int] | None:
    """Return in what share of how many riddles a head attends more to the right noun.

    Return None if the sentence is no riddle, if the row is not that of the pronoun, or if the
    model is not the measured one, unedited.
    """
    asked, who = ASKED.get(f"{attention.side} {attention.kind}", ("", r"\b\B"))
    share = _read_measured(trace)
    if share is None or not re.fullmatch(who, attention.queries[row]):
        return None
    if read_riddle(trace.text, share["genders"], share["adjectives"]) is None:
        return None
    return (share["look"][asked][attention.layer][head], 2 * share["pairs"])


def _read_measured(trace: Any) -> Any:
    """Return what was measured of the model of a recording; None if it is another or edited."""
    if trace.edits or not MEASURED.is_file():
        return None
    payload = json.loads(MEASURED.read_text(encoding="utf-8"))
    weights = trace.document.weights_sha256 or fingerprint(trace.parameters)
    return payload if weights == payload["weights_sha256"] else None

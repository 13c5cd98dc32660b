"""The results of `benchmarks/pronoun.py` for the model that ships, for a picture's title."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ..files import fingerprint
from .selection import Attention

MEASURED = Path(__file__).with_name("measured.json")
REASON = r"because it (?:is|was) (?:too |very )?"
RIDDLE = re.compile(
    rf"(?:{REASON}(?P<before>\w+), )?\w+ (?P<first>\w+) .*?(?P<last>\w+)"
    rf"(?: {REASON}(?P<behind>\w+))?\.?"
)
ASKED = {  # a query's name in the table; which rows of the picture it means
    "encoder self_attention": ("it reads the source", r"it"),
    "decoder cross_attention": ("the pronoun step reads the source", r".* → (qu['’])?(il|elle)"),
}


def tell_measured(trace: Any, attention: Attention, row: int, head: int, lang: str) -> str:
    """Return in how many riddles this head attends more to the right noun than to the wrong one.

    Return "" if the sentence is no riddle, if the row is not that of the pronoun, or if the
    model is not the measured one, unedited.
    """
    asked, who = ASKED.get(f"{attention.side} {attention.kind}", ("", r"\b\B"))
    if trace.edits or not re.fullmatch(who, attention.queries[row]) or not MEASURED.is_file():
        return ""
    found = json.loads(MEASURED.read_text(encoding="utf-8"))
    if not is_riddle(trace.text, found["genders"], found["adjectives"]):
        return ""
    weights = trace.document.weights_sha256 or fingerprint(trace.parameters)
    if weights != found["weights_sha256"]:
        return ""
    share, riddles = found["look"][asked][attention.layer][head], 2 * found["pairs"]
    if lang == "zh":
        return f"在 {riddles} 个谜题中，{share:.0%} 更看正确的名词（随机：50%）"
    return f"at the right noun in {share:.0%} of {riddles} riddles (chance: 50%)"


def is_riddle(sentence: str, genders: Mapping[str, str], adjectives: Collection[str]) -> bool:
    """Return whether `it` in a sentence may be either of two nouns and an adjective decides.

    The nouns must have different `genders` in French, so that the pronoun shows which was chosen.
    """
    found = RIDDLE.fullmatch(sentence.lower())
    if not found or not {found["first"], found["last"]} <= genders.keys():
        return False
    is_unlike = genders[found["first"]] != genders[found["last"]]
    return is_unlike and (found["before"] or found["behind"]) in adjectives

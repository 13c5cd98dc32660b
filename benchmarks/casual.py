"""Text as it is typed on a phone: without apostrophes or accents, and with words cut short.

A model for everyday sentences learns some of its training pairs once more with such a source; the
translation stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from random import Random

SHARE = 0.08  # of the pairs
OFTEN = 0.6  # the chance of a word to be shortened
BEFORE_VERB = (
    r"(?= (?:ask|be|buy|call|change|come|do|drink|eat|find|get|give|go|have|help|hear|kill|know"
    r"|leave|live|look|make|meet|need|play|read|say|see|sleep|stay|stop|take|talk|tell|try|wait|win)\b)"
)
SHORT_FORMS = {  # by language: patterns of words, and how they are typed in a hurry
    "en": {
        "you're": "ur",
        "your": "ur",
        "you": "u",
        "are": "r",
        "please": "pls",
        "thanks": "thx",
        "tomorrow": "tmrw",
        "tonight": "2nite",
        "because": "cuz",
        "see you": "c u",
        f"want to{BEFORE_VERB}": "wanna",
        f"going to{BEFORE_VERB}": "gonna",
        "don't know": "dunno",
        "before": "b4",
        "about": "abt",
        "people": "ppl",
        "really": "rly",
        "message": "msg",
        "okay": "ok",
    },
    "fr": {
        "s'il te plaît": "stp",
        "s'il vous plaît": "svp",
        "beaucoup": "bcp",
        "pourquoi": "pk",
        "parce que": "pcq",
        "aujourd'hui": "ajd",
        "toujours": "tjs",
        "bonjour": "bjr",
        "salut": "slt",
        "quelque chose": "qqch",
        "rendez-vous": "rdv",
        "c'est(?!-)": "c",
        "message": "msg",
        "vous": "vs",
        "dans": "ds",
        "tout": "tt",
    },
}
APOSTROPHE = re.compile(r"(?<=[^\W\d_])'(?=[^\W\d_])")


def type_casually(
    pairs: Sequence[tuple[str, str]], lang: str, seed: int = 1
) -> Iterator[tuple[str, str]]:
    """Yield SHARE of the pairs with a source as it is typed casually, if that differs."""
    rng = Random(seed)
    forms = [*SHORT_FORMS.get(lang, {}).items()]
    either = "|".join(f"({pattern})" for pattern, _ in forms)
    words = re.compile(rf"\b(?:{either})\b", re.IGNORECASE) if forms else None

    def shorten(word: re.Match[str]) -> str:
        short = forms[(word.lastindex or 1) - 1][1] if rng.random() < OFTEN else word[0]
        return short.capitalize() if word[0][0].isupper() else short

    for source, target in pairs:
        if rng.random() >= SHARE:
            continue
        typed = words.sub(shorten, source) if words else source
        if rng.random() < 0.7:
            typed = APOSTROPHE.sub("", typed)
        if rng.random() < 0.3:
            typed = remove_accents(typed)
        if typed != source:
            yield typed, target


def remove_accents(text: str) -> str:
    """Return a text with the Latin letters of ASCII for those with accents."""
    letters = ((unicodedata.normalize("NFD", letter)[0], letter) for letter in text)
    return "".join(base if base.isascii() else letter for base, letter in letters)

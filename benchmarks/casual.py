"""Text as it is typed on a phone: without apostrophes, accents and letters that are heard anyway.

A model for everyday sentences learns some of its training pairs once more with such a source; the
translation stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from random import Random

SHARE = 0.08  # of the pairs
SPOKEN = {  # how words are typed by those in a hurry
    "en": {
        "you": "u",
        "your": "ur",
        "you're": "ur",
        "are": "r",
        "please": "pls",
        "thanks": "thx",
        "tomorrow": "tmrw",
        "tonight": "2nite",
        "because": "cuz",
        "see you": "c u",
        "going to": "gonna",
        "want to": "wanna",
        "got to": "gotta",
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
        "c'est": "c",
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
    spoken = SPOKEN.get(lang, {})
    words = "|".join(sorted(map(re.escape, spoken), key=len, reverse=True))
    pattern = re.compile(rf"\b(?:{words})\b", re.IGNORECASE) if words else None

    def shorten(word: re.Match[str]) -> str:
        short = spoken[word[0].lower()] if rng.random() < 0.6 else word[0]
        return short.capitalize() if word[0][0].isupper() else short

    for source, target in pairs:
        if rng.random() >= SHARE:
            continue
        typed = pattern.sub(shorten, source) if pattern else source
        if rng.random() < 0.7:
            typed = APOSTROPHE.sub("", typed)
        if rng.random() < 0.3:
            typed = remove_accents(typed)
        if typed != source:
            yield typed, target


def remove_accents(text: str) -> str:
    letters = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(x for x in letters if not unicodedata.combining(x)))

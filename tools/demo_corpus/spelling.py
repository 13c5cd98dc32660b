"""Spelling of words next to each other: l'animal, du, an apple, 动物 without spaces.

`join_spelled` spells joined words, `loosen` undoes this so that a parser can match them, and
`close` gives a sentence its capital letter and its full stop.
"""

from __future__ import annotations

import re
from itertools import product
from typing import NamedTuple

LANGUAGES = ("en", "fr", "zh")
STOPS = {"en": ".", "fr": ".", "zh": "。"}
ENDS = ("?", "!", "？", "！")


class Style(NamedTuple):
    """The style of a sentence: its capital and its full stop; a translation has its source's."""

    capital: bool = True
    stop: bool = True


# A mute h counts as a vowel; the tables write an aspirated one as dictionaries do: *hibou.
_VOWEL = "[aeiouhàâéèêëîïôœùAEIOUÉ]"
_CHOICE = re.compile(rf"([^\s']+)>([^\s']+)( {_VOWEL})?")  # "ce>cet": cet before a vowel
_ELISION = re.compile(rf"\b(l|d|n|j|qu)[ea] (?={_VOWEL})")
_CONTRACTIONS = {"de le": "du", "de les": "des", "à le": "au", "à les": "aux"}
_CONTRACTION = re.compile(r"\b(?:de|à) les?\b")
_ARTICLE = re.compile(r"\ba (?=(?!eu|uni|use)[aeiou]|hour|honest)")
_SPACE = re.compile(r"\s+")
_APART = re.compile(r"\b(l|d|n|j|qu)'")
_WHOLE = {"du": "de le", "au": "à le", "aux": "à les"}
_CONTRACTED = re.compile(r"\b(?:du|aux?)\b")


def join_spelled(text: str, language: str) -> str:
    """Return a string of words in the spelling of the language."""
    if language == "zh":
        return _SPACE.sub("", text)
    text = _SPACE.sub(" ", text).strip().replace(" ,", ",")
    if language == "en":
        return _ARTICLE.sub("an ", text)
    if ">" in text:
        text = _CHOICE.sub(lambda m: m[2] + m[3] if m[3] else m[1], text)
    text = _ELISION.sub(r"\1'", text)
    text = _CONTRACTION.sub(lambda m: _CONTRACTIONS[m[0]], text)
    return text.replace("*", "")


def loosen(text: str, language: str) -> list[str]:
    """Return texts without spaces and elisions for matching; "des" may also be "de les"."""
    text = text.lower()
    if language == "fr":
        text = _APART.sub(r"\1e ", text)
        text = _CONTRACTED.sub(lambda m: _WHOLE[m[0]], text)
        tokens = re.split(r"\bdes\b", text)
        texts = [
            "".join(token + word for token, word in zip(tokens, (*words, ""), strict=True))
            for words in product(("des", "de les"), repeat=len(tokens) - 1)
        ]
    elif language == "en":
        texts = [re.sub(r"\ban\b", "a", text)]
    else:
        texts = [text]
    return [_SPACE.sub("", text) for text in texts]


def close(text: str, language: str, style: Style, careless: bool = False) -> str:
    """Return a joined sentence with its capital and full stop; `careless` writes i for I."""
    if style.capital:
        text = text[:1].upper() + text[1:]
    elif careless and text.startswith("I "):
        text = "i" + text[1:]
    return text + STOPS[language] if style.stop and not text.endswith(ENDS) else text


def undress(sentence: str, language: str) -> tuple[str, Style]:
    """Return the words and the style of a sentence: the inverse of `close`."""
    text = ("" if language == "zh" else " ").join(sentence.replace("’", "'").split())
    stop = text.endswith((STOPS[language], *ENDS))
    return text.removesuffix(STOPS[language]), Style(not text[:1].islower(), stop)

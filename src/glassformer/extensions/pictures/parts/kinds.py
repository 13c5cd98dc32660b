"""Words of everyday kinds (animals, people, ...) that a model has as one token."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

PHRASES = {"en colère": "angry"}  # French for an adjective, that is not one word
MISSING, BEGINNING = "-", 3  # for a word that is not one token; letters that forms share


@cache
def read_kinds() -> dict[str, tuple[str, str]]:
    """Return the kind and the language of each word, such as {"dog": ("animal", "en")}."""
    words: dict[str, tuple[str, str]] = {}
    for kind, languages in _read_lines().items():
        for language, line in languages.items():
            for word in line.replace(MISSING, "").split():
                words.setdefault(word, (kind, language))
    return words


@cache
def _read_lines() -> dict[str, dict[str, str]]:
    return tomllib.loads((files(__package__) / "kinds.toml").read_text(encoding="utf-8"))


def find_lost(text: str, translation: str) -> tuple[str, str] | None:
    """Return an English adjective and its French word if a French translation has none like it.

    The adjectives of both languages stand in one order; forms of one word begin alike.
    """
    lines = _read_lines()["adjective"]
    french = translation.lower()
    places = _read_lines()["place"]["fr"].split()
    is_french = bool({*places} & {*re.findall(r"\w+", french)})
    for word, expected in zip(lines["en"].split(), lines["fr"].split(), strict=True):
        if is_french and expected != MISSING and re.search(rf"\b{word}\b", text.lower()):
            return None if re.search(rf"\b{expected[:BEGINNING]}", french) else (word, expected)
    return None


def find_meaning(words: str) -> str:
    """Return the English of a French adjective; nothing if it is not known."""
    lines = _read_lines()["adjective"]
    pairs = zip(lines["fr"].split(), lines["en"].split(), strict=True)
    known = {french: english for french, english in pairs if french != MISSING} | PHRASES
    return known.get(words.lower(), "")


def find_rows(trace: Any) -> dict[str, int]:
    """Return the row of the source embedding of each word of a kind that is one token.

    The vocabulary of a trace is that of the target side. If the source does not share it, only
    the tokens of the sentence have a text.
    """
    texts = {token.text: token.id for token in trace.source}
    if trace.vocabulary is not None and trace.settings.tie == "three-way":
        texts = {text: n for n, text in enumerate(trace.vocabulary)} | texts
    words = ((word, texts.get(f" {word}", texts.get(word))) for word in read_kinds())
    return {word: row for word, row in words if row is not None}

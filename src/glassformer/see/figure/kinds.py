"""Words of everyday kinds (animals, people, ...) that a model has as one token."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def read_kinds() -> dict[str, tuple[str, str]]:
    """Return the kind and the language of each word, such as {"dog": ("animal", "en")}."""
    text = (files(__package__) / "kinds.toml").read_text(encoding="utf-8")
    words: dict[str, tuple[str, str]] = {}
    for kind, languages in tomllib.loads(text).items():
        for language, line in languages.items():
            for word in line.split():
                words.setdefault(word, (kind, language))
    return words


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

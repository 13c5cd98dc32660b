"""Texts in English and in Chinese: one format of tables, read here and by the app.

A table lies beside the code that shows its texts: as messages.json if the app reads it, otherwise
also as TOML. Each text is `{"en": "...", "zh": "..."}`; the tables around it group them, so that a
key is a path with dots:

    {"attention": {"title": {"en": "Who reads {count} words", "zh": "谁读 {count} 个词"}}}

`say("attention.title", "zh", count=3)` fills in the braces, which both languages have alike. The
loader of the app is web/src/messages.ts; tests/house/test_messages.py checks all tables.
"""

import functools
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LANGUAGES = ("en", "zh")
HOLE = re.compile(r"\{(\w+)\}")


class Messages:
    """A table of texts, to be said in one of the two languages."""

    def __init__(self, path: Path) -> None:
        self.texts = read_texts(path)

    def say(self, key: str, lang: str, **fill: object) -> str:
        """Return a text with its braces filled in; KeyError if there is no such text."""
        return HOLE.sub(lambda hole: str(fill[hole[1]]), self.texts[key][lang])


def read_texts(path: Path) -> dict[str, dict[str, str]]:
    """Return the texts of a table by their keys."""
    text = path.read_text(encoding="utf-8")
    return dict(list_texts(tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)))


@functools.cache
def read_messages() -> Messages:
    """Return the texts of the package itself."""
    return Messages(Path(__file__).with_suffix(".json"))


def list_texts(table: dict[str, Any], above: str = "") -> Iterator[tuple[str, dict[str, str]]]:
    """Yield each key of a nested table, as a path with dots, and its text in both languages."""
    for name, value in table.items():
        if LANGUAGES[0] in value and isinstance(value[LANGUAGES[0]], str):
            yield above + name, value
        else:
            yield from list_texts(value, f"{above}{name}.")

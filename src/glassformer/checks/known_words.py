"""The words of the source side of a model's training text, by which others are found.

They stand in `words.txt` of a model directory, lower-cased, a word a line. A model without the file
works as well; nobody can say then which words it has never met.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from ..directory import write_text
from ..disk import read_text
from ..text.spacing import EAST

WORDS = "words.txt"
_WORD = re.compile(rf"[{EAST}]|(?:(?![{EAST}])[^\W_])+(?:['’](?:(?![{EAST}])[^\W_])+)*")


def cut_words(text: str) -> list[str]:
    """Return the words of a text, lower-cased; a Chinese character is a word of its own."""
    return [found[0].lower().replace("’", "'") for found in _WORD.finditer(text)]


def write_known_words(folder: Path, lines: Iterable[str]) -> None:
    """Write the words of a training text's source side to a model directory."""
    words = {word for line in lines for word in cut_words(line)}
    write_text(folder / WORDS, "".join(f"{word}\n" for word in sorted(words)))


def read_known_words(folder: Path) -> frozenset[str] | None:
    """Return the words that a model met in training; None if its directory does not list them."""
    path = folder / WORDS
    return frozenset(read_text(path).split("\n")) - {""} if path.is_file() else None


def find_unknown_words(known: frozenset[str], text: str) -> list[str]:
    """Return the words of a text, as they are written there, that are none of those known.

    Numbers are left out: a model spells them digit by digit.
    """
    found = (each[0] for each in _WORD.finditer(text))
    unknown = (word for word in found if word.lower().replace("’", "'") not in known)
    return list(dict.fromkeys(word for word in unknown if not word.isdigit()))

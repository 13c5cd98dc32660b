"""Access keys of menus: with Alt, one presses the letter behind `_` in GTK, or `&` in Qt and .NET.

The mark is taken out of its word, so that this is read, and comes before the first letter of the
translation. With a text in Chinese or Japanese it stands behind: `(_O)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from glassformer.text.spacing import EAST
from glassformer.text.symbols import touches
from glassformer.text.unicode import Span
from glassformer.text.verbatim import find_verbatim

from .catalogues import SET_ASIDE

# Within a word it is one in Scr_eenshots and E&xit, and none in file_name, MAX_SIZE and AT&T.
_KEY = re.compile(
    r"\s?\((?P<behind>[_&])(?P<key>[A-Z])\)"
    r"|(?:(?<![^\s(])|\b[^\W\d_a-z][^\W\d_A-Z]*+(?=.[^\W\d_A-Z]))(?P<before>[_&])"
    r"(?P<letter>[^\W\d_])(?![\w.-]*+;)"
)
_END = re.compile(r"(?:\.\.\.|[….:：])?\Z")
LABEL = 4  # words that a text with an access key often has at most
LEAST = 0.01  # of the texts of a file are such labels; else the marks are parts of names


class AccessKeys:
    """The access keys in the texts of a file."""

    def __init__(self, texts: Sequence[str]) -> None:
        keys = [find_key(text) for text in texts if len(text.split()) <= LABEL]
        marks = [key["behind"] or key["before"] for key in keys if key]
        self.marks = {mark for mark in {*marks} if marks.count(mark) >= LEAST * len(texts)}

    def hide(
        self, text: str, write: Callable[[str], object]
    ) -> tuple[str, Callable[[str], object]]:
        """Return a text without its access key, and what writes its translation with one."""
        key = find_key(text)
        mark = key and (key["behind"] or key["before"])
        if not key or mark not in self.marks:
            return text, write
        start, end = key.span() if key["behind"] else key.span("before")
        letter = key["key"] or key["letter"]
        return text[:start] + text[end:], lambda result: write(put_key(result, mark, letter))


def find_key(text: str) -> re.Match[str] | None:
    """Return the access key in a text; None without one, and where another mark may be one."""
    if "_" not in text and "&" not in text:
        return None
    kept = _find_kept(text)
    keys = [key for key in _KEY.finditer(text) if not touches(key.span(), kept)]
    if len(keys) != 1:
        return None
    lines = [each for each in re.finditer("_", text) if not touches(each.span(), kept)]
    return None if len(lines) > 1 or (lines and keys[0]["before"] == "&") else keys[0]


def put_key(text: str, mark: str, letter: str) -> str:
    """Return a text with an access key, in Latin script that of its first letter."""
    kept = _find_kept(text)
    places = (n for n, sign in enumerate(text) if sign.isalpha())
    place = next((n for n in places if not touches((n, n + 1), kept)), -1)
    if place < 0:
        return text
    if not re.match(f"[{EAST}]", text[place]):
        return text[:place] + mark + text[place:]
    return _END.sub(lambda end: f"({mark}{letter.upper()}){end[0]}", text, count=1)


def _find_kept(text: str) -> list[Span]:
    return [(each.start, each.end) for each in find_verbatim(text) if each.kind in SET_ASIDE]

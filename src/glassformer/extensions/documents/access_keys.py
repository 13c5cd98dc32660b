"""Access keys of menus: with Alt, one presses the letter behind `_` in GTK, or `&` in Qt and .NET.

The mark is taken out of its word, so that this is read, and comes before the first letter of the
translation. With a text in Chinese or Japanese it stands behind: `(_O)`.

A file has access keys if some stand before words, as in `_Open`. Without such, a mark within a word
is part of a name or joins two: Foo_bar, rock&roll.
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
_WORD = re.compile(r"[^\W\d_]+")
_ALONE = re.compile(r"(?<!\w)(?<!\w&)[^\W\d_]++(?!\w|&\w)")  # Open and &Open, not R of R&D
_SENTENCE = re.compile(r"[^.][.!?]\Z")
LABEL = 4  # words that a text with an access key often has at most
SYLLABLE = 3  # letters that make a word of what is behind a mark
LEAST = 0.01  # of the texts of a file are such labels; else the marks are parts of names


class AccessKeys:
    """The access keys in the texts of a file."""

    def __init__(self, texts: Sequence[str]) -> None:
        labels = [find_key(text) for text in texts if len(text.split()) <= LABEL]
        keys = [key for key in labels if key and _is_likely(key)]
        marks = [key["behind"] or key["before"] for key in keys]
        often = {mark for mark in {*marks} if marks.count(mark) >= LEAST * len(texts)}
        self.marks = {mark for mark in often if _is_sure(keys, mark)}
        has_and = "&" in self.marks
        self.words = {word.lower() for text in texts if has_and for word in _ALONE.findall(text)}

    def hide(
        self, text: str, write: Callable[[str], object]
    ) -> tuple[str, Callable[[str], object]]:
        """Return a text without its access key, and what writes its translation with one."""
        key = find_key(text)
        mark = key and (key["behind"] or key["before"])
        if not key or mark not in self.marks or self._joins(key):
            return text, write
        start, end = key.span() if key["behind"] else key.span("before")
        letter = key["key"] or key["letter"]
        return text[:start] + text[end:], lambda result: write(put_key(result, mark, letter))

    def _joins(self, key: re.Match[str]) -> bool:
        """Return whether a mark is an "and" between two words: Drag&drop."""
        if key["before"] != "&" or _begins(key):
            return False
        start, end = key.span("before")
        first, match = key.string[key.start() : start].lower(), _WORD.match(key.string, end)
        second = match[0].lower() if match else ""
        if min(len(first), len(second)) < SYLLABLE or first + second in self.words:
            return False
        is_sentence = bool(_SENTENCE.search(key.string))
        return is_sentence or self.words.issuperset((first, second))


def _begins(key: re.Match[str]) -> bool:
    """Return whether a mark stands before a word, or behind all of a text."""
    return bool(key["behind"]) or key.start() == key.start("before")


def _is_likely(key: re.Match[str]) -> bool:
    """Return whether a key suggests that its file has such: not the mark in Foo_bar."""
    if _begins(key):
        return bool(key["behind"]) or not key["letter"].islower()
    behind = _WORD.match(key.string, key.end("before"))
    return key["before"] == "_" and behind is not None and len(behind[0]) < SYLLABLE


def _is_sure(keys: Sequence[re.Match[str]], mark: str) -> bool:
    """Return whether keys show that a mark is one: several, or one where no name has it."""
    own = [key for key in keys if mark in (key["behind"], key["before"])]
    letters = {key["key"] or key["letter"] for key in own}
    return len(letters) > 1 or any(key["behind"] or key.start() == 0 for key in own)


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

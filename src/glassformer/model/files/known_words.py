"""The words of the source side of a model's training text, by which others are found.

They stand in `words.txt` of a model directory, lower-cased, a word a line. A training lists them
while it encodes its text. A model without the file works as well; nobody can say then which words
it has never met.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from ...foundation.disk import read_text
from ...text.spacing import EAST
from .directory import write_text

WORDS = "words.txt"
MOST = 500_000  # words of a list: 5 MB
AT_ONCE = 100_000  # pieces of text that wait to be cut
_WORD = re.compile(rf"[{EAST}]|(?:(?![{EAST}])[^\W_])+(?:['’](?:(?![{EAST}])[^\W_])+)*")


def cut_words(text: str) -> list[str]:
    """Return the words of a text, lower-cased; a Chinese character is a word of its own."""
    return [match[0].lower().replace("’", "'") for match in _WORD.finditer(text)]


def write_known_words(folder: Path, lines: Iterable[str]) -> None:
    """Write the words of a training text's source side to a model directory."""
    collector = WordCollector()
    for _ in collector.watch((line, "") for line in lines):
        pass
    collector.write(folder)


class WordCollector:
    """The words of sources that pass by; none once there are more than `most`, which is no list."""

    def __init__(self, most: int = MOST) -> None:
        self.most, self.is_full = most, False
        self._raw, self._words = set[str](), set[str]()

    def watch(self, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield the pairs as they are, and note the words of their sources."""
        for pair in pairs:
            if not self.is_full:
                # White space is within no word, so each piece between is looked at only once.
                self._raw.update(pair[0].split())
                if len(self._raw) > AT_ONCE:
                    self._cut()
            yield pair

    def write(self, folder: Path) -> None:
        """Write the list into a folder, replacing one that is there."""
        self._cut()
        (folder / WORDS).unlink(missing_ok=True)
        if not self.is_full:
            write_text(folder / WORDS, "".join(f"{word}\n" for word in sorted(self._words)))

    def _cut(self) -> None:
        self._words.update(word for part in self._raw for word in cut_words(part))
        self._raw.clear()
        self.is_full = len(self._words) > self.most


def copy_known_words(run: Path, folder: Path) -> None:
    """Copy the list that a training wrote to a model directory, if there is one."""
    if (run / WORDS).is_file():
        write_text(folder / WORDS, read_text(run / WORDS))


def read_known_words(folder: Path) -> frozenset[str] | None:
    """Return the words that a model met in training; None if its directory does not list them."""
    path = folder / WORDS
    return frozenset(read_text(path).split("\n")) - {""} if path.is_file() else None


def check_known_words(folder: Path) -> None:
    """Raise ValueError, which names the line, for a list that `WordCollector` would not write."""
    path = folder / WORDS
    *words, rest = read_text(path).split("\n") if path.is_file() else [""]
    for number, (before, word) in enumerate(pairwise(["", *words]), 1):
        if before >= word or not word.isprintable() or "\ufffd" in word:
            raise ValueError(f"{path}, line {number}: damaged; it lists words, sorted, one a line")
    if rest:
        raise ValueError(f"{path}: cut short; its last line does not end")


def find_unknown_words(known: frozenset[str], text: str) -> list[str]:
    """Return the words of a text, as they are written there, that are none of those known.

    Numbers are left out: a model spells them digit by digit. "Cat's" is known if "cat" is.
    """
    unknown_words = dict.fromkeys(each[0] for each in _WORD.finditer(text))
    return [word for word in unknown_words if not word.isdigit() and not _is_known(word, known)]


def _is_known(word: str, known: frozenset[str]) -> bool:
    small = word.lower().replace("’", "'")
    return small in known or small.removesuffix("'s") in known

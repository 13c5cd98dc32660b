"""The words of the source side of a model's training text, by which others are found.

They stand in `words.txt` of a model directory, lower-cased, a word a line. Among them are names,
with their capitals: words that always have one, and that the translations repeat. A training lists
them while it encodes its text. A model without the file works as well; nobody can say then which
words it has never met.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

from ...foundation.disk import read_text
from ...text.casing import to_small
from ...text.characters import CharacterMap
from ...text.spacing import EAST, SOUTH_EAST, list_combining
from ...text.verbatim import find_names
from .directory import write_text

WORDS = "words.txt"
MOST = 500_000  # words of a list: 5 MB
AT_ONCE = 100_000  # pieces of text that wait to be cut
OFTEN = 10  # words: in Turkish, one has an \u0131
REPEATED = 0.8  # of its pairs repeat a word with a capital in the translation: it is a name
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_BEYOND = re.compile("[\u0300-\u1fff\u2c00-\U0010ffff]")  # Latin letters and common marks


def cut_words(text: str) -> list[str]:
    """Return the words of a text; a Chinese character is a word of its own, as is a Thai one."""
    words: list[str] = _choose_pattern(text).findall(text)
    return [word.replace("’", "'") for word in words]


def _choose_pattern(text: str) -> re.Pattern[str]:
    return _compile_word() if _BEYOND.search(text) else _WORD


@cache
def _compile_word() -> re.Pattern[str]:
    """Return the pattern of a word in any script, on which combining marks go on."""
    letter, marks = rf"[^\W_{EAST}{SOUTH_EAST}]", f"[{list_combining()}]"
    word = f"{letter}(?:{letter}|{marks})*"
    return re.compile(rf"[{EAST}]|(?=\w)[{SOUTH_EAST}]{marks}*|{word}(?:['’]{word})*")


class WordCollector:
    """The words of sources that pass by; none once there are more than `most`, which is no list."""

    def __init__(self, most: int = MOST, language: str | None = None) -> None:
        """language: that of the sources, which says what a small letter is."""
        self.most, self.is_full, self.language = most, False, language
        self._raw, self._words, self._small = set[str](), set[str](), set[str]()
        self._met, self._repeated = Counter[str](), Counter[str]()  # words with a capital

    def watch(self, pairs: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield the pairs as they are, and note the words of their sources."""
        for pair in pairs:
            if not self.is_full:
                # White space is within no word, so each piece between is looked at only once.
                self._raw.update(pair[0].split())
                self._note_names(*pair)
                if len(self._raw) > AT_ONCE:
                    self._cut()
            yield pair

    def write(self, folder: Path) -> None:
        """Write the list into a folder, replacing one that is there."""
        self._cut()
        (folder / WORDS).unlink(missing_ok=True)
        if not self.is_full:
            written = sorted(self._words.union(self._list_names()))
            write_text(folder / WORDS, "".join(f"{word}\n" for word in written))

    def _note_names(self, source: str, target: str) -> None:
        """Count the words with a capital, and how often the translation has them."""

        def note(word: str, _: bool) -> bool:
            self._met[word] += 1
            own = word in target and re.search(rf"(?<!\w){re.escape(word)}(?!\w)", target)
            self._repeated[word] += bool(own)
            return False

        for _ in find_names(source, note):
            pass

    def _list_names(self) -> list[str]:
        names = (word for word in self._met if self._lower(word) not in self._small)
        return [name for name in names if self._repeated[name] >= REPEATED * self._met[name]]

    def _cut(self) -> None:
        words = {word for part in self._raw for word in cut_words(part)}
        self._words |= set(map(self._lower, words))
        self._small |= {word for word in words if word == word.lower()}
        self._raw.clear()
        self.is_full = len(self._words) > self.most

    def _lower(self, word: str) -> str:
        return to_small(word, self.language)


def copy_known_words(run: Path, folder: Path) -> None:
    """Copy the list that a training wrote to a model directory, if there is one."""
    if (run / WORDS).is_file():
        write_text(folder / WORDS, read_text(run / WORDS))


def read_known_words(folder: Path) -> frozenset[str] | None:
    """Return the words that a model met in training; None if its directory does not list them."""
    lists = _read(folder)
    return lists[0] if lists else None


def read_known_names(folder: Path) -> frozenset[str]:
    """Return the words with a capital that the translations of a training text repeat."""
    lists = _read(folder)
    return lists[1] if lists else frozenset()


def _read(folder: Path) -> tuple[frozenset[str], frozenset[str]] | None:
    path = folder / WORDS
    if not path.is_file():
        return None
    status = path.stat()
    return _split_list(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=4)
def _split_list(path: Path, *_: int) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words in small letters, and the others; of a file, by its size and its time."""
    text = read_text(path)
    if "i\u0307" in text:
        text = _read_dotted(text)
    words, lowered = frozenset(text.split()), frozenset(text.lower().split())
    return words & lowered, words - lowered


def _read_dotted(text: str) -> str:
    """Return a list of before we knew Turkish capitals: an I, now i, may have been an \u0131."""
    plain = text.replace("i\u0307", "i")
    is_turkic = OFTEN * plain.count("\u0131") > plain.count("\n")
    others = plain.replace("i", "\u0131"), re.sub("(?m)^i", "\u0131", plain)
    return "\n".join([plain, *others]) if is_turkic else plain


def check_known_words(folder: Path) -> None:
    """Raise ValueError, which names the line, for a list that `WordCollector` would not write."""
    path = folder / WORDS
    *words, rest = read_text(path).split("\n") if path.is_file() else [""]
    for number, (before, word) in enumerate(pairwise(["", *words]), 1):
        if before >= word or not word.isprintable() or "\ufffd" in word:
            raise ValueError(f"{path}, line {number}: damaged; it lists words, sorted, one a line")
    if rest:
        raise ValueError(f"{path}: cut short; its last line does not end")


def find_unknown_words(
    known: frozenset[str], text: str, characters: CharacterMap | None = None
) -> list[str]:
    """Return the words of a text, as they are written there, that are none of those known.

    Numbers are left out: a model spells them digit by digit. "Cat's" is known if "cat" is.
    characters: those that the model reads in the place of the text's own.
    """
    read, spans = characters.clean_with_spans(text) if characters else (text, None)
    words = dict[str, bool]()
    for match in _choose_pattern(read).finditer(read):
        start, end = match.span()
        own = text[spans[start][0] : spans[end - 1][1]] if spans else match[0]
        words[own] = any(word.isdigit() or _is_known(word, known) for word in (match[0], own))
    return [own for own, is_known in words.items() if not is_known]


def _is_known(word: str, known: frozenset[str]) -> bool:
    both = (to_small(word, language).replace("’", "'") for language in (None, "tr"))
    return any(small in known or small.removesuffix("'s") in known for small in both)

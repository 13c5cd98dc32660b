"""The lexicon: words of three languages, with their tags and their agreement."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Generic, NamedTuple, TypeVar

from .inflect import PARADIGMS, Forms, plain
from .spelling import LANGUAGES

T = TypeVar("T")


class WordChoices(NamedTuple, Generic[T]):
    """Synonyms, the preferred one first; those from `drawn` on are parsed but never generated."""

    options: tuple[T, ...]
    drawn: int

    @classmethod
    def read(cls, texts: Sequence[str], make: Callable[[str], T]) -> WordChoices[T]:
        """Return the choices; a text that begins with `?` is parsed but never generated."""
        drawn = sum(not text.startswith("?") for text in texts)
        return cls(tuple(make(text.removeprefix("?")) for text in texts), drawn)


class Agreement(NamedTuple):
    """The agreement that a noun phrase requires of the words around it."""

    person: int = 3
    plural: bool = False
    feminine: bool = False  # the French gender
    sex: int = 2  # he, she, it
    measure: str = "个"  # the Chinese measure word

    def choose(self, cells: tuple[str, ...]) -> str:
        """Return the cell that agrees; the number of cells says what they vary with."""
        match len(cells):
            case 1:
                return cells[0]
            case 2:
                return cells[self.plural]
            case 4:
                return cells[self.feminine + 2 * self.plural]
            case 5:
                return cells[3 + (self.sex == 2) if self.plural else self.sex]
            case _:
                return cells[self.person - 1 + 3 * self.plural]


PLAIN = Agreement()


@dataclass(frozen=True, eq=False, slots=True)
class LexiconWord:
    """A word in all three languages; each may have synonyms, the preferred one first."""

    name: str
    tags: frozenset[str]
    hidden: frozenset[str]  # source languages that do not distinguish it from another word
    agreement: Agreement | None
    synonyms: dict[str, WordChoices[Forms]]

    @property
    def head(self) -> LexiconWord:
        return self


def read(name: str) -> dict[str, Any]:
    """Read a table of this package."""
    return tomllib.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))


def load_lexicon() -> tuple[dict[str, list[LexiconWord]], dict[str, dict[str, tuple[str, ...]]]]:
    """Return the lexicon by category, and the function words of each language."""
    table = read("lexicon.toml")
    small = table.pop("function")
    lexicon = {
        category: [
            word for title, lines in paragraphs.items() for word in _words(category, title, lines)
        ]
        for category, paragraphs in table.items()
    }
    function = {
        language: {name: tuple(cells.split()) for name, cells in small[language].items()}
        for language in LANGUAGES
    }
    return lexicon, function


def _words(category: str, title: str, lines: str) -> Iterator[LexiconWord]:
    paradigms = PARADIGMS.get(category, {})
    for line in filter(str.strip, lines.splitlines()):
        columns = [column.strip() for column in line.split("|")]
        if not 3 <= len(columns) <= 4:
            raise ValueError(f"lexicon.toml, {category} {title}: not three or four columns: {line}")
        texts = [column.split(", ") for column in columns[:3]]
        synonyms = {
            language: WordChoices.read(column, paradigms.get(language, plain))
            for language, column in zip(LANGUAGES, texts, strict=True)
        }
        marks = {*title.split(), *"".join(columns[3:]).split()}
        hidden = frozenset(mark[1:] for mark in marks if mark[0] == "-")
        tags = frozenset(mark for mark in marks if mark[0] != "-")
        name = re.split("[ /]", texts[0][0])[0] if paradigms else texts[0][0]
        if category != "noun":
            yield LexiconWord(name, tags, hidden, None, synonyms)
            continue
        feminine = texts[1][0].endswith(" f")
        sex = int(feminine) if tags & {"person", "kin"} else 2
        measure = synonyms["zh"].options[0]["measure"][0]
        tags |= {name, "f" if feminine else "m", "count" if measure else "mass"}
        agreement = Agreement(feminine=feminine, sex=sex, measure=measure)
        yield LexiconWord(name, tags, hidden, agreement, synonyms)

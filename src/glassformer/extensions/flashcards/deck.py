"""The flashcards, and the formats in which Anki and Logseq import them.

The table of the cards is messages.json, which the app reads too: web/src/recall/deck.ts makes the
same cards and the same files of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from glassformer.foundation.disk import write_text
from glassformer.foundation.messages import LANGUAGES

TABLE = Path(__file__).with_name("messages.json")
COLUMNS = ("ID", "Front", "Back", "Tags")
# https://docs.ankiweb.net/importing/text-files.html: read by Anki 2.1.54 and newer
HEAD = (
    "#separator:tab",
    "#html:false",
    "#deck:glassformer",
    "#columns:" + "\t".join(COLUMNS),
    "#guid column:1",
    "#tags column:4",
)


class Flashcard(NamedTuple):
    """A question and its answer; `card` is the one of the story that explains it."""

    id: str
    card: str
    question: str
    answer: str


def list_flashcards(lang: str) -> Iterator[Flashcard]:
    """Yield the flashcards in the order of the story: a question, then misconceptions about it."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    for card, texts in table["cards"].items():
        if "question" in texts:
            yield Flashcard(card, card, texts["question"][lang], texts["answer"][lang])
        for id, each in texts.get("misconceptions", {}).items():
            question = table["told"][lang].replace("{said}", each["said"][lang])
            yield Flashcard(id, card, question, each["right"][lang])


def write_flashcards(path: Path, lang: str) -> int:
    """Write all flashcards for the program that the suffix tells; return how many there are."""
    if lang not in LANGUAGES:
        raise ValueError(f"lang={lang}: one of {', '.join(LANGUAGES)}")
    if path.suffix not in FORMATS:
        raise ValueError(f"{path}: name it .txt for Anki or .md for Logseq")
    cards = list(list_flashcards(lang))
    write_text(path, FORMATS[path.suffix](cards, lang))
    return len(cards)


def spell_for_anki(cards: Sequence[Flashcard], lang: str) -> str:
    """Return the cards as a text file for Anki's import.

    By the first column, Anki knows a card again that it has already, and keeps when it is due.
    """
    rows = [
        (f"glassformer-{each.id}-{lang}", each.question, each.answer, f"glassformer::{each.card}")
        for each in cards
    ]
    return "\n".join([*HEAD, *map("\t".join, rows), ""])


def spell_for_logseq(cards: Sequence[Flashcard], lang: str) -> str:
    """Return the cards as an outline for Logseq, which has no use for the language."""
    return "".join(f"- {each.question} #card\n\t- {each.answer}\n" for each in cards)


FORMATS: dict[str, Callable[[Sequence[Flashcard], str], str]] = {
    ".txt": spell_for_anki,
    ".md": spell_for_logseq,
}

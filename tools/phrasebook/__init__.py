"""A phrasebook of everyday sentences in English, French and German, and its expansion.

`phrases.tsv` has a sentence in each row, in three columns. Texts of a cell with `|` between them
say the same to a friend and to a stranger, or in other words. `{city}` is a slot, whose values
`slots.toml` has; `{country.from}` is filled by the form of that name, and `{name1}` and `{name2}`
by different values. French `de~{name}` becomes d' before a vowel.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

__all__ = ["LANGUAGES", "SLOT", "expand", "read_phrases", "read_slots"]

LANGUAGES = ("en", "fr", "de")
FOLDER = Path(__file__).parent
SLOT = re.compile(r"\{([a-z]+)(\d?)(?:\.([a-z]+))?\}")  # its kind, number and form
ELISION = re.compile(r"e~(?=[aeiouâàéèêîôAEIOUÉÎ])")
TWO_STOPS = re.compile(r"m\.\.(?!\.)")  # "at 8:15 a.m.." but not "Hmm..."

Phrase = dict[str, list[str]]  # by language, texts that say the same
SlotValue = dict[str, str]  # by language, or by language and form as in `fr.from`


@cache
def read_phrases() -> list[Phrase]:
    """Return the rows of the table, without its comments."""
    rows = (FOLDER / "phrases.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [
        {
            language: cell.split(" | ")
            for language, cell in zip(LANGUAGES, row.split("\t"), strict=True)
        }
        for row in rows
        if row and not row.startswith("#")
    ]


@cache
def read_slots() -> dict[str, list[SlotValue]]:
    """Return the values of each kind of slot; the column `any` holds for every language."""
    tables = tomllib.loads((FOLDER / "slots.toml").read_text(encoding="utf-8"))
    return {
        kind: [name_columns(table["columns"], row) for row in table["rows"]]
        for kind, table in tables.items()
    }


def name_columns(columns: Sequence[str], row: Sequence[str]) -> SlotValue:
    value = dict(zip(columns, row, strict=True))
    if "any" in value:
        return dict.fromkeys(LANGUAGES, value["any"])
    return value


def expand(source: str, target: str, seed: int, most: int) -> list[tuple[str, str]]:
    """Return distinct aligned lines of two of LANGUAGES, the same for the same seed.

    A row without slots gives a line for each of its source texts; a row with slots gives as many
    for each of at most `most` choices of values. The target text is the one in the same position
    if there are as many, otherwise the first. A line has the translation of the first row that
    says it: a model is not taught two.
    """
    rng = Random(f"{source} {target} {seed}")
    lines: dict[str, str] = {}
    for phrase in read_phrases():
        for values in choose_values(phrase["en"][0], rng, most):
            for said, translation in pair_texts(phrase[source], phrase[target]):
                lines.setdefault(fill(said, source, values), fill(translation, target, values))
    return list(lines.items())


def pair_texts(sources: Sequence[str], targets: Sequence[str]) -> Iterator[tuple[str, str]]:
    if len(sources) != len(targets):
        targets = [targets[0]] * len(sources)
    yield from zip(sources, targets, strict=True)


def choose_values(text: str, rng: Random, most: int) -> Iterator[dict[str, SlotValue]]:
    """Yield what fills the slots of a text: every value once before any twice."""
    names = sorted({(slot[1], slot[2]) for slot in SLOT.finditer(text)})
    if not names:
        yield {}
        return
    counts = Counter(kind for kind, _ in names)
    orders = {kind: rng.sample(read_slots()[kind], len(read_slots()[kind])) for kind in counts}
    for turn in range(min(most, max(map(len, orders.values())))):
        places = {kind: turn * count for kind, count in counts.items()}
        chosen = {}
        for kind, number in names:
            chosen[kind + number] = orders[kind][places[kind] % len(orders[kind])]
            places[kind] += 1
        yield chosen


def fill(text: str, language: str, values: dict[str, SlotValue]) -> str:
    """Return a text with its slots filled, its elisions made, and a capital."""

    def find_form(slot: re.Match[str]) -> str:
        form = f"{language}.{slot[3]}" if slot[3] else language
        return values[slot[1] + slot[2]][form]

    filled = SLOT.sub(find_form, text)
    filled = TWO_STOPS.sub("m.", ELISION.sub("'", filled).replace("~", " "))
    return filled[:1].upper() + filled[1:]

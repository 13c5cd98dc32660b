"""Make the riddles of `pronoun.py`: who `it` is, where the words are, what to swap with."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from glassformer.config import EOS
from glassformer.extensions.lab.contrastive import ContrastiveItem
from glassformer.extensions.lab.probe_pairs import ProbePair, read_probe_pair
from glassformer.model.files.directory import write_text
from glassformer.translator import Translator
from tools.demo_corpus import PronounItem, accepted, pronoun_items
from tools.demo_corpus.words import load_lexicon

SEED = 77


@dataclass(frozen=True)
class Riddle:
    """A sentence of the grammar, as a pair that a model is asked about."""

    item: PronounItem
    pair: ProbePair

    def turn(self) -> Riddle:
        """Return the same riddle with the other noun as the right one."""
        return replace(self, pair=self.pair.exchange("right", "wrong"))


class Reader:
    """A reader that turns sentences of the grammar into riddles."""

    def __init__(self, translator: Translator):
        self.translator = translator
        self.french = {
            word.name: {
                text
                for form in word.synonyms["fr"].options
                for cells in form.values()
                for text in cells
            }
            for word in load_lexicon()[0]["noun"]
        }

    def mark(self, item: PronounItem, source: str = "") -> ContrastiveItem:
        """Return the sentence, or a source like it, with its nouns, adjective and `it` marked."""
        right, wrong = item.nouns[item.referent], item.nouns[1 - item.referent]
        names = {"right": right, "wrong": wrong}
        words = {**names, "it": "it", "adjective": item.adjective}
        rows = {name: self._find(item.reference, noun) for name, noun in names.items()}
        marked = {"source": words, "target": rows}
        return ContrastiveItem(
            source or item.source, item.reference, (item.contrast,), marked=marked
        )

    def read(self, item: PronounItem) -> Riddle | None:
        """Return the riddle; None if a word is not found (French nouns may follow the pronoun)."""
        pair = read_probe_pair(self.translator, self.mark(item))
        return None if isinstance(pair, str) else Riddle(item, pair)

    def _find(self, text: str, noun: str) -> str:
        """Return the French noun in a text, with the word before it, which shows the gender."""
        nouns = "|".join(map(re.escape, self.french[noun]))
        found = re.search(rf"(?:\S+\s+)?(?:\w+['’])?(?:{nouns})\b", text)
        return found[0] if found else ""


def collect(reader: Reader, count: int) -> list[Riddle]:
    """Return riddles, balanced so that always choosing il, or the first noun, is at chance."""
    items = [each for each in pronoun_items(count * 5, SEED, "test") if len({*each.genders}) == 2]
    found = [riddle for riddle in map(reader.read, items) if riddle]
    kinds = [(right, referent) for right in ("il", "elle") for referent in (0, 1)]
    return [
        riddle
        for kind in kinds
        for riddle in [each for each in found if (each.item.right, each.item.referent) == kind][
            : count // 4
        ]
    ]


def find_donors(reader: Reader, riddles: Sequence[Riddle], what: str) -> list[Riddle | None]:
    """Return for each riddle one with another adjective or right noun, and the other answer.

    The donor has the same words in the same places; the grammar says that its answer is the other.
    """
    values = {
        "adjective": sorted({each.item.adjective for each in riddles}),
        "noun": sorted({noun for each in riddles for noun in each.item.nouns}),
    }[what]
    rng = np.random.default_rng(SEED)
    donors = []
    for riddle in riddles:
        order = rng.permutation(len(values))
        others = (_turn(reader, riddle, values[n], what) for n in order)
        donors.append(next(filter(None, others), None))
    return donors


def _turn(reader: Reader, riddle: Riddle, word: str, what: str) -> Riddle | None:
    item, pair = riddle.item, riddle.pair
    old = item.adjective if what == "adjective" else item.nouns[item.referent]
    source = re.sub(rf"\b{old}\b", word, item.source, count=1)
    ids = [*reader.translator.reader.tokenize(source).ids, EOS]
    if word == old or len(ids) != len(pair.source):
        return None
    answers = {tuple(re.findall(r"\b(il|elle)\b", text)) for text in accepted(source, "en", "fr")}
    if answers != {(item.wrong,)}:
        return None
    changed = {n for n, (a, b) in enumerate(zip(ids, pair.source, strict=True)) if a != b}
    if not changed <= {*pair.words["adjective" if what == "adjective" else "right"]}:
        return None
    return replace(riddle, pair=replace(pair, source=ids))


def write_riddles(riddles: Sequence[Riddle], reader: Reader, path: Path) -> None:
    """Write the riddles as a table that `glassformer probe` and `evaluate --contrastive` read."""
    items = [reader.mark(each.item) for each in riddles]
    names = [f"{side}.{role}" for side, roles in items[0].marked.items() for role in roles]
    rows = [["source", "right", "wrong", *names]]
    for each in items:
        words = [word for roles in each.marked.values() for word in roles.values()]
        rows.append([each.source, each.right, *each.wrong, *words])
    write_text(path, "".join("\t".join(row) + "\n" for row in rows))

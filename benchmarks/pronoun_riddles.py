"""The riddles of `pronoun.py`: who `it` is, where the words are, and sentences to swap with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from glassformer.config import BOS, EOS
from glassformer.translator import Translator
from tools.demo_corpus import PronounItem, accepted, pronoun_items
from tools.demo_corpus.words import load_lexicon

SEED = 77


@dataclass(frozen=True)
class Riddle:
    """A sentence, its French up to the pronoun, and where its words are."""

    item: PronounItem
    source: list[int]
    given: list[int]  # the rows of the decoder; the last predicts the pronoun
    answers: tuple[int, int]  # the right token and the wrong one
    words: dict[str, list[int]]  # right, wrong, it, adjective, rest: positions in the source
    nouns: dict[str, list[int]]  # right, wrong: rows that read the French noun and what is before

    def turn(self) -> Riddle:
        """The same where the other noun is the right one."""
        names = {"right": "wrong", "wrong": "right"}
        return replace(
            self,
            answers=self.answers[::-1],
            words={name: self.words[names.get(name, name)] for name in self.words},
            nouns={name: self.nouns[names[name]] for name in self.nouns},
        )

    @property
    def row(self) -> int:
        return len(self.given) - 1


class Reader:
    """Turns sentences of the grammar into riddles."""

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

    def read(self, item: PronounItem) -> Riddle | None:
        """None where a word is not found, or the French does not part at the pronoun."""
        found = self.translator.read(item.source)
        target = self.translator.tokenizers.target
        reference, contrast = target.tokens(item.reference), target.encode(item.contrast)
        parts = [a != b for a, b in zip(reference.ids, contrast, strict=False)].index(True)
        right, wrong = item.nouns[item.referent], item.nouns[1 - item.referent]
        named = {"right": right, "wrong": wrong, "it": "it", "adjective": item.adjective}
        words = {name: _find(item.source, [text], found.spans) for name, text in named.items()}
        nouns = {
            name: _find(item.reference, self.french[noun], reference.spans, before=True)
            for name, noun in (("right", right), ("wrong", wrong))
        }
        if not all((*words.values(), *nouns.values())):
            return None
        taken = {place for places in words.values() for place in places}
        words["rest"] = [n for n in range(len(found.ids) + 1) if n not in taken]
        return Riddle(
            item,
            [*found.ids, EOS],
            [BOS, *reference.ids[:parts]],
            (reference.ids[parts], contrast[parts]),
            words,
            {name: [n + 1 for n in rows if n < parts] for name, rows in nouns.items()},
        )


def _find(
    text: str, words: Iterable[str], spans: Sequence[tuple[int, int]], *, before: bool = False
) -> list[int]:
    """The tokens of the first of these words in a text, with the word before it if asked for."""
    lead = r"(?:\S+\s+)?(?:\w+['’])?" if before else r"\b"
    found = re.search(rf"{lead}(?:{'|'.join(map(re.escape, words))})\b", text)
    if not found:
        return []
    start, end = found.span()
    return [n for n, (first, last) in enumerate(spans) if min(end, last) > max(start, first)]


def collect(reader: Reader, count: int) -> list[Riddle]:
    """As many il as elle, as many first nouns as second: liking one of them gives chance."""
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
    """For each riddle one with another adjective, or another right noun, and the other answer.

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
    item = riddle.item
    old = item.adjective if what == "adjective" else item.nouns[item.referent]
    source = re.sub(rf"\b{old}\b", word, item.source, count=1)
    found = reader.translator.read(source)
    if word == old or len(found.ids) + 1 != len(riddle.source):
        return None
    answers = {tuple(re.findall(r"\b(il|elle)\b", text)) for text in accepted(source, "en", "fr")}
    if answers != {(item.wrong,)}:
        return None
    changed = [n for n, (a, b) in enumerate(zip(found.ids, riddle.source, strict=False)) if a != b]
    place = riddle.words["adjective" if what == "adjective" else "right"]
    if not set(changed) <= set(place):
        return None
    return replace(riddle, source=[*found.ids, EOS])

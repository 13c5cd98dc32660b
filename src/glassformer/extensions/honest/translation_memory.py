"""A translation memory: the training source that is nearest to a sentence, and its target.

It is the least that a model has to be better than. The same sentence is the nearest one. Otherwise,
candidates share rare words with the sentence, or characters in a row if there are no spaces between
words; of the best of them, that with the smallest edit distance is taken, as translators' tools do.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Sequence
from heapq import nlargest
from typing import NamedTuple

from glassformer.data.files import cut_chunks

from ..check_data.near_twins import measure_distance
from ..check_data.words import UNSPACED, gather_words, join_characters

AT_ONCE = 10_000  # lines whose words are in memory
KEPT, MOST = 3, 500  # the rarest words of a line find candidates; others if no more lines have them
TRIED = 5  # candidates that are compared letter by letter


class Match(NamedTuple):
    """The nearest line of the memory, by number, and how alike it is: 1 if it is the same."""

    line: int
    similarity: float


class TranslationMemory:
    """An index of the training sources by their words."""

    def __init__(self, sources: Sequence[str]) -> None:
        self.texts, self.same = list[str](), dict[str, int]()
        self.places: dict[str, array[int]] = defaultdict(lambda: array("i"))
        for chunk in cut_chunks(sources, AT_ONCE):
            for words in gather_words(chunk):
                for word in {*join_characters(words, UNSPACED)}:
                    self.places[word].append(len(self.texts))
                self.texts.append(" ".join(words))
                self.same.setdefault(self.texts[-1], len(self.texts) - 1)

    def weigh(self, word: str) -> float:
        """Return how rare a word is: the logarithm of one over its share of the lines."""
        return math.log((1 + len(self.texts)) / (1 + self.count(word)))

    def count(self, word: str) -> int:
        """Return how many lines have a word."""
        return len(self.places.get(word, ()))

    def find(self, words: Sequence[str]) -> Match | None:
        """Return the nearest line; None if none shares a word."""
        shared, text = defaultdict[int, float](float), " ".join(words)
        if text and text in self.same:
            return Match(self.same[text], 1.0)
        terms = self.places.keys() & join_characters(words, UNSPACED)
        for place, word in enumerate(sorted(terms, key=lambda word: (self.count(word), word))):
            if place < KEPT or self.count(word) <= MOST:
                weight = self.weigh(word)
                for line in self.places[word]:
                    shared[line] += weight
        best = nlargest(TRIED, shared, key=shared.__getitem__)
        dense = nlargest(TRIED, shared, key=lambda line: shared[line] / len(self.texts[line]))
        found = None
        for line in sorted({*best, *dense}, key=lambda line: -self._bound(line, text)):
            if found and found.similarity >= self._bound(line, text):
                break  # none of the others can be more alike
            match = Match(line, self._compare(line, text))
            found = max(found or match, match, key=lambda each: each.similarity)
        return found

    def _bound(self, line: int, text: str) -> float:
        """Return how alike a line can be at most, by its length."""
        shorter, longer = sorted((len(self.texts[line]), len(text)))
        return shorter / max(1, longer)

    def _compare(self, line: int, text: str) -> float:
        other = self.texts[line]
        return 1 - measure_distance(text, other) / max(1, len(text), len(other))

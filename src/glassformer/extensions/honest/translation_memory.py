"""A translation memory: the training source that is nearest to a sentence, and its target.

It is the least that a model has to be better than. Candidates share rare words with the sentence;
of the best of them, that with the smallest edit distance is taken, as translators' tools do.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from heapq import nlargest
from typing import NamedTuple

from ..check_data.near_twins import measure_distance
from ..check_data.words import gather_words

MOST = 500  # lines: a word of more finds no candidates
TRIED = 5  # candidates that are compared letter by letter


class Match(NamedTuple):
    """The nearest line of the memory, by number, and how alike it is: 1 if it is the same."""

    line: int
    similarity: float


class TranslationMemory:
    """An index of the training sources by their words."""

    def __init__(self, sources: Sequence[str]) -> None:
        lines = gather_words(sources)
        self.texts = [" ".join(words) for words in lines]
        self.places: dict[str, list[int]] = defaultdict(list)
        for number, words in enumerate(lines):
            for word in set(words):
                self.places[word].append(number)

    def weigh(self, word: str) -> float:
        """Return how rare a word is: the logarithm of one over its share of the lines."""
        return math.log((1 + len(self.texts)) / (1 + len(self.places.get(word, ()))))

    def find(self, words: Sequence[str]) -> Match | None:
        """Return the nearest line; None if none shares a word that is not very frequent."""
        shared, text = defaultdict[int, float](float), " ".join(words)
        rare = [word for word in set(words) if len(self.places.get(word, ())) <= MOST]
        for word in rare:
            weight = self.weigh(word)
            for line in self.places.get(word, ()):
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

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

MOST = 2000  # lines: a word of more finds no candidates
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
        matchs = [Match(line, self._compare(line, text)) for line in sorted({*best, *dense})]
        return max(matchs, key=lambda match: match.similarity, default=None)

    def _compare(self, line: int, text: str) -> float:
        other = self.texts[line]
        return 1 - measure_distance(text, other) / max(1, len(text), len(other))

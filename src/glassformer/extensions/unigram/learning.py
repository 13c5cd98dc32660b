"""Learning of tokens with probabilities (Kudo 2018, section 3.2), the same in every process.

Byte-pair encoding lists candidates, as the paper allows. Expectation maximization finds their
probabilities; those without which the text is hardly less probable are left out, and so on until
the vocabulary has its size. Letters: E edges, each a token at a place of a word; N nodes, the
places between characters; V tokens.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, log

import numpy as np
import numpy.typing as npt
import regex

from glassformer.text.layout import BYTES, CONTROLS, FIRST_CHARACTER, WORD
from glassformer.text.merge_learning import check_room, learn_merges, prepare_texts
from glassformer.text.normalization import Normalization

from .learned_unigram import LearnedUnigram

CANDIDATES = 4  # times as many as tokens are wanted
LONGEST = 16  # characters of a token
LONGEST_WORD = 64  # characters of a word; longer ones are cut
MOST_WORDS = 500_000  # different ones, the most frequent
KEPT = 0.75  # the share of the tokens that stay, each time
ITERATIONS = 2  # of expectation maximization between two cuts
RARE = 0.5  # expected occurrences, below which a token is dropped
DECIMALS = 6  # of ln p

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def learn_unigram(
    lines: Iterable[str], vocabulary: int, normalization: Normalization
) -> LearnedUnigram:
    """Return a tokenizer of at most `vocabulary` tokens; ValueError as in `train_tokenizer`."""
    characters, words = set[str](), Counter[str]()

    def count() -> Iterator[str]:
        for text in prepare_texts(lines, normalization, characters):
            words.update(regex.findall(WORD, text))
            yield text

    room = max(0, vocabulary - FIRST_CHARACTER)
    merges = learn_merges(count(), CANDIDATES * room)
    check_room(characters, vocabulary)
    joined = dict.fromkeys(left + right for left, right in merges)
    longer = [token for token in joined if len(token) <= LONGEST]
    tokens, scores = _choose(sorted(characters), longer, words, room)
    vocabulary_scores = [0.0] * FIRST_CHARACTER + scores
    return LearnedUnigram([*CONTROLS, *BYTES, *tokens], vocabulary_scores, normalization)


def _choose(
    characters: list[str], longer: list[str], words: Counter[str], room: int
) -> tuple[list[str], list[float]]:
    """Return the characters and the best of the longer tokens, with their ln p."""
    tokens, single = [*characters, *longer], len(characters)
    lattices = Lattices.build(words, tokens)
    counts_V = lattices.add_up(lattices.weigh(), len(tokens))
    while True:
        scores_V = np.zeros(0)
        for _ in range(ITERATIONS):
            scores_V = _normalize(counts_V)
            counts_V = lattices.expect(scores_V)
        if len(tokens) <= room:
            scores_V = _normalize(counts_V)
            return tokens, [min(0.0, round(float(each), DECIMALS)) for each in scores_V]
        losses_V = _find_losses(tokens, counts_V)
        losses_V[counts_V < RARE] = -inf
        losses_V[:single] = inf
        largest = max(room, int(KEPT * len(tokens)))
        kept_V = np.sort(np.argsort(-losses_V, kind="stable")[:largest])
        tokens, counts_V = [tokens[id] for id in kept_V], counts_V[kept_V]
        lattices = lattices.keep(kept_V, len(losses_V))


def _normalize(counts_V: Floats) -> Floats:
    """Return ln p; a token that is never expected, like a rare character, is barely possible."""
    counts_V = np.maximum(counts_V, RARE / 10)
    result: Floats = np.log(counts_V / counts_V.sum())
    return result


def _find_losses(tokens: list[str], counts_V: Floats) -> Floats:
    """Return how much less probable the text is without each token, in nats.

    Its occurrences become those of the best segmentation into other tokens, as in SentencePiece.
    """
    counts = dict(zip(tokens, np.maximum(counts_V, RARE / 10).tolist(), strict=True))
    total = sum(counts.values())
    scores = {token: log(count / total) for token, count in counts.items()}
    losses = []
    for token, count in counts.items():
        others = _cut_without(token, scores)
        grown = log(total + count * (len(others) - 1))
        instead = sum(log(counts[other] + count) - grown for other in others)
        losses.append(count * (scores[token] - instead))
    return np.array(losses)


def _cut_without(token: str, scores: Mapping[str, float]) -> list[str]:
    """Return the most probable segmentation of a token into others; a character is its own."""
    if len(token) == 1:
        return [token]
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(token) + 1):
        ways = [
            (best[start][0] + scores[token[start:end]], start)
            for start in range(end)
            if end - start < len(token) and token[start:end] in scores
        ]
        best.append(max(ways))
    results, end = list[str](), len(token)
    while end:
        start = best[end][1]
        results.append(token[start:end])
        end = start
    return results


@dataclass(frozen=True)
class Lattices:
    """All segmentations of all words, as edges between the nodes of each word.

    starts_E, ends_E: nodes. places_N: how many characters are before a node. last_N: the last node
    of its word. times_N: how often its word occurs.
    """

    starts_E: Integers
    ends_E: Integers
    tokens_E: Integers
    places_N: Integers
    last_N: Integers
    times_N: Integers

    @classmethod
    def build(cls, words: Counter[str], tokens: list[str]) -> Lattices:
        ids = {token: id for id, token in enumerate(tokens)}
        longest = max(map(len, tokens))
        edges, nodes = list[tuple[int, int, int]](), list[tuple[int, int, int]]()
        for word, times in words.most_common(MOST_WORDS):
            for at in range(0, len(word), LONGEST_WORD):
                text, first = word[at : at + LONGEST_WORD], len(nodes)
                last = first + len(text)
                nodes += [(place, last, times) for place in range(len(text) + 1)]
                edges += [
                    (first + start, first + end, ids[text[start:end]])
                    for start in range(len(text))
                    for end in range(start + 1, min(len(text), start + longest) + 1)
                    if text[start:end] in ids
                ]
        return cls(*np.array(edges, np.int64).T, *np.array(nodes, np.int64).T)

    def keep(self, kept_V: Integers, count: int) -> Lattices:
        """Return the lattices with these of `count` tokens, numbered anew."""
        numbers_V = np.full(count, -1)
        numbers_V[kept_V] = np.arange(len(kept_V))
        tokens_E = numbers_V[self.tokens_E]
        stays_E = tokens_E >= 0
        return Lattices(
            self.starts_E[stays_E],
            self.ends_E[stays_E],
            tokens_E[stays_E],
            self.places_N,
            self.last_N,
            self.times_N,
        )

    def weigh(self) -> Floats:
        """Return how often the word of each edge occurs."""
        return self.times_N[self.starts_E].astype(float)

    def expect(self, scores_V: Floats) -> Floats:
        """Return the expected occurrences of each token under their ln p."""
        scores_E = scores_V[self.tokens_E]
        before_N = self._sum_ways(self.starts_E, self.ends_E, scores_E, self.places_N)
        after_N = self._sum_ways(self.ends_E, self.starts_E, scores_E, -self.places_N)
        whole_E = before_N[self.last_N[self.starts_E]]
        shares_E = np.exp(before_N[self.starts_E] + scores_E + after_N[self.ends_E] - whole_E)
        return self.add_up(shares_E * self.weigh(), len(scores_V))

    def add_up(self, values_E: Floats, count: int) -> Floats:
        """Return the sum of the values of each of `count` tokens."""
        return np.bincount(self.tokens_E, values_E, count).astype(float)

    def _sum_ways(
        self, from_E: Integers, to_E: Integers, scores_E: Floats, order_N: Integers
    ) -> Floats:
        """Return ln of the probabilities of all ways to each node, from the first or the last."""
        sums_N = np.zeros(len(self.places_N))
        edges = np.lexsort((to_E, order_N[to_E]))
        levels = order_N[to_E[edges]]
        for own in np.split(edges, np.flatnonzero(np.diff(levels)) + 1):
            ways = sums_N[from_E[own]] + scores_E[own]
            nodes, first = np.unique(to_E[own], return_index=True)
            best = np.maximum.reduceat(ways, first)
            times = np.diff(np.append(first, len(own)))
            sums = np.add.reduceat(np.exp(ways - np.repeat(best, times)), first)
            sums_N[nodes] = best + np.log(sums)
        return sums_N

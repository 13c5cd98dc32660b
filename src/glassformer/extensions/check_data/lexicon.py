"""A translation lexicon learned from the corpus itself, which says which lines are partners.

It is IBM model 1 (Brown et al. 1993) in both directions. The lines are dealt out to folds, and each
fold is judged by a lexicon of the others, so that no pair is judged by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .lengths import fit_lengths, log_ratio
from .ragged import Array, Cross, RaggedArray

ITERATIONS = 4
LEARNED = 50_000  # pairs that a lexicon is learned from, at most
LONGEST = 2_500  # words times words of a pair to learn from
AT_ONCE = 2_000  # pairs
# Lines, and the number of folds of so many at most: small corpora need all the lines to learn from.
FOLDS = ((2_000, 8), (10_000, 4))
FEWEST_FOLDS = 2
BY_CHANCE = 0.1  # the probability that a word has no partner in the other line
DISCOUNT = 0.5  # subtracted from each count: a single occurrence means little
RARE = 4.0  # nats for each rare word that both lines have: a number, a name, an address
STEADY = 3.0  # the most nats from lengths


class Measures(NamedTuple):
    """Measures of pairs of lines, each an array; the larger, the likelier lines are partners.

    source, target: nats, the evidence of the known words of a side. known_source, known_target: how
    many these are. shared: how many rare words both lines have. length: nats, of the lengths.
    """

    source: Array
    target: Array
    known_source: Array
    known_target: Array
    shared: Array
    length: Array

    @property
    def evidence(self) -> Array:
        """Return the evidence of all measures together, in nats."""
        words = 0.5 * (self.source + self.target)
        return np.asarray(words + RARE * self.shared + self.length)

    def take(self, chosen: Array) -> Measures:
        return Measures(*(each[chosen] for each in self))

    @classmethod
    def join(cls, parts: Sequence[Measures]) -> Measures:
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


@dataclass(frozen=True, eq=False)
class LexiconSide:
    """All lines of one side: their known words, their rare words and their lengths."""

    known: RaggedArray
    rare: RaggedArray
    lengths: Array  # characters

    def __len__(self) -> int:
        return len(self.known)


class Lexicon:
    """A lexicon that gives the evidence, in nats, that lines translate each other."""

    def __init__(
        self, source: LexiconSide, target: LexiconSide, sizes: tuple[int, int], offsets: Array
    ) -> None:
        """Learn from source line i and target line i + offsets[i]; `sizes` of vocabularies."""
        self.source, self.target = source, target
        i = np.arange(len(source))
        j = i + offsets
        size = np.diff(source.known.starts)[i]
        inside = (j >= 0) & (j < len(target))
        size = size * np.where(inside, np.diff(target.known.starts)[np.where(inside, j, 0)], 0)
        usable = (size > 0) & (size <= LONGEST)
        self.folds = choose_folds(len(source))
        self.lexicons = []
        for fold in range(self.folds):
            chosen = np.flatnonzero(usable & (i % self.folds != fold))
            chosen = chosen[:: max(1, -(-len(chosen) // LEARNED))]
            self.lexicons.append(_Learned(source.known, target.known, sizes, chosen, j[chosen]))
        self.mean, self.spread, self.usual_spread = fit_lengths(
            source.lengths[i[inside]], target.lengths[j[inside]]
        )

    def judge(self, i: Array, j: Array) -> Array:
        """Return the evidence, in nats, that source line i[k] and target line j[k] are partners."""
        return self.measure(i, j).evidence

    def measure(self, i: Array, j: Array) -> Measures:
        """Return the measures of source line i[k] and target line j[k]."""
        i, j = np.asarray(i), np.asarray(j)
        measures = Measures(*np.zeros((len(Measures._fields), len(i)), np.float32))
        for fold, lexicon in enumerate(self.lexicons):
            places = np.flatnonzero(i % self.folds == fold)
            for start in range(0, len(places), AT_ONCE):
                at = places[start : start + AT_ONCE]
                words = lexicon.weigh(self.source.known, self.target.known, i[at], j[at])
                rest = self._measure_rest(i[at], j[at])
                for measure, values in zip(measures, (*words, *rest), strict=True):
                    measure[at] = values
        return measures

    def _measure_rest(self, i: Array, j: Array) -> tuple[Array, Array]:
        """Return how many rare words both lines have, and the evidence of their lengths."""
        cross = Cross.of(self.source.rare, self.target.rare, i, j)
        shared = np.bincount(cross.pair[cross.left == cross.right], minlength=len(i))
        ratio = log_ratio(self.source.lengths[i], self.target.lengths[j]) - self.mean
        near = -0.5 * (ratio / self.spread) ** 2 - np.log(self.spread)
        far = -0.5 * (ratio / self.usual_spread) ** 2 - np.log(self.usual_spread)
        return shared, np.clip(near - far, -STEADY, STEADY)


def choose_folds(lines: int) -> int:
    """Return the number of folds that the lines of a corpus are dealt out to."""
    return next((folds for most, folds in FOLDS if lines <= most), FEWEST_FOLDS)


class _Learned:
    """Translation probabilities learned from some lines, in both directions, by word pair."""

    def __init__(
        self, source: RaggedArray, target: RaggedArray, sizes: tuple[int, int], i: Array, j: Array
    ) -> None:
        self.width = max(sizes[1], 1)
        cross = Cross.of(source, target, i, j)
        keys, place = np.unique(
            cross.left.astype(np.int64) * self.width + cross.right, return_inverse=True
        )
        self.keys = keys
        left, right = np.divmod(keys, self.width)
        self.is_left_known = np.bincount(cross.left, minlength=max(sizes[0], 1)) > 0
        self.is_right_known = np.bincount(cross.right, minlength=self.width) > 0
        self.left_share = _share(cross.left, cross.left_slot, sizes[0])
        self.right_share = _share(cross.right, cross.right_slot, sizes[1])
        self.to_left = _learn(place, cross.left_slot, right, len(keys), self.width)
        self.to_right = _learn(place, cross.right_slot, left, len(keys), max(sizes[0], 1))

    def weigh(
        self, source: RaggedArray, target: RaggedArray, i: Array, j: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Return the evidence of the words of both sides, in nats, and how many of them are known.

        A word that was not learned is no evidence.
        """
        if not len(self.keys):
            return (np.zeros(len(i)),) * 4
        cross = Cross.of(source, target, i, j)
        key = cross.left.astype(np.int64) * self.width + cross.right
        place = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        place = np.where(self.keys[place] == key, place, -1)  # the last entry is for unseen pairs
        left = _weigh(self.to_left[place], cross.left_slot, cross.left, self.left_share)
        right = _weigh(self.to_right[place], cross.right_slot, cross.right, self.right_share)
        known_left = _are_known(cross.left_slot, cross.left, self.is_left_known)
        known_right = _are_known(cross.right_slot, cross.right, self.is_right_known)
        left, right = np.where(known_left, left, np.nan), np.where(known_right, right, np.nan)
        return (
            _sum_up(left, cross.left_owner, cross.left_size, cross.right_size),
            _sum_up(right, cross.right_owner, cross.right_size, cross.left_size),
            _count(known_left, cross.left_owner, len(i)),
            _count(known_right, cross.right_owner, len(i)),
        )


def _share(words: Array, slots: Array, size: int) -> Array:
    """Return the relative frequency of each word."""
    first = np.unique(slots, return_index=True)[1]
    counts = np.bincount(words[first], minlength=max(size, 1)) + 0.5
    return np.asarray(counts / counts.sum())


def _learn(place: Array, slot: Array, values: Array, keys: int, size: int) -> Array:
    """Return P(word | word of the other side) for each key, by expectation maximisation.

    A 0 is appended, for unseen pairs.
    """
    weight: Array = np.ones(keys)
    total: Array = np.bincount(values, weight, minlength=size)
    for _ in range(ITERATIONS):
        expected = (weight / np.maximum(total[values], 1e-9))[place]
        expected /= np.maximum(np.bincount(slot, expected), 1e-30)[slot]
        weight = np.bincount(place, expected, minlength=keys)
        total = np.bincount(values, weight, minlength=size)
    return np.append(np.maximum(weight - DISCOUNT, 0) / (total[values] + 1), 0.0)


def _weigh(probability: Array, slot: Array, word: Array, share: Array) -> Array:
    """Return, for each slot, how much likelier its word is beside that line than in any line."""
    return np.bincount(slot, probability / share[word])


def _are_known(slot: Array, word: Array, is_known: Array) -> Array:
    """Return, for each slot, whether its word was learned."""
    return np.asarray(np.bincount(slot, is_known[word]) > 0)


def _count(chosen: Array, owner: Array, pairs: int) -> Array:
    """Return how many slots of each pair are chosen; slots after the last of them are not."""
    return np.bincount(owner[: len(chosen)], chosen, minlength=pairs)


def _sum_up(weights: Array, owner: Array, size: Array, other_size: Array) -> Array:
    """Return the evidence of each pair, 0 if the other line has no known words.

    A word that was not learned, whose weight is NaN, is no evidence.
    """
    filled = np.zeros(len(owner))
    filled[: len(weights)] = weights
    opposite = np.maximum(other_size, 1)[owner]
    evidence = np.nan_to_num(np.log((1 - BY_CHANCE) * filled / opposite + BY_CHANCE))
    return np.bincount(owner, evidence * (other_size > 0)[owner], minlength=len(size))

"""Mismatches: pairs that look like lines put side by side by chance.

A logistic regression learns to tell the pairs of a corpus from lines of it that are put together by
chance; no pair is judged by a model that has seen it. A pair is noted as a mismatch if its log odds
are usual among pairs by chance and rare among pairs of its length. How many of the pairs by chance
would be noted is the sensitivity: it says whether there is text enough to judge by.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from .lexicon import Lexicon, LexiconSide, Measures
from .ragged import Array, RaggedArray

FEWEST = 30  # pairs: with fewer, any result may be chance
SAMPLE = 20_000  # pairs that the regression learns from, at most
CHANCE_PAIRS, CHANCE_PARTNERS = 1_000, 3  # pairs by chance, and of each line, at least
MODELS = 5  # each judges a fifth of the pairs, and has learned from the others
RIDGE, ROUNDS = 1.0, 30
CLASS_SIZE, MOST_CLASSES = 100, 5  # pairs of about the same length that are judged together
FALSE_ALARMS, FALSE_ALARMS_IN_CLASS = 0.006, 0.01  # the share of right pairs that may be noted
MOST_NOTED = 0.012  # so many right pairs at most, where they were estimated only
SURELY_WRONG = 0.4  # a share of the pairs by chance: hardly any right pair is below
MOST_FOUND = 0.97  # a share of the pairs by chance that is enough
MANY, PLENTY = 400, 5_000  # pairs in which shares can be counted, too, or need no estimate
MOST_WRONG = 0.6
UNEVEN = 2.2  # times as many pairs: these are not only wrong ones, whose ranks are spread evenly
SCATTER = np.uint32(0x9E3779B1)  # a factor of multiplicative hashing
QUARTILE = NormalDist().inv_cdf(0.75)


@dataclass(frozen=True, eq=False)
class Judgement:
    """The judgement of pairs: log odds that they are partners, and which are mismatches.

    sensitivity: the share of pairs by chance that would be noted as mismatches, 0 to 1.
    """

    log_odds: Array
    is_mismatch: Array
    sensitivity: float


def judge_partners(lexicon: Lexicon, measures: Measures, lines: Array) -> Judgement | None:
    """Return the judgement of the pairs of source and target lines of these numbers.

    `measures` are those of these pairs. None if there are too few of them to judge, or too few
    different ones.
    """
    if len(lines) < FEWEST:
        return None
    sample = np.arange(len(lines))[:: -(-len(lines) // SAMPLE)]
    left, right = pair_by_chance(sample, len(lines))
    are_partners = are_same(lexicon.source, lines[left], lines[right])
    are_partners |= are_same(lexicon.target, lines[left], lines[right])
    left, right = left[~are_partners], right[~are_partners]
    if len(left) < FEWEST:
        return None
    by_chance = lexicon.measure(lines[left], lines[right])
    partners, strangers = describe(measures), describe(by_chance)
    log_odds, chance_odds = np.empty(len(lines)), np.empty(len(left))
    part = np.random.default_rng(1).integers(MODELS, size=len(lines), dtype=np.int8)
    chance_part = part[left]
    for each in range(MODELS):
        learned = sample[part[sample] != each]
        weigh = fit_regression(partners[learned], strangers[chance_part != each])
        log_odds[part == each] = weigh(partners[part == each])
        chance_odds[chance_part == each] = weigh(strangers[chance_part == each])
    source, target = (side.lengths[lines] for side in (lexicon.source, lexicon.target))
    limits = LengthClasses(source + target, source[left] + target[right])
    return Judgement(log_odds, *limits.choose(log_odds, chance_odds))


def pair_by_chance(sample: Array, count: int) -> tuple[Array, Array]:
    """Return lines of the sample, each several times, and other lines beside them."""
    times = min(count - 1, max(CHANCE_PARTNERS, CHANCE_PAIRS // len(sample)))
    shifts = np.random.default_rng(0).choice(np.arange(1, count), times, replace=False)
    left = np.tile(sample, times)
    return left, (left + np.repeat(shifts, len(sample))) % count


def are_same(side: LexiconSide, i: Array, j: Array) -> Array:
    """Return a mask of lines i[k] and j[k] of a side that have the same words, in any order."""
    known, rare = map(_sum_words, (side.known, side.rare))
    return np.asarray((known[i] == known[j]) & (rare[i] == rare[j]))


def _sum_words(words: RaggedArray) -> Array:
    """Return a sum for each line of numbers that are scattered: other words have another sum."""
    scattered = (words.values.astype(np.uint32) + np.uint32(1)) * SCATTER
    scattered = (scattered ^ (scattered >> np.uint32(15))) * SCATTER
    padded = np.append(scattered, np.uint32(0))  # lines without words may be the last
    return np.where(np.diff(words.starts) > 0, np.add.reduceat(padded, words.starts[:-1]), 0)


def describe(measures: Measures) -> Array:
    """Return a row of features for each pair: the evidence of a word, of the line, and the rest."""
    rows = []
    for evidence, known in (
        (measures.source, measures.known_source),
        (measures.target, measures.known_target),
    ):
        rows += [evidence / (known + 2), evidence / np.sqrt(known + 2)]
    rows += [np.minimum(measures.shared, 4), np.sqrt(measures.shared), measures.length]
    return np.stack(rows, axis=1).astype(np.float32)


class Regression:
    """A logistic regression: weights of standardized features, and a bias."""

    def __init__(self, mean: Array, scale: Array, weights: Array) -> None:
        self.mean, self.scale, self.weights = mean, scale, weights

    def standardize(self, rows: Array) -> Array:
        return np.c_[(rows - self.mean) / self.scale, np.ones(len(rows))]

    def __call__(self, rows: Array) -> Array:
        """Return the log odds of each row."""
        return np.asarray(self.standardize(rows) @ self.weights)


def fit_regression(partners: Array, strangers: Array) -> Regression:
    """Return the ridge regression that tells partners from strangers, by Newton's method."""
    rows = np.concatenate([partners, strangers]).astype(np.float64)
    label = np.repeat([1.0, 0.0], [len(partners), len(strangers)])
    weights = np.zeros(rows.shape[1] + 1)
    model = Regression(rows.mean(0), rows.std(0) + 1e-9, weights)
    standard = model.standardize(rows)
    ridge = np.diag([RIDGE] * rows.shape[1] + [1e-6])
    for _ in range(ROUNDS):
        odds = np.clip(standard @ model.weights, -30, 30)
        probability = 1 / (1 + np.exp(-odds))
        spread = probability * (1 - probability) + 1e-9
        gradient = standard.T @ (label - probability) - ridge @ model.weights
        step = np.linalg.solve(standard.T * spread @ standard + ridge, gradient)
        model.weights = model.weights + step
        if np.abs(step).max() < 1e-6:
            break
    return model


class LengthClasses:
    """Classes of pairs of about the same length, whose log odds are compared with one another."""

    def __init__(self, lengths: Array, chance_lengths: Array) -> None:
        classes = int(np.clip(len(lengths) // CLASS_SIZE, 1, MOST_CLASSES))
        parts = np.linspace(0, 1, classes + 1)[1:-1]
        edges = np.unique(np.quantile(lengths, parts, method="higher"))
        edges = edges[edges > lengths.min()]  # where many lengths are equal, classes are fewer
        self.count = len(edges) + 1
        self.of = np.digitize(lengths, edges)
        self.of_chance = np.digitize(chance_lengths, edges)

    def choose(self, log_odds: Array, chance_odds: Array) -> tuple[Array, float]:
        """Return a mask of the mismatches, and the sensitivity."""
        by_chance = [np.sort(chance_odds[self.of_chance == each]) for each in range(self.count)]
        rank = np.empty(len(log_odds))  # the share of pairs by chance that are less likely partners
        for each, values in enumerate(by_chance):
            chosen = self.of == each
            rank[chosen] = np.searchsorted(values, log_odds[chosen]) / max(len(values), 1)
        wrong = estimate_wrong(rank)
        counted = find_limit(rank, wrong, FALSE_ALARMS) if len(rank) >= MANY else 0.0
        limits = np.empty(self.count)
        for each, values in enumerate(by_chance):
            chosen = self.of == each
            estimate = estimate_limit(log_odds[chosen], wrong)
            estimated = min(np.searchsorted(values, estimate) / max(len(values), 1), MOST_FOUND)
            own = find_limit(rank[chosen], wrong, FALSE_ALARMS_IN_CLASS)
            limits[each] = max(estimated * (len(rank) < PLENTY), min(counted, own))
        limit = limits[self.of]
        noted = np.flatnonzero(rank < limit)
        noted = noted[np.argsort(rank[noted], kind="stable")]
        if len(noted) > (most := count_most(wrong, len(rank))):
            limit = np.minimum(limit, rank[noted[most]])
        return rank < limit, float(limit.mean())


def estimate_wrong(rank: Array) -> float:
    """Return the share of pairs that are mismatches; 0 if pairs by chance are not told apart."""
    low, high = (float(np.mean(rank < limit)) for limit in (SURELY_WRONG, 0.9))
    wrong, beyond = low / SURELY_WRONG, (high - low) / (0.9 - SURELY_WRONG)
    return min(wrong, MOST_WRONG) if beyond <= UNEVEN * wrong else 0.0


def count_most(wrong: float, pairs: int) -> int:
    """Return how many pairs may be noted, if this share seems wrong; few lines say little of it."""
    doubt = 2 / (SURELY_WRONG * pairs) if pairs >= CLASS_SIZE else 1.0  # two pairs
    return int((MOST_NOTED + max(0.0, wrong - doubt)) * pairs) + 1


def find_limit(rank: Array, wrong: float, share: float) -> float:
    """Return the highest rank below which at most this share of the pairs are right ones.

    `wrong` is the share of pairs that are mismatches; their ranks are spread evenly.
    """
    grid = np.linspace(0, MOST_FOUND, 98)
    below = np.searchsorted(np.sort(rank), grid) / len(rank)
    error = np.sqrt(max(wrong, 1 / len(rank)) * grid / len(rank))
    over = np.flatnonzero(below - wrong * grid > share + error)
    return float(grid[max(over[0] - 1, 0)] if len(over) else grid[-1])


def estimate_limit(log_odds: Array, wrong: float) -> float:
    """Return the log odds below which few right pairs are, if theirs are spread as in a normal law.

    Its mean and spread come from two quartiles of the pairs that are left without the wrong ones.
    """
    middle, low = np.quantile(log_odds, [wrong + (1 - wrong) * part for part in (0.5, 0.25)])
    spread = float(middle - low) / QUARTILE
    few = np.partition(log_odds, few_of := int(FALSE_ALARMS_IN_CLASS * len(log_odds)))[few_of]
    normal = float(middle) + spread * NormalDist().inv_cdf(FALSE_ALARMS_IN_CLASS)
    return max(normal, float(few))

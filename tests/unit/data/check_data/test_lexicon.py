"""The lexicon beside IBM model 1 in plain loops over words (Brown et al. 1993)."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from random import Random

import numpy as np
import pytest

from glassformer.extensions.check_data.lexicon import (
    BY_CHANCE,
    DISCOUNT,
    ITERATIONS,
    RARE,
    STEADY,
    Lexicon,
    LexiconSide,
    Measures,
    choose_folds,
)
from glassformer.extensions.check_data.ragged import RaggedArray

Rows = list[list[int]]
LINES, SIZES = 30, (9, 11)


def draw(random: Random, most: int) -> Rows:
    return [random.sample(range(most), random.choice([0, 1, 1, 2, 4])) for _ in range(LINES)]


class SlowModel:
    """P(word | word of the other side), learned from lines; a word alone is known by its share."""

    def __init__(self, pairs: list[tuple[list[int], list[int]]], size: int) -> None:
        pairs = [(ours, theirs) for ours, theirs in pairs if ours and theirs]
        weight = dict.fromkeys(((a, b) for x, y in pairs for a in x for b in y), 1.0)
        for _ in range(ITERATIONS):
            total = self._add_up(weight)
            new = defaultdict[tuple[int, int], float](float)
            for ours, theirs in pairs:
                for a in ours:
                    chances = {b: weight[a, b] / max(total[b], 1e-9) for b in theirs}
                    for b, chance in chances.items():
                        new[a, b] += chance / max(sum(chances.values()), 1e-30)
            weight = dict(new)
        total = self._add_up(weight)
        self.chances = {
            (a, b): max(value - DISCOUNT, 0) / (total[b] + 1) for (a, b), value in weight.items()
        }
        counts = Counter(word for ours, _ in pairs for word in ours)
        self.known = {*counts}
        whole = sum(counts.values()) + 0.5 * size
        self.share = {word: (counts[word] + 0.5) / whole for word in range(size)}

    @staticmethod
    def _add_up(weight: dict[tuple[int, int], float]) -> dict[int, float]:
        total = defaultdict[int, float](float)
        for (_, b), value in weight.items():
            total[b] += value
        return total

    def judge(self, ours: list[int], theirs: list[int]) -> tuple[float, int]:
        """The evidence of the known words of a line, and how many these are."""
        known = [a for a in ours if a in self.known] if theirs else []
        evidence = 0.0
        for a in known:
            ratio = sum(self.chances.get((a, b), 0.0) for b in theirs) / self.share[a]
            evidence += math.log((1 - BY_CHANCE) * ratio / len(theirs) + BY_CHANCE)
        return evidence, len(known)


@pytest.mark.parametrize("seed", range(4))
def test_the_evidence_of_words_is_that_of_plain_loops(seed: int) -> None:
    random = Random(seed)
    source, target = draw(random, SIZES[0]), draw(random, SIZES[1])
    rare = [[random.randint(0, 3)] * random.randint(0, 2) for _ in range(2 * LINES)]
    lengths = [[random.randint(5, 90) for _ in range(LINES)] for _ in range(2)]
    ours_side, theirs_side = (
        LexiconSide(RaggedArray.join(known, np.uint16), RaggedArray.join(few), np.array(length))
        for known, few, length in zip(
            (source, target), (rare[:LINES], rare[LINES:]), lengths, strict=True
        )
    )
    lexicon = Lexicon(ours_side, theirs_side, SIZES, np.zeros(LINES, np.int64))
    i = np.array(random.choices(range(LINES), k=60))
    j = np.array(random.choices(range(LINES), k=60))
    found = lexicon.measure(i, j)
    folds = choose_folds(LINES)
    assert folds == 8
    for k, (a, b) in enumerate(zip(i.tolist(), j.tolist(), strict=True)):
        learned = [n for n in range(LINES) if n % folds != a % folds]  # not from itself
        pairs = [(source[n], target[n]) for n in learned]
        ours = SlowModel(pairs, SIZES[0]).judge(source[a], target[b])
        backwards = SlowModel([(y, x) for x, y in pairs], SIZES[1])
        theirs = backwards.judge(target[b], source[a])
        assert (found.source[k], found.known_source[k]) == pytest.approx(ours, abs=1e-4)
        assert (found.target[k], found.known_target[k]) == pytest.approx(theirs, abs=1e-4)
        shared = sum(x == y for x in rare[a] for y in rare[LINES + b])
        assert found.shared[k] == shared
        ratio = math.log((lengths[1][b] + 3) / (lengths[0][a] + 3)) - lexicon.mean
        near, far = (
            -0.5 * (ratio / spread) ** 2 - math.log(spread)
            for spread in (lexicon.spread, lexicon.usual_spread)
        )
        length = min(max(near - far, -STEADY), STEADY)
        assert found.length[k] == pytest.approx(length, abs=1e-4)
        whole = 0.5 * (ours[0] + theirs[0]) + RARE * shared + length
        assert found.evidence[k] == pytest.approx(whole, abs=1e-3)


def test_a_shared_number_outweighs_a_ratio_that_is_odd_and_one_odd_word_outweighs_none() -> None:
    """4 nats for it and 3 for lengths at most; a word without a partner takes -2.3 (ln 0.1)."""
    one, none = np.ones(1), np.zeros(1)
    assert float(Measures(none, none, none, none, one, -STEADY * one).evidence[0]) == 1.0
    assert math.log(BY_CHANCE) == pytest.approx(-2.3026, abs=1e-3)


def test_nothing_to_learn_from_is_no_evidence() -> None:
    empty = LexiconSide(
        RaggedArray.join([[], []], np.uint16), RaggedArray.join([[], []]), np.array([5, 5])
    )
    lexicon = Lexicon(empty, empty, (0, 0), np.zeros(2, np.int64))
    found = lexicon.measure(np.array([0, 1]), np.array([0, 1]))
    assert not found.source.any() and not found.target.any() and not found.known_source.any()

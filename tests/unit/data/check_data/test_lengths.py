"""Ratios of lengths, beside the same in plain loops."""

from __future__ import annotations

import math
from random import Random
from statistics import median

import numpy as np
import pytest

from glassformer.config import Data
from glassformer.extensions.check_data.lengths import (
    FAR,
    FEW,
    LEAST,
    correlate,
    find_long,
    find_outliers,
    fit_lengths,
)


def find_slowly(source: list[int], target: list[int]) -> list[int]:
    """Pairs whose log ratio is far from the median, by the spread among pairs of their size."""
    ratios = [math.log((t + 3) / (s + 3)) for s, t in zip(source, target, strict=True)]
    sizes = [
        int(math.log2(s + t + 1)) if s and t else None for s, t in zip(source, target, strict=True)
    ]
    usual = median(ratio for ratio, size in zip(ratios, sizes, strict=True) if size is not None)
    found = []
    for number, size in enumerate(sizes):
        peers = [each for each in range(len(sizes)) if sizes[each] == size is not None]
        if len(peers) < FEW:
            peers = [each for each, one in enumerate(sizes) if one is not None]
        spread = 1.4826 * median(abs(ratios[each] - usual) for each in peers)
        is_far = abs(ratios[number] - usual) > max(FAR * spread, LEAST)
        if size is not None and is_far and max(source[number], target[number]) >= 20:
            found.append(number)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_outliers_are_those_of_plain_loops(seed: int) -> None:
    random = Random(seed)
    source = [random.choice([random.randint(0, 9), random.randint(10, 300)]) for _ in range(700)]
    target = [round(1.3 * each * math.exp(random.gauss(0, 0.15))) for each in source]
    for number in random.sample(range(700), 20):
        target[number] = random.randint(0, 400)
    found = find_outliers(np.array(source), np.array(target)).tolist()
    assert found == find_slowly(source, target) and len(found) > 5


def test_of_two_short_sides_any_ratio_can_be_right() -> None:
    lengths = np.full(50, 60)
    for longest, found in ((19, []), (20, [50])):
        source, target = np.append(lengths, 2), np.append(lengths, longest)
        assert find_outliers(source, target).tolist() == found
        assert find_outliers(target, source).tolist() == found


@pytest.mark.parametrize(("is_unspaced", "characters"), [(False, 8), (True, 3)])
def test_a_line_is_long_where_tokens_of_twice_the_length_are_too_many(
    is_unspaced: bool, characters: int
) -> None:
    """Tokens have 4 characters in text with spaces, and 1.5 without."""
    most = characters * Data().max_length
    assert find_long(np.array([most, most + 1, 1]), is_unspaced).tolist() == [1]


def test_the_ratio_of_partners_is_a_median_and_one_pair_says_nothing() -> None:
    random = Random(1)
    source = np.array([random.randint(5, 200) for _ in range(501)])
    target = np.array([round(2 * each * math.exp(random.gauss(0, 0.2))) for each in source])
    ratios = [math.log((t + 3) / (s + 3)) for s, t in zip(source, target, strict=True)]
    middle, spread, usual = fit_lengths(source, target)
    assert middle == pytest.approx(median(ratios))
    assert spread == pytest.approx(1.4826 * median(abs(each - middle) for each in ratios))
    assert 0.1 < spread < 0.3 < usual  # pairs by chance differ more
    assert fit_lengths(source, source)[:2] == (0.0, 0.05)
    assert fit_lengths(source[:1], target[:1]) == (0.0, 1.0, 1.0)


def test_lengths_correlate_as_their_logarithms_do() -> None:
    random = Random(2)
    source, target = (np.array([random.randint(1, 99) for _ in range(200)]) for _ in range(2))
    expected = np.corrcoef(np.log(source + 3), np.log(target + source + 3))[0, 1]
    assert correlate(source, target + source) == pytest.approx(expected)
    assert correlate(np.full(3, 7), np.array([1, 2, 3])) == 1
    assert correlate(np.zeros(0), np.zeros(0)) == 1

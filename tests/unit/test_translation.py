"""The parts of a text, and the best of their combinations."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from glassformer.decode import Hypothesis
from glassformer.translate.writing import assemble, combine


def draw(random: Random, number: int) -> list[Hypothesis]:
    hypotheses = [
        Hypothesis([n], 0.0, random.uniform(-5, 0), [], random.random() < 0.8)
        for n in range(number)
    ]
    return sorted(hypotheses, key=lambda each: (not each.finished, -each.score))


@pytest.mark.parametrize("number", [1, 2, 5])
def test_the_best_combinations_are_those_of_all(number: int) -> None:
    random = Random(number)
    for parts in range(1, 5):
        found = [draw(random, random.randint(1, 4)) for _ in range(parts)]
        every = sorted(
            product(*found),
            key=lambda way: (sum(not x.finished for x in way), -sum(x.score for x in way)),
        )
        assert combine(found, number) == every[:number]


def test_the_order_of_each_ranking_is_kept() -> None:
    ranked = [Hypothesis([n], score, score, [], True) for n, score in enumerate((-3, -1, -4, -2))]
    assert combine([ranked], 3) == [(each,) for each in ranked[:3]]
    best, *_ = combine([ranked, ranked], 4)
    assert best == (ranked[0], ranked[0])


def test_of_no_part_there_is_one_translation() -> None:
    assert combine([], 3) == [()]
    empty = assemble(" \t", [], ())
    assert (empty.text, empty.tokens, empty.log_prob, empty.finished) == ("", [], 0.0, True)
    assert empty.parts == []

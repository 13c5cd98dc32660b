"""The best pairs are kept: wrong partners come last, by the text itself or by a model."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pytest

from glassformer.data.files import read_lines
from glassformer.extensions.check_data import (
    choose_best,
    examine,
    fix,
    rank_by_lexicon,
    rank_by_model,
    read_amount,
)


def test_noise_comes_last(data: Path) -> None:
    source, target = (
        [*islice(read_lines(data / f"multi30k/train.{lang}"), 3000)] for lang in ("en", "de")
    )
    wrong = Random(2).sample(range(3000), 600)
    for here, text in zip(wrong, [target[n] for n in wrong[1:] + wrong[:1]], strict=True):
        target[here] = text
    report = examine(source, target)
    best = choose_best(rank_by_lexicon(report), read_amount("80%", 3000))
    assert best.sum() == 2400 and (~best[wrong]).mean() > 0.9
    kept = {*fix(source, target, report, best=best)}
    assert len(kept & {(source[n], target[n]) for n in wrong}) < 70


def test_a_model_ranks_by_token() -> None:
    logs = {"a": (-2.0, 1), "b": (-3.0, 3), "c": (-9.0, 9), "d": (0.0, 0)}
    ranks = rank_by_model([""] * 4, [*logs], lambda _, targets: [logs[text] for text in targets])
    assert ranks.tolist() == [-2.0, -1.0, -1.0, 0.0]
    assert choose_best(ranks, 2).tolist() == [False, True, False, True]


@pytest.mark.parametrize(
    ("amount", "number"), [("80%", 80), ("12.5 %", 12), ("7", 7), ("100%", 100)]
)
def test_amounts(amount: str, number: int) -> None:
    assert read_amount(amount, 100) == number


@pytest.mark.parametrize("amount", ["", "x", "0", "101", "101%", "0.1%", "-5"])
def test_amounts_that_are_none(amount: str) -> None:
    with pytest.raises(ValueError, match="--keep-best"):
        read_amount(amount, 100)


def test_too_few_pairs_are_not_ranked() -> None:
    with pytest.raises(ValueError, match="needs a comparison"):
        rank_by_lexicon(examine(["a b"] * 3, ["c d"] * 3))
    assert np.isfinite(rank_by_model(["a"], ["b"], lambda *_: [(-1.0, 2)])).all()

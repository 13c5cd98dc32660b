"""Wrong partners are found where the text teaches enough, right ones are left alone, anywhere."""

from __future__ import annotations

import math
from itertools import islice
from pathlib import Path
from random import Random

import numpy as np
import pytest

from glassformer.data.files import read_lines
from glassformer.extensions.check_data import Report, examine, mismatches
from glassformer.extensions.check_data.lexicon import LexiconSide, choose_folds
from glassformer.extensions.check_data.mismatches import (
    FEWEST,
    RIDGE,
    LengthClasses,
    are_same,
    estimate_wrong,
    find_limit,
    fit_regression,
    pair_by_chance,
)
from glassformer.extensions.check_data.ragged import RaggedArray

NEWSTEST = "wmt21_metric_check/newstest2021.en-de"
CORPORA = {
    "newstest": (f"{NEWSTEST}.src.en", f"{NEWSTEST}.ref.A.de"),
    "ted": ("ted_az_en/test.az", "ted_az_en/test.en"),
    "iwslt": ("iwslt14_20k/train.de", "iwslt14_20k/train.en"),
    "tatoeba": ("tatoeba_en_zh/train.en", "tatoeba_en_zh/train.zh"),
    "multi30k": ("multi30k/train.en", "multi30k/train.de"),
}
FALSE_ALARMS = 0.02


def _read(data: Path, name: str, count: int) -> list[list[str]]:
    return [[*islice(read_lines(data / side), count)] for side in CORPORA[name]]


def _places(report: Report) -> set[int]:
    found = report["mismatch"]
    return set() if found is None else set(found.places.tolist())


@pytest.mark.parametrize("count", [50, 200, 1000])
@pytest.mark.parametrize("name", CORPORA)
def test_right_pairs_are_left_alone(data: Path, name: str, count: int) -> None:
    sides = _read(data, name, count)
    assert len(_places(examine(*sides))) <= max(1, FALSE_ALARMS * len(sides[0]))


@pytest.mark.thorough
@pytest.mark.parametrize("name", CORPORA)
def test_wrong_partners_are_found_or_it_is_said(data: Path, name: str) -> None:
    source, target = _read(data, name, 2000)
    wrong = Random(1).sample(range(len(source)), len(source) // 20)
    for here, text in zip(wrong, [target[n] for n in wrong[1:] + wrong[:1]], strict=True):
        target[here] = text
    report = examine(source, target)
    found, sensitivity = _places(report), report.sensitivity
    assert sensitivity is not None and len(found - set(wrong)) <= FALSE_ALARMS * len(source)
    share = len(found & set(wrong)) / len(wrong)
    error = math.sqrt(sensitivity * (1 - sensitivity) / len(wrong))
    assert share > sensitivity - 3 * error - 0.03, "it is not more blind than it says"
    assert (share > 0.85 and not report.blindness) or "would be noted" in report.blindness
    if name in ("newstest", "multi30k", "iwslt"):
        assert share >= 0.75


def test_long_lines_are_noted_no_more_than_short_ones(data: Path) -> None:
    source, target = _read(data, "ted", 900)
    order = np.argsort([len(a) + len(b) for a, b in zip(source, target, strict=True)])
    noted = np.isin(order, [*_places(examine(source, target))])
    shares = [float(part.mean()) for part in np.array_split(noted, 5)]
    assert max(shares) <= 0.04, shares


@pytest.mark.parametrize("sample", [100, 160])
def test_a_sample_teaches_all_models(
    data: Path, monkeypatch: pytest.MonkeyPatch, sample: int
) -> None:
    """In a large corpus every n-th pair is learned from, whatever n is."""
    monkeypatch.setattr(mismatches, "SAMPLE", sample)
    source, target = _read(data, "multi30k", 800)
    target[:40] = target[40:80]
    report = examine(source, target)
    assert report.sensitivity is not None and report.sensitivity > 0.8
    assert len(_places(report) & {*range(40)}) > 30 and len(_places(report)) < 65


def test_few_pairs_are_not_judged() -> None:
    pairs = [(f"line {n} of a", f"Zeile {n} von a") for n in range(FEWEST - 1)]
    report = examine(*map(list, zip(*pairs, strict=True)))
    assert report["mismatch"] is None and report.sensitivity == 0.0
    assert "too few pairs" in report.blindness and report.blindness in str(report)
    assert report.to_json()["note"] == report.blindness


@pytest.mark.parametrize(("gap", "wrong", "sees"), [(9.0, 0, 1), (9.0, 100, 1), (1.0, 0, 0)])
def test_limits_of_known_spreads(gap: float, wrong: int, sees: bool) -> None:
    """Log odds of two normal laws: apart, all wrong pairs are found; in each other, none."""
    rng, count = np.random.default_rng(4), 2000
    odds = rng.normal(gap, 1.5, count)
    odds[:wrong] = rng.normal(0, 1.5, wrong)
    chance, lengths = rng.normal(0, 1.5, 4000), rng.integers(10, 200, count)
    classes = LengthClasses(lengths, rng.choice(lengths, len(chance)))
    mask, sensitivity = classes.choose(odds, chance)
    assert mask[wrong:].mean() <= 0.015
    assert (sensitivity > 0.9) == sees
    if wrong:
        assert mask[:wrong].mean() > 0.85


def test_ranks_of_pairs_by_chance_are_all_wrong_ones() -> None:
    """Where all pairs are mismatches, no rank is too high, and they are no more than all."""
    ranks = (np.arange(400) + 0.5) / 400
    assert find_limit(ranks, 1.0, 0.006) == pytest.approx(0.97)
    right = 0.5 + ranks / 2  # none of them is below the middle
    assert find_limit(right, 0.0, 0.006) == pytest.approx(0.5, abs=0.03)
    assert estimate_wrong(ranks) == pytest.approx(0.6)
    assert estimate_wrong(np.full(400, 0.1)) <= 1
    assert estimate_wrong(np.append(ranks[:40] * 10, np.full(360, 0.99))) == pytest.approx(0.1)
    assert estimate_wrong(np.append(ranks[:40] * 10, np.full(360, 0.7))) == 0  # hardly told apart


def test_the_regression_is_where_its_gradient_vanishes() -> None:
    """The penalized likelihood has no gradient there, summed up in plain loops."""
    rng = np.random.default_rng(2)
    partners, strangers = rng.normal(1, 1, (60, 3)), rng.normal(0, 2, (90, 3))
    model = fit_regression(partners, strangers)
    gradient = [-RIDGE * weight for weight in model.weights[:-1]] + [0.0]
    for label, rows in ((1, partners), (0, strangers)):
        for row, odds in zip(rows, model(rows), strict=True):
            off = label - 1 / (1 + math.exp(-odds))
            standard = [(x - m) / s for x, m, s in zip(row, model.mean, model.scale, strict=True)]
            gradient = [s + off * x for s, x in zip(gradient, [*standard, 1.0], strict=True)]
    assert max(map(abs, gradient)) < 1e-4


@pytest.mark.parametrize("count", [2, 3, 50, 1000])
def test_pairs_by_chance_are_never_partners(count: int) -> None:
    left, right = pair_by_chance(np.arange(count), count)
    assert (left != right).all()
    assert len({*zip(left.tolist(), right.tolist(), strict=True)}) == len(left)
    assert choose_folds(count) >= choose_folds(10**6)


@pytest.mark.parametrize(
    "pairs",
    [
        [("yes", "oui"), ("no", "non")] * 200,
        [("the cat sleeps here", "le chat dort ici")] * 400,
        [("OK", "OK")] * 350 + [(f"File {n}", f"Fichier {n}") for n in range(50)],
        [(f"2000-{n % 12 + 1:02}-{n % 28 + 1:02}", f"{n % 28 + 1:02}.2000") for n in range(400)],
        [(str(n), str(n)) for n in range(400)],
        [("a b c d", "d c b a")] * 120 + [("a b c d e", "e d c b a")] * 380,
    ],
    ids=["two", "one", "names", "dates", "numbers", "lengths"],
)
def test_drills_whose_lengths_are_equal_are_left_alone(pairs: list[tuple[str, str]]) -> None:
    """They have few lengths to compare, or one, and the same pair is no stranger to itself."""
    assert not _places(examine(*map(list, zip(*pairs, strict=True))))


@pytest.mark.parametrize("lengths", [[5], [4] * 99 + [5] * 401, [5] * 499 + [9], [1, 5, 5, 9]])
def test_no_class_of_lengths_is_empty(lengths: list[int]) -> None:
    classes = LengthClasses(np.resize(lengths, 500), np.array([5, 7]))
    assert {*classes.of.tolist()} == {*range(classes.count)}


def test_lines_with_the_same_words_are_the_same() -> None:
    words = RaggedArray.join([[1, 2], [], [3], [2, 1], [], [3], []])
    side = LexiconSide(words, RaggedArray.join([[], [7], [], [], [7], [9], []]), np.zeros(7))
    left, right = np.triu_indices(7, 1)
    same = are_same(side, left, right)
    assert [*zip(left[same].tolist(), right[same].tolist(), strict=True)] == [(0, 3), (1, 4)]

"""Offsets of the lines of a small corpus: what speaks for them, and the best path."""

from __future__ import annotations

from itertools import pairwise, product
from math import log
from random import Random

import numpy as np
import pytest

from glassformer.extensions.check_data.lexicon import LexiconSide
from glassformer.extensions.check_data.offsets import (
    drop_chance,
    find_offset_path,
    list_misalignments,
    weigh_surface,
)
from glassformer.extensions.check_data.order import Misalignment
from glassformer.extensions.check_data.ragged import RaggedArray
from glassformer.extensions.check_data.words import Vocabulary

LINES, REACH = 60, 8


def make_side(lengths: list[int], rare: dict[int, list[int]]) -> LexiconSide:
    empty = RaggedArray.join([[]] * len(lengths), np.uint16)
    rows = [rare.get(n, []) for n in range(len(lengths))]
    return LexiconSide(empty, RaggedArray.join(rows), np.array(lengths))


def weigh(source: LexiconSide, target: LexiconSide) -> np.ndarray:
    return weigh_surface(source, target, (Vocabulary([]), Vocabulary([])), REACH)


@pytest.mark.parametrize("factor", [1, 3])
@pytest.mark.parametrize("lost", [0, 2])
def test_lengths_speak_for_the_true_offset(factor: int, lost: int) -> None:
    """Whichever side is the longer one."""
    lengths = [Random(n).randrange(20, 200) for n in range(LINES)]
    longer = [factor * length for length in lengths]
    for sides in ((lengths, longer[lost:]), (longer, lengths[lost:])):
        evidence = weigh(*(make_side(each, {}) for each in sides))
        sums = evidence.sum(axis=1)
        assert sums.argmax() == REACH - lost and sums[REACH - lost] > 0


def test_a_word_of_both_sides_speaks_for_its_lines() -> None:
    """The rarer it is there, the more."""
    lengths = [20] * LINES
    none = weigh(*[make_side(lengths, {})] * 2)
    sides = make_side(lengths, {30: [7], 31: [9]}), make_side(lengths, {32: [7], 50: [7], 3: [8]})
    more = weigh(*sides) - none
    assert more[REACH + 2, 30] == pytest.approx(log(0.3 * LINES / 2))
    more[REACH + 2, 30] = 0
    assert not more.any()


def test_the_path_is_the_best_of_all() -> None:
    """A change costs 25 nats, and so does beginning elsewhere than at 0."""
    random, offsets, lines = Random(3), (-1, 0, 1), 5
    for _ in range(30):
        rows = [[random.uniform(-30, 30) for _ in range(lines)] for _ in offsets]

        def score(path: tuple[int, ...], rows: list[list[float]] = rows) -> float:
            changes = sum(a != b for a, b in pairwise((0, *path)))
            return sum(rows[each + 1][n] for n, each in enumerate(path)) - 25 * changes

        best = max(score(path) for path in product(offsets, repeat=lines))
        assert score(tuple(find_offset_path(np.array(rows)).tolist())) == pytest.approx(best)


def test_changes_are_named_where_they_fit_best() -> None:
    evidence = np.zeros((5, 100))
    evidence[2, :37], evidence[3, 37:] = 1, 1  # the path below changes three lines later
    path = np.repeat([0, 1], [40, 60])
    assert list_misalignments(path, evidence) == [Misalignment(37, 0, 1)]
    assert list_misalignments(np.full(100, 2), evidence) == [Misalignment(0, 0, 2)]
    assert list_misalignments(np.zeros(100, int), evidence) == []


def test_offsets_that_nothing_speaks_for_are_left() -> None:
    path = np.repeat([0, 2, 1], [30, 30, 30])
    surface, evidence = np.full((5, 90), -0.1), np.full((5, 90), -0.1)
    surface[2, :30], evidence[3, 60:] = 0.2, 0.1
    assert drop_chance(path, surface, evidence).tolist() == [0] * 60 + [1] * 30


@pytest.mark.parametrize("offset", [7, -7])
@pytest.mark.parametrize(("fit_before", "is_kept"), [(-1.0, False), (-6.0, True)])
def test_no_line_has_two_partners(offset: int, fit_before: float, is_kept: bool) -> None:
    """Twelve odd lines fit better elsewhere, but lines that fit would lose their partners by it."""
    path, lines = np.zeros(LINES, np.int64), slice(20, 32)
    path[lines] = offset
    evidence = np.full((2 * REACH + 1, LINES), -6.0)
    evidence[REACH] = 6.0
    evidence[REACH, lines] = fit_before
    evidence[REACH + offset, lines] = 5.0
    if is_kept:  # seven lines are lost indeed: they fit nowhere
        evidence[REACH, 32:39] = -6.0
    assert find_offset_path(evidence).tolist() == path.tolist()
    kept = drop_chance(path, evidence, evidence)
    assert kept.tolist() == (path if is_kept else np.zeros(LINES)).tolist()

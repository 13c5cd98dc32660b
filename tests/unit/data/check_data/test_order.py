"""Lines lost and added in a large corpus, found by a lexicon that knows the truth."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest

from glassformer.extensions.check_data.order import Misalignment, find_misalignments, find_split

LINES = 1_600


class KnowingLexicon:
    """It says of each pair whether the lines are partners."""

    def __init__(self, changes: list[Misalignment]) -> None:
        self.partner = np.arange(LINES)
        for each in changes:
            self.partner[each.line :] = np.arange(each.line, LINES) + each.offset
            self.partner[each.line : each.line + max(0, -each.lost)] = -1
        self.source, self.target = range(LINES), range(int(self.partner.max()) + 1)

    def judge(self, i: Any, j: Any) -> Any:
        assert (j >= 0).all() and (j < len(self.target)).all()
        return np.where(self.partner[i] == j, 5.0, -5.0)


@pytest.mark.parametrize(
    "changes",
    [
        [],
        [Misalignment(700, 0, -1)],
        [Misalignment(700, 0, 3)],
        [Misalignment(40, 0, -9), Misalignment(900, -9, -7)],
        [Misalignment(500, 0, 2), Misalignment(1100, 2, 0)],
        [Misalignment(1540, 0, 1)],
    ],
)
def test_each_change_is_found_in_its_line(changes: list[Misalignment]) -> None:
    lexicon: Any = KnowingLexicon(changes)
    lines = np.arange(min(LINES, len(lexicon.target)))
    assert find_misalignments(lexicon, lexicon.judge(lines, lines)) == changes


def test_what_fits_nowhere_is_no_misalignment() -> None:
    lexicon: Any = KnowingLexicon([])
    lexicon.partner[600:900] = -1
    lines = np.arange(LINES)
    assert find_misalignments(lexicon, lexicon.judge(lines, lines)) == []


def test_a_split_is_the_best_of_all() -> None:
    random = Random(5)
    for count, gap in product((1, 2, 7), (0, 1, 3, 9)):
        before, after = ([random.uniform(-1, 1) for _ in range(count)] for _ in range(2))
        sums = [sum(before[:n]) + sum(after[n + gap :]) for n in range(count)]
        found = find_split(np.array(before), np.array(after), gap)
        assert sums[found] == pytest.approx(max(sums))

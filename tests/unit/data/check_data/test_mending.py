"""Which kinds of findings are mended, and lines that are put beside their partners again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from glassformer.extensions.check_data import Report, check_kinds, examine, fix, realign
from glassformer.extensions.check_data.order import Misalignment
from glassformer.extensions.check_data.report import CHECKS

SURE = {kind for kind, check in CHECKS.items() if not check.is_guess}


def test_kinds_by_name() -> None:
    assert check_kinds(["all"]) == CHECKS.keys()
    assert check_kinds(["sure"]) == SURE and CHECKS.keys() > SURE
    guess = min(CHECKS.keys() - SURE)
    assert check_kinds([guess]) == {guess}
    assert check_kinds([guess, "sure"]) == SURE | {guess}
    assert check_kinds([]) == frozenset()
    with pytest.raises(ValueError, match="no kind of finding 'emty'; there are all, sure, "):
        check_kinds(["empty", "emty"])


def make_report(pairs: int, *misalignments: Misalignment) -> Report:
    report = examine(["a"] * pairs, ["b"] * pairs, thorough=False)
    return replace(report, misalignments=misalignments)


@pytest.mark.parametrize(
    ("misalignments", "pairs"),
    [
        ([], ["0 0", "1 1", "2 2", "3 3", "4 4", "5 5"]),
        ([Misalignment(2, 0, 1)], ["0 0", "1 1", "2 3", "3 4", "4 5"]),
        ([Misalignment(2, 0, -1)], ["0 0", "1 1", "3 2", "4 3", "5 4"]),
        ([Misalignment(0, 0, 2)], ["0 2", "1 3", "2 4", "3 5"]),
        ([Misalignment(1, 0, 1), Misalignment(3, 1, 0)], ["0 0", "1 2", "2 3", "4 4", "5 5"]),
    ],
)
def test_lines_are_put_beside_their_partners(
    misalignments: list[Misalignment], pairs: list[str]
) -> None:
    lines = [str(n) for n in range(6)]
    kept = realign(lines, lines, make_report(6, *misalignments))
    assert [" ".join(pair) for pair in zip(*kept, strict=True)] == pairs


def test_only_the_kinds_that_are_named_are_mended() -> None:
    source, target = ["a cat", "", "x", "a cat"], ["un chat", "y", "z\ufeff", "un chat"]
    report = examine(source, target, thorough=False)
    whole = [*zip(source, target, strict=True)]
    assert [*fix(source, target, report, [])] == whole
    assert [*fix(source, target, report, ["empty"])] == [whole[0], *whole[2:]]
    assert [*fix(source, target, report, ["duplicate"])] == whole[:3]
    assert [*fix(source, target, report, ["encoding"])] == [*whole[:2], ("x", "z"), whole[3]]


def test_right_pairs_of_a_script_are_kept_and_its_words_repaired() -> None:
    source = [f"The cat and the dog see house {n}." for n in range(30)]
    target = [f"Кіт і собака бачать дім {n}." for n in range(30)]
    source += ["VESA: %s", "Scroll Lock", "The cat and the fish."]
    target += ["VESA: %s", "Scroll Lock", "Кіт i риба."]
    report = examine(source, target, thorough=False)
    kept = [*fix(source, target, report, ["script", "look-alike"])]
    assert kept[30:] == [("VESA: %s", "VESA: %s"), ("The cat and the fish.", "Кіт і риба.")]

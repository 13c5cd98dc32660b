"""Damage planted in real text is found, with its lines; on the clean files few alarms are false."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random

import pytest

from glassformer.data.files import read_lines
from glassformer.extensions.check_data import Report, examine, explain_inequality
from glassformer.extensions.check_data.order import Misalignment
from glassformer.extensions.check_data.partners import SideWords, compare_partners
from glassformer.extensions.check_data.ragged import Block
from glassformer.extensions.check_data.words import split_words

Sides = tuple[list[str], list[str]]
LOST, SWAPPED = 0.6, range(1000, 1500)  # where, as a share of all lines; which lines
MULTI30K = ("multi30k/train", "multi30k/train.fr")
TATOEBA = ("tatoeba_en_de/train", "tatoeba_en_fr/train.fr")
CORPORA = [
    pytest.param((*MULTI30K, 8_000), id="multi30k"),
    pytest.param((*TATOEBA, 20_000), id="tatoeba"),
    pytest.param((*MULTI30K, 29_000), id="all-multi30k", marks=pytest.mark.slow),
    pytest.param((*TATOEBA, 163_515), id="all-tatoeba", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=CORPORA)
def texts(request: pytest.FixtureRequest, data: Path) -> tuple[Sides, list[str]]:
    """Real pairs, and text of a third language."""
    name, third, count = request.param
    source, target = (list(read_lines(data / f"{name}.{lang}"))[:count] for lang in ("en", "de"))
    return (source, target), list(read_lines(data / third))


def _places(report: Report, kind: str) -> set[int]:
    found = report[kind]
    return set() if found is None else set(found.places.tolist())


@pytest.mark.thorough
def test_a_lost_line_is_named(texts: tuple[Sides, list[str]]) -> None:
    (source, target), _ = texts
    line = int(LOST * len(source))
    error = explain_inequality(source, target[:line] + target[line + 1 :], ("s", "t"))
    assert f"has {len(source):,} lines but t has {len(target) - 1:,}" in str(error)
    assert f"line {line + 1:,} of s without partner in t" in str(error)


SMALL = [
    ("multi30k/train", "de"),
    ("tatoeba_en_de/train", "de"),
    ("tatoeba_en_fr/train", "fr"),
    ("tatoeba_en_zh/train", "zh"),
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("lines", "trials"),
    [
        (300, 3),
        (1_000, 3),
        *(pytest.param(n, 20, marks=pytest.mark.slow) for n in (300, 1_000, 3_000, 10_000)),
    ],
)
@pytest.mark.parametrize(("name", "lang"), SMALL)
def test_small_corpora(data: Path, name: str, lang: str, lines: int, trials: int) -> None:
    """A line lost, added or doubled anywhere is named within two lines; clean text has none."""
    most = 6_000 if trials < 20 else None
    whole = [list(islice(read_lines(data / f"{name}.{each}"), most)) for each in ("en", lang)]
    found = 0
    for trial in range(trials):
        random = Random(f"{name} {lines} {trial}")
        start = random.randrange(len(whole[0]) - lines + 1)
        source, target = (side[start : start + lines] for side in whole)
        assert not _list_misalignments(source, target)
        place = random.randrange(lines // 20, lines - lines // 20)
        new = ([], [random.choice(whole[1]), target[place]], [target[place]] * 2)[trial % 3]
        target[place : place + 1] = new
        shorter = min(len(source), len(target))
        misalignments = _list_misalignments(source[:shorter], target[:shorter])
        found += len(misalignments) == 1 and abs(misalignments[0].line - place) <= 2
    assert found >= 0.85 * trials


def test_sides_that_have_nothing_in_common_have_no_misalignment(data: Path) -> None:
    """Some offset is always the best, but at none of them are the lines partners."""
    for name, lang in SMALL:
        source, target = (
            list(islice(read_lines(data / f"{name}.{each}"), 1_000)) for each in ("en", lang)
        )
        Random(3).shuffle(target)
        assert not _list_misalignments(source, target)


def _list_misalignments(*sides: list[str]) -> list[Misalignment]:
    gathered = [SideWords(split_words(Block(side))) for side in sides]
    for each, side in zip(gathered, sides, strict=True):
        each.add(side, split_words(Block(side)))
    return compare_partners(*gathered).misalignments


@pytest.mark.thorough
def test_all_at_once(texts: tuple[Sides, list[str]]) -> None:
    """200 lines misaligned, 1 % shuffled, 500 swapped, 5 % of another language, lines of a test."""
    (source, target), third = texts
    source, target, random = list(source), list(target), Random(7)
    misalignment = int(LOST * len(source))
    del source[misalignment], target[misalignment + 200]
    free = [
        n
        for n in range(len(source))
        if n not in SWAPPED and not misalignment - 9 < n < misalignment + 209
    ]
    random.shuffle(free)
    shuffled, foreign = free[: len(source) // 100], free[len(source) // 100 :][: len(source) // 20]
    tested = free[-50:]
    moved = [target[n] for n in shuffled]
    for n, text in zip(shuffled, moved[1:] + moved[:1], strict=True):
        target[n] = text
    for n in foreign:
        target[n] = third[n % len(third)]
    for n in SWAPPED:
        source[n], target[n] = target[n], source[n]
    test = [source[n] for n in tested], [target[n] for n in tested]
    report = examine(source, target, held_out={"test": test})
    misaligned = report["misaligned"]
    assert misaligned is not None and set(range(misalignment, misalignment + 200)) == set(
        misaligned.places.tolist()
    )
    assert f"line {misalignment + 1:,} of the target without" in misaligned.note
    planted = {"mismatch": shuffled, "swapped": SWAPPED, "language": foreign, "leak": tested}
    damaged = set().union(*planted.values())
    for kind, least, false_alarms in (
        ("mismatch", 0.85, 0.008),
        ("swapped", 0.85, 0.0001),
        ("language", 0.85, 0.002),
        ("leak", 1.0, 0.01),
    ):
        found = _places(report, kind)
        assert len(found & set(planted[kind])) >= least * len(planted[kind]), kind
        assert len(found - damaged) <= false_alarms * len(source), kind


@pytest.mark.parametrize("swap", [False, True])
def test_clean_files_raise_few_alarms(texts: tuple[Sides, list[str]], swap: bool) -> None:
    (source, target), _ = texts
    codes = {"source_lang": "de", "target_lang": "en"} if swap else {}
    report = examine(source, target, thorough=not swap, **codes)
    assert (report["sides"] is not None) == swap
    counts = {each.kind: each.count for each in report.findings}
    assert counts.keys() <= {
        "sides",
        "mismatch",
        "language",
        "length",
        "duplicate",
        "near-duplicate",
    }
    assert counts.get("mismatch", 0) <= 0.008 * len(source)
    assert counts.get("language", 0) + counts.get("length", 0) <= 0.0002 * len(source) + 2


@pytest.mark.thorough
def test_an_equal_number_of_lines_lost_on_both_sides(texts: tuple[Sides, list[str]]) -> None:
    (source, target), _ = texts
    first, second = len(source) // 5, len(source) // 2
    report = examine(source[:first] + source[first + 1 :], target[:second] + target[second + 1 :])
    misalignment = report["misaligned"]
    assert misalignment is not None and misalignment.places.tolist() == list(range(first, second))


def test_real_look_alikes(data: Path) -> None:
    """Line 68,385 of Tatoeba has a Cyrillic letter in the word capital."""
    source, target = (
        list(read_lines(data / f"tatoeba_en_fr/train.{lang}"))[68_000:69_000]
        for lang in ("en", "fr")
    )
    report = examine(source, target, thorough=False)
    found = report["look-alike"]
    assert found is not None and found.lines == [385]


@pytest.mark.parametrize("copies", [1, 10])
def test_few_good_pairs_are_not_accused(data: Path, copies: int) -> None:
    """Too little is learned from them, or from their copies, to judge each of them."""
    few = 600 // copies
    sides = [
        list(read_lines(data / f"multi30k/train.{lang}"))[:few] * copies for lang in ["en", "de"]
    ]
    assert len(_places(examine(*sides), "mismatch")) <= 12
    Random(1).shuffle(sides[1])
    assert examine(*sides)["unrelated"] is not None

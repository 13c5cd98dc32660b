"""Copy tokens stand on both sides of a pair for what both sides share."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from glassformer.extensions.copying.teaching import RARE, CopyTeacher, count_names, find_shared
from glassformer.text.stand_ins import list_copies

PAIRS = [
    ("I live in Kobe.", "J'habite à Kobe."),
    ("See www.a.org, Tom, at 19:30.", "À 19:30, voir www.a.org, Tom."),
    ("He was born in 1956 in Athens.", "Il est né à Athènes en 1956."),
    ("The cat is 3.", "Le chat a 3 ans."),
    ("Tom saw Tom.", "Tom a vu Tom."),
    ("It works.", "Ça marche."),
]


def put_back(text: str, tokens: dict[str, str]) -> str:
    return "".join(tokens.get(each, each) for each in text)


@pytest.mark.parametrize(
    ("number", "shared"),
    [(0, ["Kobe"]), (1, ["www.a.org", "Tom", "19:30"]), (2, ["1956"]), (3, []), (4, []), (5, [])],
)
def test_what_both_sides_have_once_is_shared(number: int, shared: list[str]) -> None:
    source, target = PAIRS[number]
    found = find_shared(source, target)
    assert [source[one.start : one.end] for one, _ in found] == shared
    assert [target[other.start : other.end] for _, other in found] == shared


def test_pairs_are_the_same_once_the_tokens_are_put_back() -> None:
    teacher = CopyTeacher(4, Counter(), seed=1)
    changed = [*teacher.watch(PAIRS)]
    assert changed == [*teacher.watch(PAIRS)]
    for before, after in zip(PAIRS, changed, strict=True):
        tokens = {
            token: before[0][one.start : one.end]
            for token, (one, _) in zip(
                [each for each in after[0] if each in list_copies(4)],
                find_shared(*before),
                strict=False,
            )
        }
        assert tuple(put_back(side, tokens) for side in after) == before
        assert [sorted({*side} & {*list_copies(4)}) for side in after] == [sorted(tokens)] * 2
    assert changed[0] != PAIRS[0] and changed[3:] == PAIRS[3:]


def test_rare_names_are_always_copied_and_frequent_ones_seldom() -> None:
    names = Counter({"Kobe": RARE - 1, "Tom": RARE})
    teacher = CopyTeacher(2, names, seed=1)
    draws = [Random(number) for number in range(400)]
    kobe = [teacher.change(PAIRS[0], draw) != PAIRS[0] for draw in draws]
    tom = [teacher.change(("Tom ran.", "Tom a couru."), draw)[0] != "Tom ran." for draw in draws]
    assert all(kobe) and 0.2 < sum(tom) / len(tom) < 0.4


def test_names_are_counted_by_pairs() -> None:
    assert count_names([*PAIRS, PAIRS[0]]) == {"Kobe": 2, "Tom": 1}


def test_of_a_context_only_the_sentence_is_changed() -> None:
    source, _ = CopyTeacher(2, Counter(), 1).change(("In Kobe.\nIn Kobe.", "À Kobe."), Random(1))
    assert source.startswith("In Kobe.\nIn ") and source.count("Kobe") == 1

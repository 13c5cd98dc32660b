"""Splits keep near twins, and the same sentence, on one side."""

from __future__ import annotations

from random import Random
from unicodedata import normalize

import pytest

from glassformer.extensions.check_data.near_twins import measure_distance
from glassformer.extensions.honest.comparison import find_twins
from glassformer.extensions.honest.splitting import find_families, split_honestly

TEXT = "red green old young big small cat dog bird house tree river moon friend song road"
WORDS = TEXT.split()


def write_pairs(count: int, seed: int) -> list[tuple[str, str]]:
    draw = Random(seed)
    return [
        (" ".join(draw.choices(WORDS, k=8)), " ".join(draw.choices(WORDS, k=8)).upper())
        for _ in range(count)
    ]


def test_relatives_are_one_family() -> None:
    pairs = [
        ("He bought twelve apples at the market", "a"),
        ("Something else entirely was said there", "b"),
        ("He bought eleven apples at the market", "c"),
        ("Nobody knows what this one is about", "B"),
        ("", "d"),
        ("", "e"),
    ]
    assert find_families(pairs) == [0, 1, 0, 1, 4, 5]


def test_another_number_makes_no_other_family() -> None:
    pairs = [
        ("Room 12", "a"),
        ("I have 3.", "b"),
        ("room 1408!", "c"),
        ("I have five.", "d"),
        ("I have 17.", "e"),
    ]
    assert find_families(pairs) == [0, 1, 0, 3, 1]


def test_spelling_in_unicode_makes_no_other_family() -> None:
    pairs = [("Où est l'été ?", "a"), ("no", "b"), (normalize("NFD", "Où est l'été ?"), "c")]
    assert find_families(pairs) == [0, 1, 0]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_near_twin_is_on_two_sides(seed: int) -> None:
    pairs = write_pairs(150, seed)
    twins = [(a.replace(a.split()[3], "seventeen", 1), b + " INDEED") for a, b in pairs[:60]]
    mixed = [*pairs, *twins]
    Random(seed).shuffle(mixed)
    split = split_honestly(mixed, 20, 20, seed)
    assert sorted([*split.train, *split.valid, *split.test]) == sorted(mixed)
    assert 15 <= len(split.valid) <= 20 and 15 <= len(split.test) <= 20
    for part, rest in ((split.test, [*split.train, *split.valid]), (split.valid, split.train)):
        for source, _ in part:
            for other, _ in rest:  # each pair of lines is compared, without an index
                alike = 1 - measure_distance(source, other) / max(len(source), len(other))
                assert alike < 0.75, (source, other)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_index_of_the_training_text_finds_no_further_twins(seed: int) -> None:
    """Not of words either that are frequent in all pairs, and a little less so in these."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    pairs = [
        (f"Extraordinarily complicated machinery costs {one}x {one}y", 9 * one)
        for one in (*letters, *(2 * each for each in letters))
    ]  # a bigram of 52 lines tells nothing, and one of 50 does
    pairs += write_pairs(100, seed)
    split = split_honestly(pairs, 30, 30, seed)
    assert sorted([*split.train, *split.valid, *split.test]) == sorted(pairs)
    assert split.train == [pair for pair in pairs if pair in split.train]
    for part in split[1:]:
        assert not any(find_twins(split.train, [a for a, _ in part], [[b for _, b in part]]))


def test_the_seed_decides() -> None:
    pairs = write_pairs(100, 5)
    assert split_honestly(pairs, 10, 10, 1) == split_honestly(pairs, 10, 10, 1)
    assert split_honestly(pairs, 10, 10, 1) != split_honestly(pairs, 10, 10, 2)


def test_pairs_that_are_all_alike_are_refused() -> None:
    pairs = [(f"The package contains the file number {n}", f"Das Paket {n}") for n in range(50)]
    with pytest.raises(ValueError, match="too much alike"):
        split_honestly(pairs, 5, 5)


def test_a_part_of_nobody_stays_empty() -> None:
    split = split_honestly(write_pairs(50, 1), 0, 5)
    assert not split.valid and split.test and len(split.train) + len(split.test) == 50

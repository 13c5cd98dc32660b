"""Near twins are found as by comparing each line with each, and their distance is Levenshtein's."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from glassformer.data.files import read_lines
from glassformer.extensions.check_data import examine
from glassformer.extensions.check_data.near_twins import (
    ALIKE,
    SHORTEST,
    TwinIndex,
    measure_distance,
)
from glassformer.extensions.check_data.ragged import Block
from glassformer.extensions.check_data.words import gather_words, split_words

LETTERS = st.text(st.sampled_from("abcé😀"), max_size=12)


def _levenshtein(one: str, other: str) -> int:
    """The table of the textbook, row by row."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row = row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b)))
    return row[-1]


@given(LETTERS, LETTERS)
def test_the_distance_is_levenshteins(one: str, other: str) -> None:
    assert measure_distance(one, other) == _levenshtein(one, other)


def test_twins_of_many_lines_of_few_letters_are_found() -> None:
    draw = Random(1)
    words = ["".join(draw.choices("กขคงจชดต", k=3)) for _ in range(500)]
    lines = [draw.choices(words, k=12) for _ in range(4_000)]
    index = TwinIndex(gather_words("".join(line) for line in lines))
    changed = ["".join([*line[:5], "คคค", *line[6:]]) for line in lines[::200]]
    twins = [index.find(words) for words in gather_words(changed)]
    assert [twin and twin.line for twin in twins] == [*range(0, 4_000, 200)]


def test_twins_are_those_of_brute_force(data: Path) -> None:
    """Of lines with changed words, nearly all that comparing each with each finds; nothing else."""
    test = [*islice(read_lines(data / "tatoeba_en_fr/test.en"), 150)]
    train = [*islice(read_lines(data / "tatoeba_en_fr/train.en"), 100)]
    random, words = Random(5), " ".join(train).split()
    for line in test:
        changed = line.split()
        for _ in range(random.choice([1, 1, 2, 3])):
            changed[random.randrange(len(changed))] = random.choice(words)
        train.append(" ".join(changed))
    lines, others = (split_words(Block(side)) for side in (test, train))
    index, found, brute = TwinIndex(lines), set(), set()
    texts = [" ".join(words) for words in lines]
    for number, line in enumerate(others):
        text = " ".join(line)
        if twin := index.find(line):
            found.add(number)
            other = texts[twin.line]
            longer = max(len(text), len(other))
            assert twin.similarity == 1 - measure_distance(text, other) / longer >= ALIKE
        if len(text) >= SHORTEST and any(
            min(len(text), len(other)) >= ALIKE * max(len(text), len(other))
            and text != other
            and measure_distance(text, other) <= (1 - ALIKE) * max(len(text), len(other))
            for other in texts
        ):
            brute.add(number)
    assert found <= brute and len(found) >= 0.9 * len(brute) > 50


def test_a_word_exchanged_is_found_and_scored(data: Path) -> None:
    source, target = (
        [*islice(read_lines(data / f"multi30k/train.{lang}"), 600)] for lang in ("en", "de")
    )
    random, changed = Random(3), {}
    test = [*islice(read_lines(data / "multi30k/test2016.en"), 80)]
    for number in range(40):
        words = test[number].split()
        words[random.randrange(len(words))] = "something"
        changed[7 * number] = number
        source[7 * number] = " ".join(words)
    report = examine(source, target, held_out={"test": (test, ["-"] * len(test))})
    near = report["near-leak"]
    assert (
        near is not None and not near.is_serious and "lines of test have a near twin" in near.note
    )
    found = set(near.places.tolist())
    assert len(found & changed.keys()) >= 38 and len(found - changed.keys()) <= 3
    example = near.examples[0]
    assert "source 0." in example.note and "like line 1 of test" in example.note
    assert examine(source, target, held_out={"test": (test, test)}, thorough=False)["leak"] is None

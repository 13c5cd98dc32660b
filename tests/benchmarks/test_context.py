"""The documents of the benchmark of pronouns, as a reader would check them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from random import Random

from benchmarks.context import (
    ANIMALS,
    PLACES,
    Item,
    cut,
    exchange,
    make_documents,
    read_nouns,
    share_right,
    write_documents,
)

GENDERS = {noun.english: noun.gender for each in (ANIMALS, PLACES) for noun in read_nouns(each)}
ENGLISH = re.compile(r"The (\w+) didn't \w+ the (\w+)\.")


def find_nouns(item: Item) -> tuple[str, str]:
    found = ENGLISH.fullmatch(item.source[0])
    assert found
    return found[1], found[2]


def test_nouns_of_a_test_never_met_in_training() -> None:
    documents = make_documents(Random(1))
    met = {part: {find_nouns(item) for item in items} for part, items in documents.items()}
    assert not met["test"] & met["train"]
    assert not met["valid"] & met["train"]
    for side in (0, 1):
        assert {pair[side] for pair in met["test"]} <= {pair[side] for pair in met["train"]}


def test_half_of_the_pronouns_are_il_and_half_of_the_nouns_animals() -> None:
    items = make_documents(Random(1))["test"]
    kinds = Counter[tuple[str, bool]]()
    for item in items:
        animal, place = find_nouns(item)
        is_animal = item.noun.english == animal
        assert is_animal or item.noun.english == place
        pronoun = {"m": "Il", "f": "Elle"}[GENDERS[item.noun.english]]
        assert item.target[1].split()[0] == pronoun
        kinds[pronoun, is_animal] += 1
    assert set(kinds.values()) == {len(items) // 4}
    assert share_right(items, [item.target[1] for item in items]) == 1
    assert share_right(items, ["Il était." for _ in items]) == 0.5


def test_edits_are_of_the_first_sentence() -> None:
    for item in make_documents(Random(1))["valid"]:
        words = {edit["word"] for edit in cut(item)}
        assert words == set(item.source[0].rstrip(".").split())
        (edit,) = exchange(item)
        assert GENDERS[edit["word"]] != GENDERS[edit["by"]]
        assert edit["word"] in words


def test_an_empty_line_ends_each_document(tmp_path: Path) -> None:
    items = make_documents(Random(1))["valid"]
    write_documents(tmp_path / "a", items)
    for side, language in enumerate(("en", "fr")):
        text = (tmp_path / f"a.{language}").read_text(encoding="utf-8")
        wanted = [[each.source, each.target][side] for each in items]
        assert [tuple(part.split("\n")) for part in text.strip().split("\n\n")] == wanted

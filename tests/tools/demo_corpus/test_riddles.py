"""The riddles of the built-in corpus: no shortcut finds `it`, the adjective does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from glassformer.extensions.pictures import measured
from tools.demo_corpus import (
    NOTES,
    PronounItem,
    is_riddle,
    list_riddle_words,
    pairs,
    pronoun_items,
)

PRONOUN = {"m": "il", "f": "elle"}
SHORTCUTS: dict[str, Callable[[PronounItem], str]] = {
    "first noun": lambda item: item.genders[0],
    "last noun": lambda item: item.genders[1],
    "nearest noun": lambda item: item.genders[not item.source.startswith("Because")],
    "masculine": lambda item: "m",
    "feminine": lambda item: "f",
}


@pytest.fixture(scope="module")
def known() -> list[PronounItem]:
    return pronoun_items(6_000, 7, "train")


@pytest.fixture(scope="module")
def riddles() -> list[PronounItem]:
    return pronoun_items(1_000, 7, "test")


@pytest.mark.parametrize("name", SHORTCUTS)
def test_a_shortcut_does_not_find_it(name: str, riddles: list[PronounItem]) -> None:
    hits = [PRONOUN[SHORTCUTS[name](item)] == item.right for item in riddles]
    assert 0.4 < np.mean(hits) <= 0.6


def test_a_classifier_needs_the_adjective(
    known: list[PronounItem], riddles: list[PronounItem]
) -> None:
    def without(item: PronounItem) -> list[str]:
        rest = [word for word in re.findall(r"\w+", item.source.lower()) if word != item.adjective]
        bigrams = [" ".join(pair) for pair in pairwise(rest)]
        return [*rest, *bigrams, "/".join(item.nouns), "/".join(item.genders)]

    def with_it(item: PronounItem) -> list[str]:
        return [*without(item), "/".join((item.adjective, *item.genders))]

    assert accuracy(without, known, riddles) <= 0.6
    assert accuracy(with_it, known, riddles) > 0.8  # so the classifier can learn


def accuracy(
    features: Callable[[PronounItem], list[str]], known: list[PronounItem], new: list[PronounItem]
) -> float:
    """Logistic regression for elle against il, on features that are there or not."""
    index = {name: i for i, name in enumerate({n: 0 for item in known for n in features(item)})}
    weights = np.zeros(len(index))
    rng = np.random.default_rng(0)
    for step in range(4):
        for i in rng.permutation(len(known)):
            on = [index[name] for name in features(known[i])]
            chance = 1 / (1 + np.exp(-weights[on].sum()))
            weights[on] += 0.3 / (1 + step) * ((known[i].right == "elle") - chance)
    elle = [weights[[index[n] for n in features(item) if n in index]].sum() > 0 for item in new]
    return float(
        np.mean([guess == (item.right == "elle") for guess, item in zip(elle, new, strict=True)])
    )


def test_the_adjective_decides(known: list[PronounItem], riddles: list[PronounItem]) -> None:
    """In each kind of riddle an adjective always speaks of the same one of the two nouns."""
    speaks_of: dict[tuple[str, str], int] = {}
    for item in known + riddles:
        kind = "fit" if " fit in " in item.source else "eat" if "eat" in item.source else "go"
        kind = "eat" if " taste " in item.source else kind
        assert speaks_of.setdefault((kind, item.adjective), item.referent) == item.referent
    assert len(speaks_of) > 40


def test_an_item_holds_together(riddles: list[PronounItem]) -> None:
    for item in riddles:
        assert item.genders[item.referent] == {"il": "m", "elle": "f"}[item.right]
        assert {item.right, item.wrong} == {"il", "elle"}
        assert item.is_resolved_by(item.reference)
        if len(set(item.genders)) == 2:
            assert not item.is_resolved_by(item.contrast)
        else:
            assert item.contrast == item.reference
    assert np.mean([item.genders[0] == item.genders[1] for item in riddles]) < 0.15


def test_other_sources_have_riddles_too() -> None:
    assert all("它" in item.source for item in pronoun_items(50, 1, source_lang="zh"))


def test_a_translation_resolves_it_with_the_right_pronoun_alone() -> None:
    item = pronoun_items(1, 0)[0]
    assert item.is_resolved_by(f"parce qu'{item.right} était là.")
    assert not item.is_resolved_by(f"parce qu'{item.wrong} était là.")
    assert not item.is_resolved_by("il elle") and not item.is_resolved_by("la ville")


def test_a_riddle_is_told_from_other_sentences() -> None:
    """By its two nouns of unlike gender; of alike ones the pronoun says nothing."""
    for item in pronoun_items(60, 3, "test"):
        assert is_riddle(item.source) == (len({*item.genders}) == 2), item.source
    for sentence in (note.en for note in NOTES):
        assert is_riddle(sentence) == ("because it was too" in sentence), sentence
    assert not is_riddle("It was too late.") and not is_riddle("")


@pytest.mark.thorough
def test_a_picture_knows_riddles_by_the_words_it_ships_with() -> None:
    """What it says of a sentence is what the grammar says, which a user need not have."""
    shipped = json.loads(measured.MEASURED.read_text(encoding="utf-8"))
    words = shipped["genders"], shipped["adjectives"]
    assert words == list_riddle_words()
    for item in pronoun_items(2_000, 3, "test"):
        found = measured.read_riddle(item.source, *words)
        assert (found is not None) == (len({*item.genders}) == 2), item.source
        assert found is None or all(word in item.source.lower() for word in (*found[0], found[1]))
    for sentence in ("", "It was too late.", *(source for source, _ in pairs("en", "fr", 500, 8))):
        found = measured.read_riddle(sentence, *words)
        assert (found is not None) == is_riddle(sentence), sentence

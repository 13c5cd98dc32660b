"""A sentence that cannot be translated stays as it is, and all others are translated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from glassformer import Translator
from glassformer.decode.sentences import NotFiniteError
from glassformer.translate.checking import is_kept
from glassformer.translate.options import SearchOptions
from glassformer.translate.searching import Searcher
from glassformer.translate.sentence import Sentence

BAD = "The cat is old."
TEXTS = ["I am a student.", "The dog is tired.", f"{BAD} I am a student.", "", "The cat is tired."]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("demo", device="cpu")


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A search that fails over one sentence; the sizes of its batches."""
    sizes, plain = list[int](), Searcher.search

    def search(self: Searcher, sentences: Sequence[Sentence], options: SearchOptions) -> Any:
        sizes.append(len(sentences))
        if any(each.text == BAD for each in sentences):
            raise NotFiniteError("what the network computes is not finite")
        return plain(self, sentences, options)

    monkeypatch.setattr(Searcher, "search", search)
    return sizes


def test_one_sentence_that_fails(translator: Translator, broken: list[int]) -> None:
    expected = [translator.translate(text) for text in TEXTS if BAD not in text]
    expected.insert(2, f"{BAD} {expected[0]}")
    options = SearchOptions(translator.config.decode)
    found = translator.checker.translate_texts(TEXTS, options)
    assert [each.best[0].text for each in found] == expected
    assert [[problem.kind for problem in each.problems] for each in found][2] == ["failed"]
    assert "not finite" in found[2].problems[0].said and found[2].confidence == 0
    assert [is_kept(each) for each in found[2].sentences] == [True, False]
    assert translator.translate(TEXTS) == expected


def test_all_that_fail(translator: Translator, broken: list[int]) -> None:
    for texts in ([BAD], [BAD, BAD]):
        with pytest.raises(NotFiniteError, match="not finite"):
            translator.translate(texts)


def test_a_sentence_at_fault_is_found_by_halves(translator: Translator, broken: list[int]) -> None:
    lines = [f"The dog is {n} years old." for n in range(2, 34)]
    lines[5] = BAD
    assert translator.translate(lines)[5] == BAD
    searched = broken[: 2 * len(lines).bit_length() - 1]
    assert searched[:2] == [32, 16] and len(broken) < 40

"""A letter that no model can read stays as it is; all else of its text is translated."""

from __future__ import annotations

import pytest

from glassformer import Translator
from glassformer.translate.options import SearchOptions

LETTER = "e" + "\u0301" * 1000


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("demo", device="cpu")


@pytest.mark.parametrize("split", [True, False])
def test_other_lines_and_sentences_are_translated(translator: Translator, split: bool) -> None:
    texts = ["The cat is old.", LETTER, f"The dog is tired. {LETTER} The cat is old.", f"{LETTER}."]
    made = translator.translate(texts, split=split)
    assert made[0] == "Le chat est vieux." and made[1] == LETTER
    assert LETTER in made[2] and "Le chien est fatigué." in made[2] and made[3] == f"{LETTER}."


def test_a_problem_says_so(translator: Translator) -> None:
    texts = ["The cat is old.", f"The cat is old. {LETTER}", LETTER]
    options = SearchOptions(translator.config.decode)
    checked = translator.checker.translate_texts(texts, options)
    kinds = [[problem.kind for problem in each.problems] for each in checked]
    assert kinds[0] == [] and "untranslatable" in kinds[1] and "untranslatable" in kinds[2]
    assert checked[1].confidence == checked[2].confidence == 0
    assert len(checked[1].problems[-1].said) < 100

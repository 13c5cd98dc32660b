"""A vocabulary with probabilities, against the likeliest of all ways to cut a word."""

from __future__ import annotations

from itertools import combinations
from math import inf
from pathlib import Path

import pytest

from glassformer.extensions.foreign_tokenizers.unigram import Unigram
from glassformer.text.kinds import load_tokenizer
from glassformer.text.layout import CONTROLS

SCORES = {"▁": -5.0, "▁ab": -1.0, "a": -3.0, "b": -3.0, "c": -3.5, "bc": -4.5, "▁a": -2.0}
OTHER = {"жы": None, ">>fr<<": 0.0}  # a token of the other side alone, and a code
VOCABULARY = [*CONTROLS, "<unk>", *SCORES, *OTHER]


@pytest.fixture
def tokenizer() -> Unigram:
    scores = [0.0] * (len(CONTROLS) + 1) + [*SCORES.values(), *OTHER.values()]
    return Unigram(VOCABULARY, scores)


def cut(word: str) -> list[str]:
    """The likeliest way, found by trying all."""
    best = (-inf, list[str]())
    for count in range(len(word)):
        for places in combinations(range(1, len(word)), count):
            parts = [word[i:j] for i, j in zip((0, *places), (*places, len(word)), strict=True)]
            best = max(best, (sum(SCORES.get(part, -inf) for part in parts), parts))
    return best[1]


@pytest.mark.parametrize("text", ["ab", "abc", "ba ab", "cab a bc", "aab bcb"])
def test_a_word_is_cut_the_likeliest_way(tokenizer: Unigram, text: str) -> None:
    wanted = [part for word in text.split() for part in cut(f"▁{word}")]
    assert [VOCABULARY[id] for id in tokenizer.encode(text)] == wanted
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_what_this_side_cannot_spell_may_be_a_token_of_the_other(tokenizer: Unigram) -> None:
    found = tokenizer.tokens("ab жы q")
    assert found.texts == ("▁ab", "▁", "жы", "▁", "<unk>")
    assert found.spans == ((0, 2), (2, 3), (3, 5), (5, 6), (6, 7))
    assert tokenizer.encode("ab жы q") == list(found.ids)
    assert tokenizer.decode(found.ids) == "ab жы \ufffd"


def test_a_code_is_one_token_and_saved_is_the_same(tokenizer: Unigram, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    again = load_tokenizer(tmp_path / "tokenizer.json")
    assert isinstance(again, Unigram)
    for text in (">>fr<< ab", "жы", "q", ""):
        assert again.encode(text) == tokenizer.encode(text)
    assert [VOCABULARY[id] for id in again.encode(">>fr<< ab")] == [">>fr<<", "▁ab"]

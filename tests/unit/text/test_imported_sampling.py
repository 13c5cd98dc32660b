"""Subword sampling of another toolkit's tokens: other segmentations of the same text."""

from __future__ import annotations

from random import Random

import pytest

from glassformer.extensions.foreign_tokenizers.imported_bpe import END, ImportedBpe
from glassformer.extensions.foreign_tokenizers.sentencepiece_bpe import SentencepieceBpe
from glassformer.extensions.foreign_tokenizers.unigram import Unigram
from glassformer.text import Tokenizer
from glassformer.text.layout import CONTROLS

BEGIN = [*CONTROLS, "<unk>"]
SCORES = {"▁": -5.0, "▁ab": -1.5, "a": -3.0, "b": -3.0, "c": -3.5, "bc": -4.5, "▁a": -2.0}
MERGES = [("a", "b"), ("b", "c"), ("ab", "c")]
CODES = [("a", "b"), ("a", f"b{END}"), ("ab", f"c{END}")]
CODED = ["a", "b", "c", *(f"{each}{END}" for each in "abc"), "ab", f"ab{END}", f"abc{END}"]
TOKENIZERS = {
    "unigram": Unigram(
        [*BEGIN, *SCORES, ">>fr<<", "<bt>"], [0.0] * 4 + [*SCORES.values(), 0.0, None]
    ),
    "words in one": Unigram([*BEGIN, *SCORES, "a▁a"], [0.0] * 4 + [*SCORES.values(), -2.0]),
    "sentencepiece": SentencepieceBpe(
        [*BEGIN, "▁", "a", "b", "c", "ab", "bc", "abc", "<bt>"], MERGES
    ),
    "codes": ImportedBpe([*BEGIN, *CODED, "<bt>"], CODES, "codes"),
    "words": ImportedBpe([*BEGIN, "ab", "abc"], (), "words"),
}
TEXTS = ["", "ab", "abc ab", "  cab   a bc ", "xy abq q", "a\tb"]


@pytest.mark.parametrize("kind", TOKENIZERS)
@pytest.mark.parametrize("text", TEXTS)
def test_a_rate_of_nothing_is_encode(kind: str, text: str) -> None:
    tokenizer = TOKENIZERS[kind]
    assert tokenizer.sample(text, 0.0, Random(0)) == tokenizer.encode(text)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_samples_differ_and_are_the_same_text(kind: str) -> None:
    tokenizer, random = TOKENIZERS[kind], Random(1)
    drawn = {tuple(tokenizer.sample("abc ab abc", 0.5, random)) for _ in range(50)}
    assert (len(drawn) > 3) == (kind != "words")
    assert {tokenizer.decode(ids) for ids in drawn} == {"abc ab abc"}


@pytest.mark.parametrize("kind", ["sentencepiece", "codes"])
def test_a_high_rate_leaves_the_characters(kind: str) -> None:
    tokenizer = TOKENIZERS[kind]
    ids = tokenizer.sample("abc", 1 - 1e-12, Random(1))
    wanted = {"sentencepiece": ["▁", "a", "b", "c"], "codes": ["a", "b", f"c{END}"]}
    assert [tokenizer.token(id) for id in ids] == wanted[kind]


def test_a_language_code_stays_one_token() -> None:
    tokenizer = TOKENIZERS["unigram"]
    text, code = ">>fr<< abc", tokenizer.tags[">>fr<<"]
    assert tokenizer.sample(text, 0.0, Random(0)) == tokenizer.encode(text)
    assert tokenizer.sample(text, 0.5, Random(0))[0] == code


def test_the_setting_that_samples_is_told() -> None:
    told = {kind: tokenizer.sampling for kind, tokenizer in TOKENIZERS.items()}
    assert told.pop("unigram") == told.pop("words in one") == "sampling_alpha"
    assert {*told.values()} == {"dropout"} == {Tokenizer.sampling}

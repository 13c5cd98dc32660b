"""Tokens with probabilities that were learned: nothing is lost, and the likeliest way is taken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from math import exp
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer as Backend

from glassformer.extensions.unigram.learned_unigram import LearnedUnigram
from glassformer.text import Normalization, Sampler, SeededSampler, Tokenizer, clean
from glassformer.text.dropout import LatticeSampler
from glassformer.text.kinds import load_tokenizer, train_tokenizer
from glassformer.text.layout import BYTES, CONTROLS, FIRST_CHARACTER

SCORES = {"a": -2.0, "b": -2.5, "c": -3.0, "ab": -3.5, "bc": -4.0, "abc": -6.0}
TEXTS = ["", " ", "the cat", "THE ЖЫ cat 🙂", "<pad> <s> <0x41> <bt>", "a\tb", "شلوم 我喜欢", "ﬁ"]


@pytest.fixture(scope="module")
def unigram(lines: list[str]) -> Tokenizer:
    return train_tokenizer(lines, 420, "unigram")


def list_ways(text: str) -> dict[tuple[str, ...], float]:
    """Return every segmentation of a text into known tokens, with its ln p."""
    found = {}
    for count in range(len(text)):
        for places in combinations(range(1, len(text)), count):
            parts = [text[i:j] for i, j in zip((0, *places), (*places, len(text)), strict=True)]
            if all(part in SCORES for part in parts):
                found[tuple(parts)] = sum(SCORES[part] for part in parts)
    return found


@pytest.mark.parametrize("text", TEXTS)
def test_any_text_comes_back(unigram: Tokenizer, text: str) -> None:
    assert unigram.decode(unigram.encode(text)) == clean(text)


@given(text=st.text())
def test_spans_ids_and_samples_belong_to_the_text(unigram: Tokenizer, text: str) -> None:
    tokens = unigram.tokens(text)
    assert list(tokens.ids) == unigram.encode(text) == unigram.sample(text, 0.0, Random(0))
    assert tokens.texts == tuple(map(unigram.token, tokens.ids))
    assert unigram.decode(unigram.sample(text, 0.3, Random(1))) == clean(text)


def test_the_likeliest_way_is_taken() -> None:
    tokens = [" ", *SCORES]
    scores = [0.0] * FIRST_CHARACTER + [-9.0, *SCORES.values()]
    unigram = LearnedUnigram([*CONTROLS, *BYTES, *tokens], scores)
    for text in ("abc", "abcab", "cabcb", "bbaacc"):
        ways = list_ways(text)
        assert unigram.tokens(text).texts == (" ", *max(ways, key=ways.__getitem__))


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.0])
def test_samples_have_the_odds_of_the_paper(alpha: float) -> None:
    """P(x) to the power of alpha, over the sum of all."""
    text, draws, random = "abcab", 20_000, Random(3)
    weights = {way: exp(alpha * score) for way, score in list_ways(text).items()}
    sampler = LatticeSampler(SCORES)
    drawn = Counter(tuple(sampler.draw(text, alpha, random)) for _ in range(draws))
    assert drawn.keys() <= weights.keys()
    for way, weight in weights.items():
        wanted = weight / sum(weights.values())
        assert drawn[way] / draws == pytest.approx(wanted, abs=5 * (wanted / draws) ** 0.5)


def test_samplers_draw_from_it(unigram: Tokenizer) -> None:
    text = "The cat sat on the mat"
    drawn = Sampler(unigram, 0.2, 1).draw(text, 50)
    assert len({*map(tuple, drawn)}) > 10
    assert {unigram.decode(ids) for ids in drawn} == {text}
    one, other = (SeededSampler(unigram, 0.2, 5).draw(text, Random(4)) for _ in range(2))
    assert one == other


def test_every_character_is_a_token_and_frequent_words_are(lines: list[str]) -> None:
    unigram = train_tokenizer(["the cat saw the cat"] * 50 + lines, 420, "unigram")
    assert len(unigram) == 420
    assert {*"".join(lines)} <= {*unigram.vocabulary}
    assert unigram.tokens("the cat").texts == (" the", " cat")


def test_no_room_and_no_text() -> None:
    with pytest.raises(ValueError, match=r"3 different characters .* must be at least 262"):
        train_tokenizer(["ab"], 261, "unigram")
    with pytest.raises(ValueError, match=r"no text"):
        train_tokenizer(["", ""], 1000, "unigram")


def test_tags_are_added_and_no_text_yields_them(unigram: Tokenizer) -> None:
    tagged = unigram.with_tags(["<bt>"])
    assert tagged.find_tags(["<bt>"]) == [len(unigram)]
    assert tagged.encode("the <bt> cat") == unigram.encode("the <bt> cat")
    assert tagged.decode([len(unigram), *unigram.encode("cat")]) == "cat"


@given(text=st.text(st.characters(exclude_categories=("Cs", "Cn"), max_codepoint=0xFFFF)))
def test_hugging_face_reads_the_file_alike(
    unigram: Tokenizer, tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    path = tmp_path_factory.getbasetemp() / "unigram.json"
    if not path.exists():
        unigram.save(path)
    again, theirs = load_tokenizer(path), Backend.from_file(str(path))
    assert type(again) is LearnedUnigram and again.fingerprint == unigram.fingerprint
    assert theirs.encode(text).ids == unigram.encode(text) == again.encode(text)
    assert theirs.decode(unigram.encode(text)) == clean(text)


def test_learning_is_the_same_in_another_process(unigram: Tokenizer, lines: list[str]) -> None:
    program = (
        "import sys; from glassformer.text import train_tokenizer; "
        "print(train_tokenizer(sys.argv[1:], 420, 'unigram').fingerprint)"
    )
    for seed, threads in (("1", "1"), ("2", "3")):
        settings = {**os.environ, "PYTHONHASHSEED": seed, "RAYON_NUM_THREADS": threads}
        settings |= {"PYTHONPATH": os.pathsep.join(sys.path)}
        ran = subprocess.run(
            [sys.executable, "-c", program, *lines], capture_output=True, check=True, env=settings
        )
        assert ran.stdout.decode().strip() == unigram.fingerprint


DAMAGES: dict[str, Callable[[list[Any]], object]] = {
    "a control elsewhere": lambda vocab: vocab.insert(0, vocab.pop(1)),
    "a token twice": lambda vocab: vocab.append(vocab[-1]),
    "a score that is none": lambda vocab: vocab[-1].__setitem__(1, "x"),
    "a probability above 1": lambda vocab: vocab[-1].__setitem__(1, 2.0),
    "half a character": lambda vocab: vocab.append(["\ud800", -1.0]),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_file(unigram: Tokenizer, tmp_path: Path, name: str) -> None:
    path = tmp_path / "tokenizer.json"
    unigram.save(path)
    raw = json.loads(path.read_bytes())
    DAMAGES[name](raw["model"]["vocab"])
    path.write_bytes(json.dumps(raw).encode())
    with pytest.raises(ValueError, match=r"not a tokenizer of glassformer"):
        load_tokenizer(path)


def test_a_character_without_a_token_is_its_bytes_in_samples_too(unigram: Tokenizer) -> None:
    text = "cat 🙂🙂 cat"
    for rate in (0.0, 0.5):
        ids = unigram.sample(text, rate, Random(2))
        assert sum(id < FIRST_CHARACTER for id in ids) == 8
        assert unigram.decode(ids) == text


def test_characters_alone(lines: list[str]) -> None:
    tokenizer = train_tokenizer(lines, 420, "char", Normalization(lowercase=True))
    assert tokenizer.merges == ()
    assert tokenizer.tokens("The Cat").texts == tuple(" the cat")
    assert all(len(token) == 1 for token in tokenizer.vocabulary[FIRST_CHARACTER:])

"""BPE dropout: the same text, other tokens, the right odds, and all by the seed."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections import Counter, defaultdict
from itertools import compress, pairwise, product
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from glassformer.text import Sampler, Tokenizer, clean, dropout
from glassformer.text.dropout import Merges, merge
from glassformer.text.layout import BYTES, CONTROLS

TEXT = "The cat sat on the mat; the hat is on the cat. 🙂"


@st.composite
def merge_tables(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Merges in any order, the same token by different ways too."""
    tokens = ["a", "b", "c"]
    merges: dict[tuple[str, str], None] = {}
    for _ in range(draw(st.integers(0, 12))):
        left, right = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        merges[left, right] = None
        tokens.append(left + right)
    return draw(st.permutations(list(merges)))


@given(merge_tables(), st.text("abc", max_size=40))
def test_without_dropout_it_is_what_hugging_face_does(
    merges: list[tuple[str, str]], text: str
) -> None:
    joined = dict.fromkeys(left + right for left, right in merges)
    tokenizer = Tokenizer([*CONTROLS, *BYTES, " ", "a", "b", "c", *joined], merges)
    assert tokenizer.sample(text, 0.0, Random(0)) == tokenizer.encode(text)


@given(text=st.text(st.characters()))
def test_without_dropout_it_is_encode(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.sample(text, 0.0, Random(0)) == tokenizer.encode(text)


@given(text=st.text(st.characters()), rate=st.floats(0, 0.99), seed=st.integers())
def test_a_sample_is_the_same_text(tokenizer: Tokenizer, text: str, rate: float, seed: int) -> None:
    assert tokenizer.decode(tokenizer.sample(text, rate, Random(seed))) == clean(text)


def odds(symbols: tuple[int, ...], merges: Merges, rate: float) -> dict[tuple[int, ...], float]:
    """Exact odds of all outcomes: every set of candidates left out, and the best of the others."""
    found = sorted(
        (merges[pair][0], place, merges[pair][1])
        for place, pair in enumerate(pairwise(symbols))
        if pair in merges
    )
    result: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for stays in product((True, False), repeat=len(found)):
        share = math.prod(1 - rate if stay else rate for stay in stays)
        if not any(stays):
            result[symbols] += share
            continue
        _, place, together = min(compress(found, stays))
        merged = (*symbols[:place], together, *symbols[place + 2 :])
        for outcome, part in odds(merged, merges, rate).items():
            result[outcome] += share * part
    return result


@pytest.mark.parametrize(
    ("symbols", "merges"),
    [
        (
            (1, 2, 3, 1, 2),
            {(1, 2): (0, 5), (2, 3): (1, 6), (5, 3): (2, 7), (1, 6): (3, 7), (7, 1): (4, 8)},
        ),
        ((1, 2, 3, 4, 5, 6, 7, 8), {(i, i + 1): (i, 10 + i) for i in (1, 3, 5, 7)}),
    ],
)
def test_outcomes_have_the_right_odds(symbols: tuple[int, ...], merges: Merges) -> None:
    rate, count = 0.4, 20_000
    right = odds(symbols, merges, rate)
    assert sum(right.values()) == pytest.approx(1)
    random = Random(1)
    drawn = Counter(tuple(merge(symbols, merges, rate, random)) for _ in range(count))
    assert drawn.keys() == right.keys()
    for outcome, share in right.items():
        assert abs(drawn[outcome] - count * share) < 5 * (count * share * (1 - share)) ** 0.5


def test_a_sampler_draws_from_what_it_keeps(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dropout, "MOST_SAMPLES", 3)
    drawn = Sampler(tokenizer, 0.5, 1).draw("chase", 200)
    kept = drawn[:3]
    assert all(ids in kept for ids in drawn)
    assert {tuple(ids) for ids in drawn[3:]} == set(map(tuple, kept))


def test_a_sampler_keeps_only_so_many_words(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dropout, "MOST_WORDS", 2)
    monkeypatch.setattr(dropout, "MOST_SAMPLES", 1)
    drawn = Sampler(tokenizer, 0.5, 1).draw("the the chase chase", 300)
    assert {tokenizer.decode(ids) for ids in drawn} == {"the the chase chase"}
    assert len(set(map(tuple, drawn))) == 1
    drawn = Sampler(tokenizer, 0.5, 1).draw("the mat chase chase", 300)
    assert len(set(map(tuple, drawn))) > 4  # the third word has no place and is sampled anew


def test_dropout_makes_more_tokens(tokenizer: Tokenizer) -> None:
    drawn = Sampler(tokenizer, 0.1, 1).draw(TEXT, 200)
    assert sum(map(len, drawn)) > 200 * len(tokenizer.encode(TEXT))
    assert Sampler(tokenizer, 0.0, 1).draw(TEXT, 2) == [tokenizer.encode(TEXT)] * 2


def test_the_seed_says_all(tokenizer: Tokenizer, lines: list[str], tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json")
    program = (
        "import sys; from glassformer.text import Sampler, load_tokenizer; "
        "sampler = Sampler(load_tokenizer(sys.argv[1]), 0.2, 7); "
        "print([sampler.draw(line, 5) for line in sys.argv[2:]])"
    )
    sampler = Sampler(tokenizer, 0.2, 7)
    here = [sampler.draw(line, 5) for line in lines]
    other = Sampler(tokenizer, 0.2, 8)
    assert here != [other.draw(line, 5) for line in lines]
    for seed in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / "tokenizer.json"), *lines],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        assert ran.stdout.decode().strip() == str(here)

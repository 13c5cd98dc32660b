"""A toy corpus of numbers and its tokenizer."""

from __future__ import annotations

from random import Random

import pytest

from glassformer.data.tables import Pair
from glassformer.text import Tokenizer
from glassformer.text.kinds import train_tokenizer

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


@pytest.fixture(scope="session")
def pairs() -> list[Pair]:
    """300 pairs of 1 to 20 words; the target is up to three words longer."""
    random = Random(1)
    sources = [random.choices(WORDS, k=random.randint(1, 20)) for _ in range(300)]
    targets = [[word[::-1] for word in line] + ["!"] * random.randint(0, 3) for line in sources]
    return [(" ".join(s), " ".join(t)) for s, t in zip(sources, targets, strict=True)]


@pytest.fixture(scope="session")
def tokenizer(pairs: list[Pair]) -> Tokenizer:
    return train_tokenizer([side for pair in pairs for side in pair], 350)

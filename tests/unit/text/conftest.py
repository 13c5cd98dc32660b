"""A tokenizer that has seen a little of several scripts."""

from __future__ import annotations

import pytest

from glassformer.text import Tokenizer
from glassformer.text.kinds import train_tokenizer

LINES = [
    "The cat sat on the mat; the hat is on the cat.",
    "Two dogs don't chase two cats <b>here</b>, they said.",
    "L'homme d'à côté n'a pas traversé l'autre rue en 1984, ni en 1985.",
    "我喜欢学习编程，我喜欢吃苹果。",
    "שלום עולם، مرحبا بالعالم",
    "snake_case a|b 10 20 30 @ é è",
]


@pytest.fixture(scope="session")
def lines() -> list[str]:
    return LINES * 2


@pytest.fixture(scope="session")
def tokenizer(lines: list[str]) -> Tokenizer:
    return train_tokenizer(lines, 600)

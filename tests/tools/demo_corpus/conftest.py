"""The grammar and a sample of what it yields, drawn once for all tests."""

from __future__ import annotations

import pytest

from tools import demo_corpus as demo
from tools.demo_corpus.grammar import Grammar


@pytest.fixture(scope="session")
def grammar() -> Grammar:
    return Grammar()


@pytest.fixture(scope="session")
def train() -> list[tuple[str, str]]:
    return demo.pairs("en", "fr", 18_000, 1)


@pytest.fixture(scope="session")
def held_out() -> list[tuple[str, str]]:
    return demo.pairs("en", "fr", 1_000, 1, "test")


@pytest.fixture(scope="session")
def chinese() -> list[str]:
    return [target for _, target in demo.pairs("fr", "zh", 5_000, 2)]

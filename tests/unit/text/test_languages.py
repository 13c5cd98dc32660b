"""Sentences of thirty languages, 40 each, are found again when they stand one after the other."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from glassformer.text.sentences import split_sentences

FILES = sorted((Path(__file__).parent / "sentences").glob("*.txt"))
UNSPACED = ("ja", "zh")
WITHOUT_MARKS = ("th",)  # a sentence may end with a space alone, which no rule finds


def read(file: Path) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines()


def cut(text: str, language: str | None) -> list[str]:
    return [text[start:end] for start, end in split_sentences(text, language)]


def join_unmarked(lines: list[str]) -> list[str]:
    """Return the lines, one that ends without a mark together with the next."""
    joined = [""]
    for line in lines:
        joined[-1] = f"{joined[-1]} {line}".strip()
        if line[-1] in ".?!":
            joined.append("")
    return [line for line in joined if line]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_sentences_of_a_language(file: Path) -> None:
    lines, language = read(file), file.stem
    assert len(lines) >= 40
    gap = "" if language in UNSPACED else " "
    draw = Random(language)
    for _ in range(20):
        text = draw.sample(lines, 8)
        wanted = join_unmarked(text) if language in WITHOUT_MARKS else text
        assert cut(gap.join(text), language) == wanted
        assert cut(gap.join(text), f"{language}-XX") == wanted


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_sentence_alone_is_whole(file: Path) -> None:
    for line in read(file):
        assert cut(line, file.stem) == [line]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_few_are_torn_without_the_name_of_the_language(file: Path) -> None:
    torn = [line for line in read(file) if len(cut(line, None)) > 1]
    assert len(torn) <= 2, torn

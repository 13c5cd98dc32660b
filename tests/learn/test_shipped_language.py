"""The language models that ship: small, here by name, and as good as their cards say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.shipped_language import NAMES, examine
from glassformer.model.files.directory import CARD, SHIPPED, WEIGHTS
from glassformer.train.publish.golden import check_golden
from glassformer.translate.language_model import LanguageModel
from tools.demo_corpus.exam import ask_sentences

QUESTIONS = 60


@pytest.mark.parametrize("name", NAMES)
def test_it_is_small_and_does_what_it_did_when_it_was_made(name: str) -> None:
    assert (SHIPPED / name / WEIGHTS).stat().st_size <= 2e6
    assert check_golden(SHIPPED / name) == []
    card = (SHIPPED / name / CARD).read_text(encoding="utf-8")
    assert f"python -m benchmarks shipped-language --out RUNS {name}" in card and "MIT" in card


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_it_writes_sentences_of_the_grammar(name: str) -> None:
    reader = LanguageModel.load(name, device="cpu")
    marks = examine(reader, [*ask_sentences("en", "fr", QUESTIONS)])
    mark = next(mark for what, mark in marks.items() if "grammar knows" in what)
    assert mark.asked >= QUESTIONS and mark.share >= 0.85, mark.wrong


def test_what_is_hidden_depends_on_both_sides() -> None:
    reader = LanguageModel.load("demo-mlm", device="cpu")
    text = "The animal did not cross the street because it was too [MASK]."
    ((best, *_),) = reader.fill(text)
    ((other, *_),) = reader.fill(text.replace("animal", "farmer").replace("cross", "open"))
    assert best.token.strip().isalpha() and other.token != best.token


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["complete", "demo-lm", "The animal"], "The animal "),
        (["fill", "demo-mlm", "The [MASK] did not cross the street."], "The "),
    ],
    ids=["complete", "fill"],
)
def test_a_shell_finds_it_by_name(tmp_path: Path, words: list[str], said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "glassformer", *words],
        env={**os.environ, "PYTHONPATH": str(SHIPPED.parents[1])},
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert said in done.stdout

"""The models that ship with the package: small, here by name, and as good as they claim."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors import safe_open

from benchmarks.shipped import INT8
from benchmarks.shipped_language import NAMES
from glassformer.extensions.demo.corpus import mark_exact, mark_pronouns
from glassformer.model.files.directory import CARD, SHIPPED, WEIGHTS
from glassformer.train.publish.golden import check_golden
from glassformer.translator import Translator
from tools.demo_corpus import NOTES
from tools.demo_corpus.exam import ask_notes, ask_riddles, ask_sentences

MODELS = {"demo": ("en", "fr"), "demo-fr-en": ("fr", "en"), "demo-en-zh": ("en", "zh")}
RECURRENT = ("demo-rnn", "demo-rnn-attention")
QUESTIONS = 300


@pytest.fixture(scope="module", params=MODELS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def translator(name: str) -> Translator:
    return Translator.load(name, device="cpu")


def test_they_are_all_there() -> None:
    assert {path.name for path in SHIPPED.iterdir()} == {
        *MODELS,
        *RECURRENT,
        *NAMES,
        "everyday-en-fr",
        "everyday-fr-en",
        "everyday-en-de",
    }


def test_it_is_small_and_whole(name: str) -> None:
    assert sum(path.stat().st_size for path in (SHIPPED / name).iterdir()) <= 4e6
    measured = {"alignment.json", "heads.json"}
    assert {path.name for path in (SHIPPED / name).iterdir()} - measured == {
        "card.md",
        "config.toml",
        "golden.json",
        "model.safetensors",
        "tokenizer.json",
        "words.txt",
    }
    with safe_open(SHIPPED / name / WEIGHTS, "pt") as file:
        kinds = {file.get_tensor(key).dtype for key in file.keys()}  # noqa: SIM118
    assert kinds == ({torch.int8, torch.float32} if name in INT8 else {torch.float16})


def test_it_has_the_layers_and_heads_of_the_notes(translator: Translator) -> None:
    shape = translator.config.model
    assert (shape.encoder_layers, shape.decoder_layers, shape.heads) == (6, 6, 8)
    assert shape.positions.layout == "interleaved"
    assert next(translator.model.parameters()).dtype == torch.float32


@pytest.mark.thorough
def test_it_translates_what_it_never_saw(name: str, translator: Translator) -> None:
    mark = mark_exact(translator.translate, ask_sentences(*MODELS[name], QUESTIONS))
    assert mark.share >= 0.98, mark.wrong


def test_it_translates_the_notes(name: str, translator: Translator) -> None:
    assert mark_exact(translator.translate, ask_notes(*MODELS[name])).wrong == []


def test_it_finds_out_who_it_is(name: str, translator: Translator) -> None:
    source, target = MODELS[name]
    if target != "fr":
        pytest.skip(f"il and elle are no question in translations to {target}")
    mark = mark_pronouns(translator.translate, ask_riddles(source, QUESTIONS))
    assert mark.share >= 0.98, mark.wrong


def test_it_does_what_it_did_when_it_was_made(name: str) -> None:
    assert check_golden(SHIPPED / name) == []


def test_its_card_says_how_it_was_made_and_how_good_it_is(name: str) -> None:
    card = (SHIPPED / name / CARD).read_text(encoding="utf-8")
    assert f"python -m benchmarks shipped --out RUNS {name}" in card and "MIT" in card
    assert "- held-out sentences: " in card and "- sentences of the notes: 100.0 % of 15" in card


def test_a_shell_finds_it_by_name(tmp_path: Path) -> None:
    source = str(SHIPPED.parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "glassformer", "translate", "demo"],
        input=b"The cat is on the mat.\n",
        env={**os.environ, "PYTHONPATH": source},
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode() == f"{NOTES[4].fr}\n" == "Le chat est sur le tapis.\n"


@pytest.mark.thorough
def test_attention_helps_the_recurrent_network() -> None:
    questions = ask_sentences("en", "fr", QUESTIONS)
    plain, attentive, transformer = (
        mark_exact(Translator.load(name, device="cpu").translate, questions).share
        for name in (*RECURRENT, "demo")
    )
    assert 0.7 < plain < attentive - 0.05 < transformer - 0.05


@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_models_translate_as_stored(name: str) -> None:
    assert check_golden(SHIPPED / name) == []

"""Make the models that ship with the package, from the built-in corpus and recipes/demo*.toml.

    python -m benchmarks shipped --out RUNS [demo demo-fr-en demo-en-zh ...]

For each: write the pairs, train, store the weights under src/glassformer/models, and let
the stored model take the exam: held-out sentences, the riddles of `it`, the sentences of the notes.
A model whose training is in RUNS already is only stored and examined.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from glassformer.config import Config
from glassformer.extensions.demo.corpus import ExamMark, Split, mark_exact, mark_pronouns
from glassformer.extensions.publish.int8 import save_int8
from glassformer.model.files.directory import (
    CARD,
    SHIPPED,
    WEIGHTS,
    load_model,
    open_model,
    save_model,
    write_text,
)
from glassformer.model.files.known_words import copy_known_words
from glassformer.train import train
from glassformer.train.publish.card import hash_files, read_facts, write_card
from glassformer.train.publish.golden import write_golden
from glassformer.translator import Translator
from tools.demo_corpus import NOTES
from tools.demo_corpus.exam import ask_notes, ask_riddles, ask_sentences, speak
from tools.demo_corpus.files import write_pairs

RECIPES = Path(__file__).parents[1] / "recipes"
LANGUAGES = {
    "demo": ("en", "fr"),
    "demo-fr-en": ("fr", "en"),
    "demo-en-zh": ("en", "zh"),
    "demo-rnn": ("en", "fr"),
    "demo-rnn-attention": ("en", "fr"),
}
INT8 = {"demo-fr-en", "demo-en-zh", "demo-lm", "demo-mlm"}  # the others in fp16
PAIRS: dict[Split, int] = {"train": 60_000, "valid": 300}
QUESTIONS = 2_000


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", default=list(LANGUAGES), metavar="NAME")
    parser.add_argument("--out", type=Path, required=True)


def main(options: argparse.Namespace) -> None:
    for name in options.names:
        if name not in LANGUAGES:
            raise ValueError(f"no shipped model is called {name}: {', '.join(LANGUAGES)}")
    for name in options.names:
        make(name, options.out / name)


def make(name: str, out: Path) -> None:
    source, target = LANGUAGES[name]
    if not (out / "model" / CARD).exists():
        write_pairs(out / "pairs", source, target, PAIRS)
        langs = {"source_lang": source, "target_lang": target}
        recipe = RECIPES / f"{name if 'rnn' in name else 'demo'}.toml"
        summary = train(Config.load(recipe).changed(data=langs), [out / "pairs"], out / "model")
        if not summary.is_finished:
            raise SystemExit(summary.text)
    given = [speak(note, source) for note in NOTES]
    folder = store(name, out / "model", given)
    marks = examine(Translator.load(folder, device="cpu"), source, target)
    conditions = """greedy, in fp32. Right is any translation that the
grammar allows; no training text had the content words of a held-out sentence together."""
    describe(folder, out / "model", marks, conditions, "shipped")


def examine(translator: Translator, source: str, target: str) -> dict[str, ExamMark]:
    """Return the marks of a model, with greedy search in fp32 and the weights as stored."""
    ask = translator.translate
    marks = {
        "held-out sentences": mark_exact(ask, ask_sentences(source, target, QUESTIONS)),
        "sentences of the notes": mark_exact(ask, ask_notes(source, target)),
    }
    if target == "fr":
        marks["riddles of il and elle"] = mark_pronouns(ask, ask_riddles(source, QUESTIONS))
    return marks


def store(name: str, model: Path, given: list[str]) -> Path:
    """Put a trained model among those that ship, with its words and its answers to `given`."""
    folder = SHIPPED / name
    config, tokenizers, network = load_model(model)
    save_model(folder, config, tokenizers, network.state_dict(), half=True)
    if name in INT8:
        save_int8(open_model(folder)[2], folder / WEIGHTS)
    write_golden(folder, given)
    copy_known_words(model, folder)
    return folder


def describe(
    folder: Path, model: Path, marks: dict[str, ExamMark], conditions: str, verb: str
) -> None:
    """Write the card with the marks of an exam, and print them with the first wrong answers."""
    exam = {what: {"asked": mark.asked, "right": mark.share} for what, mark in marks.items()}
    facts = {**read_facts(model), "exam": exam, "licence": "MIT", "size": "demo"}
    write_card(folder, {**facts, "sha256": hash_files(folder)})
    card = (folder / CARD).read_text(encoding="utf-8")
    told = "".join(f"- {what}: {mark}\n" for what, mark in marks.items())
    write_text(
        folder / CARD,
        f"""{card}
## Exam

Of these weights, which are rounded to {"int8" if folder.name in INT8 else "fp16"}, {conditions}
{told}
## Made by

`python -m benchmarks {verb} --out RUNS {folder.name}`, of the built-in corpus, which is our own.
Licence of data and weights: MIT.
""",
    )
    print(f"{folder.name}: {(folder / WEIGHTS).stat().st_size / 1e6:.2f} MB of weights")
    for what, mark in marks.items():
        wrong = (f"    {text} -> {said}" for text, said in mark.wrong[:20])
        print(f"  {what}: {mark}", *wrong, sep="\n")

"""Make the shipped language models, from the built-in corpus's English and recipes/demo-*lm.toml.

    python -m benchmarks shipped-language --out RUNS [demo-lm demo-mlm]

For each: write the sentences, train, store the weights in int8 under src/glassformer/models, and
let the stored model take the exam. `demo-lm` goes on from the first two words of held-out
sentences, by sampling with top-p 0.9: does the grammar know the whole sentence? `demo-mlm` guesses
each word of held-out sentences, hidden alone: is the first guess the word, and does the grammar
know the sentence with it? A training that is in RUNS already is only stored and examined.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from glassformer.config import Config
from glassformer.extensions.demo.corpus import ExamMark
from glassformer.model.files.directory import CARD
from glassformer.train import train
from glassformer.translate.language_model import LanguageModel
from glassformer.translate.language_reader import MASK_TEXT
from tools.demo_corpus import NOTES, accepted
from tools.demo_corpus.exam import ask_sentences
from tools.demo_corpus.files import write_pairs

from .shipped import PAIRS, RECIPES, describe, store

QUESTIONS = {"demo-lm": 300, "demo-mlm": 100}  # sentences of the exam of each model
NAMES = tuple(QUESTIONS)
BEGINNING = 2  # words of a sentence that is to be completed
DRAWN = {"search": "sample", "top_p": 0.9}
GIVEN = [note.en for note in NOTES]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", default=list(NAMES), metavar="NAME")
    parser.add_argument("--out", type=Path, required=True)


def main(options: argparse.Namespace) -> None:
    for name in options.names:
        if name not in NAMES:
            raise ValueError(f"no shipped language model is called {name}: {', '.join(NAMES)}")
    for name in options.names:
        make(name, options.out / name)


def make(name: str, out: Path) -> None:
    text, valid = (out / "pairs" / f"{split}.en" for split in PAIRS)
    if not (out / "model" / CARD).exists():
        if not text.exists():
            write_pairs(out / "pairs", "en", "fr", PAIRS)
        summary = train(Config.load(RECIPES / f"{name}.toml"), [text], out / "model", valid=[valid])
        if not summary.is_finished:
            raise SystemExit(summary.text)
    folder = store(name, out / "model", GIVEN)
    questions = QUESTIONS[name]
    reader = LanguageModel.load(folder, device="cpu")
    conditions = f"""in fp32, on {questions} sentences whose
content words no training text had together. A decoder goes on from their first {BEGINNING} words,
by sampling with top-p 0.9; for an encoder each word is hidden alone."""
    marks = examine(reader, [*ask_sentences("en", "fr", questions)])
    describe(folder, out / "model", marks, conditions, "shipped-language")


def examine(reader: LanguageModel, sentences: Sequence[str]) -> dict[str, ExamMark]:
    """Let a model complete sentences, or guess their words; in fp32, of the weights as stored."""
    if reader.config.model.network == "decoder":
        return {"completions that the grammar knows": mark_completions(reader, sentences)}
    guesses = [guess for sentence in sentences for guess in guess_words(reader, sentence)]
    known = [(text, made) for text, _, made in guesses if not is_known(made)]
    missed = [(text, made) for text, wanted, made in guesses if made != wanted]
    return {
        "first guesses that are the word": ExamMark(len(guesses), missed),
        "first guesses that the grammar knows": ExamMark(len(guesses), known),
    }


def mark_completions(reader: LanguageModel, sentences: Sequence[str]) -> ExamMark:
    """Draw a completion of the beginning of each sentence; the grammar knows the right ones."""
    wrong = []
    for number, sentence in enumerate(sentences):
        begun = " ".join(sentence.split()[:BEGINNING])
        made = reader.complete(begun, decode=DRAWN, seed=number)
        if not is_known(made):
            wrong.append((begun, made))
    return ExamMark(len(sentences), wrong)


def guess_words(reader: LanguageModel, sentence: str) -> list[tuple[str, str, str]]:
    """Return the sentence with a mask, without, and as guessed, for each word of one token."""
    words, found = sentence.split(), []
    for place, word in enumerate(words):
        bare = word.rstrip(".,?!")
        if len(reader.tokenizer.encode(bare)) > 1:
            continue
        rest = word[len(bare) :]
        texts = []
        for middle in (MASK_TEXT, bare):
            texts.append(" ".join([*words[:place], middle + rest, *words[place + 1 :]]))
        ((best,),) = reader.fill(texts[0], top=1)
        made = texts[0].replace(MASK_TEXT, best.token.strip())
        found.append((texts[0], texts[1], made))
    return found


def is_known(sentence: str) -> bool:
    """Return whether the grammar of the built-in corpus writes this sentence."""
    return bool(accepted(sentence, "en", "fr"))

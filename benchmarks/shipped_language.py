"""Make the shipped language models, of the built-in corpus's English and recipes/demo-*lm.toml.

    python -m benchmarks shipped-language --out RUNS [demo-lm demo-mlm]

For each: write the sentences, train, store the weights in fp16 under src/glassformer/models, and
let the stored model take the exam. `demo-lm` goes on from the first two words of held-out
sentences, by sampling with top-p 0.9: does the grammar know the whole sentence? `demo-mlm` guesses
each word of held-out sentences, hidden alone: is the first guess the word, and does the grammar
know the sentence with it? A training that is in RUNS already is only stored and examined.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from glassformer.checks.known_words import write_known_words
from glassformer.config import Config
from glassformer.data.demo import ExamMark, Split
from glassformer.directory import CARD, SHIPPED, WEIGHTS, load_model, save_model, write_text
from glassformer.language_model import MASK_TEXT, LanguageModel
from glassformer.publish.card import hash_files, read_facts, write_card
from glassformer.publish.golden import write_golden
from glassformer.train import train
from tools.demo_corpus import NOTES, accepted
from tools.demo_corpus.exam import ask_sentences
from tools.demo_corpus.files import write_pairs

RECIPES = Path(__file__).parents[1] / "recipes"
QUESTIONS = {"demo-lm": 300, "demo-mlm": 100}  # sentences of the exam of each model
NAMES = tuple(QUESTIONS)
PAIRS: dict[Split, int] = {"train": 60_000, "valid": 300}
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
    if not (out / "model" / CARD).exists():
        if not (out / "pairs").exists():
            write_pairs(out / "pairs", "en", "fr", PAIRS)
        text, valid = (out / "pairs" / f"{split}.en" for split in PAIRS)
        summary = train(Config.load(RECIPES / f"{name}.toml"), [text], out / "model", valid=[valid])
        if not summary.is_finished:
            raise SystemExit(summary.text)
    folder = SHIPPED / name
    config, tokenizers, network = load_model(out / "model")
    save_model(folder, config, tokenizers, network.state_dict(), half=True)
    write_golden(folder, GIVEN)
    with (out / "pairs" / "train.en").open(encoding="utf-8") as lines:
        write_known_words(folder, lines)
    marks = examine(
        LanguageModel.load(folder, device="cpu"), [*ask_sentences("en", "fr", QUESTIONS[name])]
    )
    describe(folder, out / "model", marks)
    print(f"{name}: {(folder / WEIGHTS).stat().st_size / 1e6:.2f} MB of weights")
    for what, mark in marks.items():
        wrong = (f"    {text} -> {said}" for text, said in mark.wrong[:20])
        print(f"  {what}: {mark}", *wrong, sep="\n")


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


def describe(folder: Path, model: Path, marks: dict[str, ExamMark]) -> None:
    exam = {what: {"asked": mark.asked, "right": mark.share} for what, mark in marks.items()}
    facts = {**read_facts(model), "exam": exam, "licence": "MIT", "size": "demo"}
    write_card(folder, {**facts, "sha256": hash_files(folder)})
    card = (folder / CARD).read_text(encoding="utf-8")
    told = "".join(f"- {what}: {mark}\n" for what, mark in marks.items())
    write_text(
        folder / CARD,
        f"""{card}
## Exam

Of these weights, which are rounded to fp16, in fp32, on {QUESTIONS[folder.name]} sentences whose
content words no training text had together. A decoder goes on from their first {BEGINNING} words,
by sampling with top-p 0.9; for an encoder each word is hidden alone.
{told}
## Made by

`python -m benchmarks shipped-language --out RUNS {folder.name}`, of the built-in corpus, which is
our own. Licence of data and weights: MIT.
""",
    )

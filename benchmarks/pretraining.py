"""Compare translation and classification with and without pre-trained language models.

    python -m benchmarks pretraining --data DIR --out RUNS --minutes 30

DIR has multi30k/ and tatoeba_en_de/. A masked and a causal language model learn the one-language
sides of both corpora. Then, with each number of pairs or of labelled sentences and each seed, the
same network is trained twice, from fresh weights and from theirs, with the same tokens. What is
there already is not done again, and what was stopped goes on; --minutes ends it. The results go to
docs/pretraining.json, and are printed as a Markdown table.

Labels are made from Tatoeba's English sentences. `kind`: question or statement, lower-cased and
without the mark at the end. `order`: as written, or with two neighbouring words exchanged. Which of
the two corpora a line is from would be too easy: 2,500 lines and 40 updates tell it in 97.6 %.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch

from glassformer.config import Config
from glassformer.data.corpus import find_sentences
from glassformer.evaluate.quality import score_quality
from glassformer.model.files.directory import (
    RECORD,
    RUN,
    build_model,
    open_model,
    save_model,
    write_text,
)
from glassformer.train import resume, train
from glassformer.translate.language_model import LanguageModel
from glassformer.translator import Translator

from .tables import tell_machine, tell_table

FOUND = Path(__file__).parents[1] / "docs" / "pretraining.json"
LAYERS = 2
VOCABULARY = 6000
PAIRS = {2000: 500, 29_000: 1500}  # updates with so many pairs
SENTENCES = {100: 100, 1000: 200, 10_000: 500}  # updates with so many labelled sentences
PRETRAINING = {"encoder": 2000, "decoder": 1500}  # updates
WAYS = ("from fresh weights", "pre-trained")
TASKS = ("kind", "order")
TESTED = 2000  # labelled sentences of the test


@dataclass(frozen=True)
class Training:
    """One training: its name, its folder in RUNS, and what it is about."""

    task: str  # translation, kind or order
    size: int
    way: str
    seed: int

    @property
    def name(self) -> str:
        return f"{self.task}-{self.size}-{self.way.replace(' ', '-')}-seed-{self.seed}"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no training after these")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])


def main(options: argparse.Namespace) -> None:
    ends = time.monotonic() + 60 * options.minutes
    out = options.out
    out.mkdir(parents=True, exist_ok=True)
    pretrain(options.data, out)
    results: dict[str, Any] = read_results()
    for training in list_trainings(options.seeds):
        if training.name in results:
            continue
        if time.monotonic() > ends:
            break
        results[training.name] = {**vars(training), **measure(training, options.data, out)}
        write_text(FOUND, json.dumps(results, indent=1) + "\n")
        print(training.name, results[training.name], flush=True)
    print(render(list(results.values()), options.seeds))


def read_results() -> dict[str, Any]:
    return json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.is_file() else {}


def list_trainings(seeds: Sequence[int]) -> Iterator[Training]:
    """Yield what is to be trained, in its order: both ways of a seed beside one another."""
    for seed in seeds:
        yield from (Training("translation", 2000, way, seed) for way in WAYS)
        for task in TASKS:
            yield from (Training(task, size, way, seed) for size in (100, 1000) for way in WAYS)
    for seed in seeds:
        yield from (Training("translation", 29_000, way, seed) for way in WAYS)
        yield from (Training(task, 10_000, way, seed) for task in TASKS for way in WAYS)


def pretrain(data: Path, out: Path) -> None:
    """Train the two language models: the encoder on both languages, the decoder on German."""
    sides = {
        lang: [
            line
            for corpus in ("multi30k", "tatoeba_en_de")
            for line in read_lines(data / corpus / f"train.{lang}")
        ]
        for lang in ("en", "de")
    }
    for network, langs in (("encoder", ("en", "de")), ("decoder", ("de",))):
        for part in ("train", "valid"):
            text = out / f"{network}.{part}"
            if not text.is_file():
                lines = [
                    line
                    for lang in langs
                    for line in (
                        sides[lang]
                        if part == "train"
                        else read_lines(data / "multi30k" / f"valid.{lang}")
                    )
                ]
                write_lines(text, lines)
        config = make_config(network, PRETRAINING[network], dropout=0.1)
        begun = [out / "encoder"] if network == "decoder" else []
        run(config, [out / f"{network}.train"], out / network, out / f"{network}.valid", begun)


def make_config(network: str, steps: int, dropout: float, **more: Any) -> Config:
    """Return the settings of one training; all have the same shape."""
    sides = {
        "transformer": {"encoder_layers": LAYERS, "decoder_layers": LAYERS, "tie": "two-way"},
        "encoder": {"encoder_layers": LAYERS, "tie": "two-way"},
        "decoder": {"decoder_layers": LAYERS, "tie": "two-way"},
    }[network]
    return Config.read(
        {
            "size": "tiny",
            "model": {"network": network, "norm": "pre", "dropout": dropout, **sides},
            "text": {"vocabulary": VOCABULARY},
            "train": {
                "steps": steps,
                "batch_tokens": 2048,
                "pad_to": 4,
                "optimizer": "muon",
                "learning_rate": 0.004,
                "warmup": max(10, steps // 20),
                "schedule": "cosine",
                "validate_every": max(1, steps // 4),
                "watch": 0,
                **more.pop("train", {}),
            },
            **more,
        }
    )


def run(
    config: Config, data: list[Path], out: Path, valid: Path | list[Path], begun: list[Path]
) -> None:
    """Train, or go on with a training that was stopped, unless it is done."""
    if (out / "done").is_file():
        return
    if (out / RUN / RECORD).is_file():
        resume(out, quiet=True)
    else:
        paths = valid if isinstance(valid, list) else [valid]
        train(config, data, out, valid=paths, init_from=begun, quiet=True)
    write_text(out / "done", "")


def measure(training: Training, data: Path, out: Path) -> dict[str, Any]:
    """Train and score one model."""
    began = time.process_time()
    begun = [out / "encoder", out / "decoder"]
    if training.way == WAYS[0]:
        begun = [draw_weights(out, training.seed)]
    if training.task == "translation":
        found = translate(training, data, out, begun)
    else:
        found = classify(training, data, out, begun[:1])
    return {**found, "cpu_seconds": round(time.process_time() - began)}


def draw_weights(out: Path, seed: int) -> Path:
    """Return a model with the tokens of the language models and fresh weights."""
    folder = out / f"fresh-{seed}"
    if not (folder / "model.safetensors").is_file():
        config, tokenizers, _ = open_model(out / "encoder")
        torch.manual_seed(seed)
        save_model(folder, config, tokenizers, build_model(config, tokenizers).state_dict())
    return folder


def translate(training: Training, data: Path, out: Path, begun: list[Path]) -> dict[str, Any]:
    """Return the BLEU of a translation model on test2016."""
    files = []
    for lang in ("en", "de"):
        lines = read_lines(data / "multi30k" / f"train.{lang}")
        chosen = sorted(Random(training.seed).sample(range(len(lines)), training.size))
        files.append(out / f"pairs-{training.size}-{training.seed}.{lang}")
        write_lines(files[-1], [lines[number] for number in chosen])
    langs = {"source_lang": "en", "target_lang": "de"}
    train_more = {"seed": training.seed, "ema": 0.99}
    steps = PAIRS[training.size]
    config = make_config("transformer", steps, dropout=0.3, data=langs, train=train_more)
    valid = [data / "multi30k" / f"valid.{lang}" for lang in ("en", "de")]
    run(config, files, out / training.name, valid, begun)
    translator = Translator.load(out / training.name, device="cpu", precision="fp32", workers=1)
    source, reference = (
        read_lines(data / "multi30k" / f"test2016.{lang}") for lang in langs.values()
    )
    quality = score_quality(translator.translate(source), [reference], target_lang="de")
    return {"score": quality["BLEU"].value, "signature": quality["BLEU"].signature}


def classify(training: Training, data: Path, out: Path, begun: list[Path]) -> dict[str, Any]:
    """Return the accuracy of a classifier on sentences of Tatoeba's test."""
    corpus = data / "tatoeba_en_de"
    train_file = out / f"{training.task}-{training.size}-{training.seed}.tsv"
    drawn = label(read_lines(corpus / "train.en"), training.task, training.size, training.seed)
    write_lines(train_file, drawn)
    tests = {}
    for part, size in (("valid", 500), ("test", TESTED)):
        tests[part] = out / f"{training.task}-{part}.tsv"
        write_lines(tests[part], label(read_lines(corpus / f"{part}.en"), training.task, size, 0))
    more = {"seed": training.seed}
    config = make_config("encoder", SENTENCES[training.size], dropout=0.3, train=more)
    run(config, [train_file], out / training.name, tests["valid"], begun)
    pairs = [*find_sentences(tests["test"]).train]
    found = LanguageModel.load(out / training.name, device="cpu").classify(
        [text for text, _ in pairs]
    )
    right = sum(each.label == label for each, (_, label) in zip(found, pairs, strict=True))
    return {"score": 100 * right / len(pairs), "signature": f"accuracy of {len(pairs):,} sentences"}


def label(lines: list[str], task: str, size: int, seed: int) -> list[str]:
    """Return so many sentences with their labels, of each label equally many."""
    random = Random(seed)
    lines = random.sample(lines, len(lines))
    classes: dict[str, list[str]] = {}
    for number, line in enumerate(lines):
        name, text = label_kind(line) if task == "kind" else label_order(line, number % 2, random)
        if text:
            classes.setdefault(name, []).append(f"{name}\t{text}")
    chosen = [each for rows in classes.values() for each in rows[: size // len(classes)]]
    return random.sample(chosen, len(chosen))


def label_kind(line: str) -> tuple[str, str]:
    """Return whether a sentence is a question, and the sentence without the mark that says so."""
    if line[-1:] not in ".?" or any(mark in line[:-1] for mark in ".?!"):
        return "", ""
    return {"?": "question", ".": "statement"}[line[-1]], line[:-1].lower()


def label_order(line: str, is_changed: int, random: Random) -> tuple[str, str]:
    """Return a sentence as it is, or with two neighbouring words exchanged."""
    words = line[:-1].lower().split()
    places = [n for n in range(len(words) - 1) if words[n] != words[n + 1]]
    if len(words) < 4 or not places:
        return "", ""
    if not is_changed:
        return "as-written", " ".join(words)
    place = random.choice(places)
    words[place : place + 2] = words[place + 1], words[place]
    return "exchanged", " ".join(words)


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def write_lines(path: Path, lines: Sequence[str]) -> None:
    write_text(path, "".join(f"{line}\n" for line in lines))


def render(results: list[dict[str, Any]], seeds: Sequence[int]) -> str:
    """Return the table of what was measured; the number of seeds stands in it."""
    rows = []
    for task, size in sorted({(each["task"], each["size"]) for each in results}):
        cells = [task, f"{size:,}"]
        for way in WAYS:
            own = (task, size, way)
            found = [r["score"] for r in results if (r["task"], r["size"], r["way"]) == own]
            spread = f" ± {statistics.stdev(found):.2f}" if len(found) > 1 else ""
            mean = f"{statistics.mean(found):.2f}{spread}" if found else ""
            cells.append(f"{mean} ({len(found)} seeds)" if found else "")
        rows.append(cells)
    head = ["task", "examples", *WAYS]
    return f"On {tell_machine()}; {len(seeds)} seeds wanted.\n\n{tell_table(head, rows)}"

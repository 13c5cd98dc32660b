"""Count how often a model is right on outputs longer than in training: SCAN's `length` split.

    python -m benchmarks lengths --data DIR --out RUNS

DIR has length.{train,test}.{src,tgt}. A tenth of the training pairs is held out, so that both sides
of the limit are unseen commands. What is found goes to extensions/pictures/lengths.json, for
picture V26.
A training that was stopped is asked as far as it came.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path

from glassformer.config import Config
from glassformer.model.files.directory import write_text
from glassformer.train import train
from glassformer.train.publish.card import read_facts
from glassformer.translator import Translator

HOME = Path(__file__).parents[1]
FOUND = HOME / "src" / "glassformer" / "extensions" / "pictures" / "lengths.json"
HELD_OUT = 1700
Pairs = list[tuple[str, str]]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)


def main(options: argparse.Namespace) -> None:
    pairs, far = (read(options.data / f"length.{name}") for name in ("train", "test"))
    random.Random(1).shuffle(pairs)
    near, pairs = pairs[:HELD_OUT], pairs[HELD_OUT:]
    config = Config.load(HOME / "recipes" / "scan-simple.toml")
    config = config.changed(decode={"max_extra": 2 * max(len(said.split()) for _, said in far)})
    if not (options.out / "model" / "model.safetensors").is_file():
        for name, part in (("train", pairs), ("valid", near[:200])):
            for ending, texts in zip(("src", "tgt"), zip(*part, strict=True), strict=True):
                options.out.mkdir(parents=True, exist_ok=True)
                write_text(options.out / f"{name}.{ending}", "".join(f"{t}\n" for t in texts))
        train(config, [options.out], options.out / "model")
    right, asked = ask(Translator.load(options.out / "model"), near + far)
    made = read_facts(options.out / "model")["training"]
    found = {
        "seen": max(len(said.split()) for _, said in pairs),
        "updates": made["best_step"],
        "lengths": {length: [right[length], asked[length]] for length in sorted(asked)},
    }
    write_text(FOUND, json.dumps(found, indent=1) + "\n")
    print(json.dumps(found))


def read(prefix: Path) -> Pairs:
    sides = (Path(f"{prefix}.{e}").read_text(encoding="utf-8") for e in ("src", "tgt"))
    return list(zip(*(side.splitlines() for side in sides), strict=True))


def ask(translator: Translator, pairs: Pairs) -> tuple[Counter[int], Counter[int]]:
    """Return how many answers are exactly right, and how many there are, by their length."""
    right, asked = Counter[int](), Counter[int]()
    answers = translator.translate([command for command, _ in pairs])
    for answer, (_, said) in zip(answers, pairs, strict=True):
        length = len(said.split())
        asked[length] += 1
        right[length] += answer == said
    return right, asked

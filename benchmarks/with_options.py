"""Compare trainings with some options to the same training without them.

    python -m benchmarks with-options DIR en fr --steps 2000 --seeds 1 2 3 --out RUNS \\
        --settings "--size tiny" --try "--augment-stop 0.1" --try "--teacher everyday-en-fr"

DIR has train.en, valid.en and so on; options that name --data replace its training text. What is in
--out is not trained again. Prints a Markdown table: the mean and the spread over the seeds, and the
difference to the training without options. A difference below the spread is none.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

from .many_to_one import tell_spread
from .ssru import METRICS, read_test, score
from .tables import tell_machine, tell_table

PLAIN = ""  # the options of the training that the others are compared with


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path)
    parser.add_argument("source_lang")
    parser.add_argument("target_lang")
    parser.add_argument("--test", default="valid", help="choose by the validation text")
    parser.add_argument("--try", dest="tried", action="append", required=True)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--settings", default="", help="options of glassformer train for all")


def main(options: argparse.Namespace) -> None:
    pairs = read_test(options, options.test)
    scores: dict[str, Sequence[Sequence[float]]] = {
        more: [
            score(train(options, more, seed), pairs, options.target_lang) for seed in options.seeds
        ]
        for more in (PLAIN, *options.tried)
    }
    print(tell_scores(scores))
    print(f"{tell_machine()}, {options.steps} updates, seeds {options.seeds}")


def train(options: argparse.Namespace, more: str, seed: int) -> Path:
    """Train a model with more options, unless it is there, and return its folder."""
    name = re.sub(r"[^\w.]+", "-", more).strip("-") or "plain"
    folder: Path = options.out / f"{name}-{seed}"
    if not (folder / "card.md").is_file():
        given = {"--source-lang": options.source_lang, "--target-lang": options.target_lang}
        given |= {"--steps": options.steps, "--seed": seed, "--out": folder}
        given |= {"--valid": options.data / "valid"}
        words = [str(word) for pair in given.items() for word in pair]
        own = shlex.split(f"{options.settings} {more}")
        data = [] if "--data" in own else [str(options.data)]
        command = [sys.executable, "-m", "glassformer", "train", *data, *words, *own]
        subprocess.run(command, check=True)
    return folder


def tell_scores(scores: dict[str, Sequence[Sequence[float]]]) -> str:
    """Return a table: for each training the scores, and the difference to that without options."""
    rows = []
    for more, found in scores.items():
        row = [f"`{more}`" if more else "none"]
        for number in range(len(METRICS)):
            own, plain = ([each[number] for each in by] for by in (found, scores[PLAIN]))
            row += [tell_spread(own), f"{mean(own) - mean(plain):+.2f}" if more else ""]
        rows.append(row)
    return tell_table(["options", *(head for m in METRICS for head in (m, "difference"))], rows)

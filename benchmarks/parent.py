"""Compare training with `--from` a model and from scratch, in the same minutes.

    python -m benchmarks parent runs/tatoeba-en-fr/seed-1 --recipe recipes/tatoeba-en-fr.toml \
        --recipe recipes/multi30k-en-fr.toml --data DIR --test test2016 --test test2017 \
        --pairs 1000 5000 29000 --minutes 4 --out runs/parent

DIR has train.*, valid.* and the tests, in the languages of the parent. For each number of pairs,
drawn by seed: the parent itself; with its own tokens and with tokens of the new corpus, --minutes
of training; and each recipe from scratch. What is there already is not trained again. Prints a
Markdown table.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import torch

from glassformer.foundation.disk import write_text

from .auto import draw_pairs
from .processes import run_glassformer
from .tables import tell_machine, tell_table

PARENT = "the parent, as it is"
OWN_PIECES = "from the parent"
NEW_PIECES = "from the parent, with new tokens"


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("parent", type=Path)
    parser.add_argument("--recipe", type=Path, action="append", default=[])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--test", action="append", required=True)
    parser.add_argument("--pairs", type=int, nargs="+", default=[1000, 5000, 29_000])
    parser.add_argument("--minutes", type=float, default=4.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)


def main(options: argparse.Namespace) -> None:
    print(render(options, {pairs: measure(options, pairs) for pairs in options.pairs}))


def measure(options: argparse.Namespace, pairs: int) -> dict[str, dict[str, Any]]:
    """Train in each way; return a score for each test, the updates and the CPU-seconds."""
    source, target = json.loads(run_glassformer("info", options.parent, "--json"))["card"][
        "language"
    ]
    langs = (source, target)
    asked = ["--source-lang", source, "--target-lang", target]
    parent = ["--from", str(options.parent)]
    ways: dict[str, list[str]] = {
        OWN_PIECES: parent,
        NEW_PIECES: [*parent, "--new-tokenizer"],
        **{f"from scratch, {each.name}": [str(each), *asked] for each in options.recipe},
    }
    place = options.out / f"{pairs}-seed-{options.seed}"
    drawn = place / "train"
    draw_pairs(options.data / "train", langs, pairs, options.seed, drawn)
    found = {PARENT: examine(options, langs, options.parent, place / "as-it-is")}
    for name, how in ways.items():
        folder = place / "".join(c if c.isalnum() else "-" for c in name)
        found[name] = {**train(options, how, drawn, folder), **examine(options, langs, folder)}
    return found


def train(options: argparse.Namespace, how: list[str], data: Path, folder: Path) -> dict[str, Any]:
    if (folder / "run" / "run.json").is_file():
        run_glassformer("train", "--resume", folder)
    else:
        ends = ["--minutes", options.minutes, "--set", f"train.seed={options.seed}"]
        run_glassformer(
            "train", *how, "--data", data, "--valid", options.data / "valid", "--out", folder, *ends
        )
    made = json.loads(run_glassformer("info", folder, "--json"))["card"]["training"]
    return {"updates": made["steps"], "cpu_seconds": made["cpu_seconds"]}


def examine(
    options: argparse.Namespace, langs: tuple[str, str], model: Path, kept: Path | None = None
) -> dict[str, float]:
    """Return the sacreBLEU of each test, with the model's own search."""
    found = {}
    for test in options.test:
        score = (kept or model) / f"{test}.json"
        if not score.is_file():
            score.parent.mkdir(parents=True, exist_ok=True)
            source, reference = (options.data / f"{test}.{lang}" for lang in langs)
            asked = ("--source", source, "--reference", reference, "--json")
            write_text(score, run_glassformer("evaluate", model, *asked))
        found[test] = json.loads(score.read_text(encoding="utf-8"))["scores"]["BLEU"]["value"]
    return found


def render(options: argparse.Namespace, results: dict[int, dict[str, dict[str, Any]]]) -> str:
    rows = []
    for name in next(iter(results.values())):
        cells = []
        for found in (each[name] for each in results.values()):
            cell = ", ".join(f"{found[test]:.2f}" for test in options.test)
            if "updates" in found:
                cell += f" ({found['updates']:,} updates, {found['cpu_seconds']:,.0f} CPU-seconds)"
            cells.append(cell)
        rows.append([name, *cells])
    heads = [f"BLEU on {', '.join(options.test)}", *(f"{pairs:,} pairs" for pairs in results)]
    facts = f"torch {torch.__version__}, {options.minutes:g} minutes each, seed {options.seed}"
    return f"{tell_table(heads, rows)}\n{tell_machine()}, {facts}"

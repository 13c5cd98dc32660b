"""The size auto against settings chosen by hand, for the same minutes: a Markdown table.

    python -m benchmarks auto --data DIR/train --valid DIR/valid --test DIR/test \
        --source-lang en --target-lang fr --pairs 5000 50000 160000 --minutes 15 --out runs/auto

Each is a prefix (DIR/train is DIR/train.en and DIR/train.fr). For each number of pairs, drawn
by seed from --data, every configuration trains for the minutes and translates --test with the
same beam search. What is there already is not trained again. A difference counts once it is
larger than what another seed makes: run with --seed 2 and 3.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from glassformer.config import Config
from glassformer.data.corpus import find_data
from glassformer.directory import WEIGHTS, write_text
from glassformer.evaluate.quality import score_quality
from glassformer.evaluate.references import read_references
from glassformer.train import resume, train
from glassformer.translator import Translator

from .tables import tell_machine, tell_table

PRE = {"norm": "pre"}
FAST = {"learning_rate": 0.004, "warmup": 300, "schedule": "cosine", "ema": 0.998}
MUON = {**FAST, "optimizer": "muon", "learning_rate": 0.008, "warmup": 200}
SHORT = {**MUON, "warmup": 60, "ema": 0.99}
BY_HAND: dict[str, dict[str, Any]] = {
    "tiny, the recipe of Multi30k": {
        "size": "tiny",
        "model": {**PRE, "dropout": 0.3},
        "train": MUON,
    },
    "small, the recipe of Tatoeba": {
        "size": "small",
        "model": {**PRE, "dropout": 0.1},
        "text": {"vocabulary": 12_000},
        "train": {**MUON, "learning_rate": 0.006},
    },
    "tiny, dropout 0.3, batches of 2,048": {
        "size": "tiny",
        "model": {**PRE, "dropout": 0.3},
        "text": {"vocabulary": 4000},
        "train": {**FAST, "batch_tokens": 2048},
    },
    "tiny, dropout 0.1, a short warm-up": {
        "size": "tiny",
        "model": {**PRE, "dropout": 0.1},
        "train": SHORT,
    },
    "small, dropout 0.1, a short warm-up": {
        "size": "small",
        "model": {**PRE, "dropout": 0.1},
        "train": {**SHORT, "learning_rate": 0.004},
    },
    "small, the paper's settings": {"size": "small", "text": {"vocabulary": 8000}},
}
AUTO = "auto"


def main(options: argparse.Namespace) -> None:
    results = {
        pairs: {name: run(options, pairs, name) for name in (AUTO, *BY_HAND)}
        for pairs in options.pairs
    }
    print(render(options, results))


def add_options(parser: argparse.ArgumentParser) -> None:
    for name in ("data", "valid", "test", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("source-lang", "target-lang"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--pairs", type=int, nargs="+", default=[5000, 50_000, 160_000])
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=1)


def run(options: argparse.Namespace, pairs: int, name: str) -> dict[str, Any]:
    """Train one configuration on so many pairs, and score it."""
    place = "".join(c if c.isalnum() else "-" for c in name)
    out = options.out / f"{pairs}-seed-{options.seed}" / place
    if not (out / "score.json").is_file():
        if (out / "run" / "run.json").is_file():
            summary = resume(out)
        else:
            langs = (options.source_lang, options.target_lang)
            prefix = out.parent / "train"
            draw_pairs(options.data, langs, pairs, options.seed, prefix)
            summary = train(settle(options, name), [prefix], out, valid=[options.valid])
        made = {"steps": summary.steps, "cpu_seconds": summary.progress.cpu_seconds}
        write_text(out / "score.json", json.dumps({**test(options, out), **made}) + "\n")
    return json.loads((out / "score.json").read_text(encoding="utf-8"))


def settle(options: argparse.Namespace, name: str) -> Config:
    langs = {"source_lang": options.source_lang, "target_lang": options.target_lang}
    raw: dict[str, Any] = {"size": "auto"} if name == AUTO else BY_HAND[name]
    ends = {"minutes": options.minutes, "seed": options.seed}
    return Config.read({**raw, "data": langs, "train": {**raw.get("train", {}), **ends}})


def draw_pairs(data: Path, langs: tuple[str, str], count: int, seed: int, prefix: Path) -> None:
    """So many of the pairs of `data`, into two files: the same for every configuration."""
    if prefix.with_suffix(f".{langs[1]}").is_file():
        return
    everything = list(find_data([data], *langs).train)
    order = np.random.default_rng(seed).permutation(len(everything))[:count]
    prefix.parent.mkdir(parents=True, exist_ok=True)
    for side, lang in enumerate(langs):
        text = "".join(f"{everything[place][side]}\n" for place in sorted(order))
        write_text(prefix.with_suffix(f".{lang}"), text)


def test(options: argparse.Namespace, out: Path) -> dict[str, Any]:
    """chrF++ and BLEU of the test set; PREFIX.multiref.tsv has more references, if it is there."""
    pairs = list(find_data([options.test], options.source_lang, options.target_lang).train)
    several = options.test.with_name(f"{options.test.name}.multiref.tsv")
    references = read_references(several) if several.is_file() else [[b for _, b in pairs]]
    found = Translator.load(out).translate([a for a, _ in pairs])
    quality = score_quality(found, references, target_lang=options.target_lang)
    return {name: quality[name].value for name in ("chrF++", "BLEU")} | {
        "signature": quality["chrF++"].signature,
        "parameters": sum(x.numel() for x in Translator.load(out).model.parameters()),
        "bytes": (out / WEIGHTS).stat().st_size,
    }


def render(options: argparse.Namespace, results: dict[int, dict[str, dict[str, Any]]]) -> str:
    """A row for each configuration; the best of each column is bold."""
    counts = list(results)
    rows = []
    for name in (AUTO, *BY_HAND):
        cells = []
        for count in counts:
            found = results[count]
            best = max(each["chrF++"] for each in found.values())
            value = f"{found[name]['chrF++']:.2f}"
            bold = "**" if found[name]["chrF++"] == best else ""
            cells.append(f"{bold}{value}{bold} ({found[name]['steps']:,} updates)")
        rows.append([name, *cells])
    behind = ["auto against the best by hand"]
    for count in counts:
        by_hand = max(results[count][name]["chrF++"] for name in BY_HAND)
        behind.append(f"{results[count][AUTO]['chrF++'] - by_hand:+.2f}")
    heads = [f"chrF++ after {options.minutes:g} minutes", *(f"{n:,} pairs" for n in counts)]
    facts = f"torch {torch.__version__}, seed {options.seed}"
    signature = results[counts[0]][AUTO]["signature"]
    return f"{tell_table(heads, [*rows, behind])}\n{tell_machine()}, {facts}; {signature}"

"""Compare one model of several source languages with one model for each.

    python -m benchmarks many-to-one --data de=TATOEBA_EN_DE --data fr=TATOEBA_EN_FR \
        --data zh=TATOEBA_EN_ZH --target-lang en --seeds 1 2 --out RUNS

Each folder has train, valid and test in its language and the target's. All models have one shape,
one size of vocabulary and the same settings; each language has --pairs pairs, none of them with a
target sentence of any test. The joint model reads all of them: once with the updates of one single
model, and once with those of all together. What is there already is not trained again. Prints a
Markdown table: the mean and the standard deviation over the seeds.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from glassformer.data.corpus import find_data
from glassformer.model.files.directory import write_text

from .processes import run_glassformer
from .tables import tell_machine, tell_table

SETTINGS = """
size = "tiny"
model = { encoder_layers = 2, decoder_layers = 2, norm = "pre", dropout = 0.1 }
text = { vocabulary = 8000 }

[train]
batch_tokens = 2048
optimizer = "muon"
learning_rate = 0.008
warmup = 60
schedule = "cosine"
ema = 0.99
watch = 0
validate_every = 400
"""
VALID, TEST = 200, 500  # pairs of each language that choose the best weights, and that are scored
SCORES = ("BLEU", "chrF++")
Scores = dict[str, dict[str, float]]  # by language and metric


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", action="append", required=True, metavar="LANG=DIR")
    parser.add_argument("--target-lang", required=True)
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--out", type=Path, required=True)


def main(options: argparse.Namespace) -> None:
    folders = {lang: Path(folder) for lang, folder in (each.split("=", 1) for each in options.data)}
    draw(options, folders)
    langs = list(folders)
    ways = {
        "a model for each": [([lang], options.steps) for lang in langs],
        "one model, updates of one": [(langs, options.steps)],
        "one model, updates of all": [(langs, options.steps * len(langs))],
    }
    found = {
        way: [
            {lang: scores for run in runs for lang, scores in measure(options, *run, seed).items()}
            for seed in options.seeds
        ]
        for way, runs in ways.items()
    }
    print(render(options, langs, found))


def draw(options: argparse.Namespace, folders: dict[str, Path]) -> None:
    """Write the pairs of each language that all models learn from, are chosen by and tested on."""
    target = options.target_lang
    pairs = {
        lang: {
            part: list(find_data([folder / part], lang, target).train)
            for part in ("train", "valid", "test")
        }
        for lang, folder in folders.items()
    }
    tested = {b for parts in pairs.values() for _, b in parts["test"]}
    for lang, parts in pairs.items():
        known = [pair for pair in parts["train"] if pair[1] not in tested]
        order = np.random.default_rng(0).permutation(len(known))[: options.pairs]
        parts["train"] = [known[n] for n in sorted(order)]
        parts["valid"], parts["test"] = parts["valid"][:VALID], parts["test"][:TEST]
        (options.out / "data" / lang).mkdir(parents=True, exist_ok=True)
        for part, rows in parts.items():
            for side, name in enumerate((lang, target)):
                text = "".join(f"{row[side]}\n" for row in rows)
                write_text(options.out / "data" / lang / f"{part}.{name}", text)


def measure(options: argparse.Namespace, langs: Sequence[str], steps: int, seed: int) -> Scores:
    """Train one model on these languages, and return the scores of each one's test."""
    out, target = options.out / f"{'-'.join(langs)}-{steps}-seed-{seed}", options.target_lang
    scores = out / "scores.json"
    if not scores.is_file():
        recipe = options.out / "recipe.toml"
        write_text(recipe, SETTINGS)
        data = [f"--data={options.out / 'data' / lang},langs={lang}-{target}" for lang in langs]
        run_glassformer("train", recipe, *data, "--steps", steps, "--seed", seed, "--out", out)
        write_text(scores, json.dumps({lang: test(options, out, lang) for lang in langs}) + "\n")
    found: Scores = json.loads(scores.read_text(encoding="utf-8"))
    return found


def test(options: argparse.Namespace, model: Path, lang: str) -> dict[str, float]:
    """Return the scores of one language's test, translated in fp32."""
    sides = [options.out / "data" / lang / f"test.{side}" for side in (lang, options.target_lang)]
    asked = ("--to", f"{lang}-{options.target_lang}", "--precision", "fp32", "--json")
    answer = json.loads(run_glassformer("evaluate", model, *sides, *asked))["scores"]
    return {name: answer[name]["value"] for name in SCORES}


def render(
    options: argparse.Namespace, langs: Sequence[str], found: dict[str, list[Scores]]
) -> str:
    """Return a table of BLEU and chrF++: a row for each way, a column for each language."""
    rows = []
    for way, seeds in found.items():
        cells = []
        for lang in langs:
            values = ([scores[lang][name] for scores in seeds] for name in SCORES)
            cells.append(", ".join(map(tell_spread, values)))
        rows.append([way, *cells])
    heads = [f"{', '.join(SCORES)} to {options.target_lang}", *(f"from {lang}" for lang in langs)]
    numbers = ", ".join(map(str, options.seeds))
    facts = f"{options.pairs:,} pairs a language, {options.steps:,} updates, seeds {numbers}"
    return f"{tell_table(heads, rows)}\n{tell_machine()}, torch {torch.__version__}; {facts}"


def tell_spread(values: Sequence[float]) -> str:
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread}"

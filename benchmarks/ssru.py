"""Compare a decoder of SSRUs with the paper's, in quality and in time.

    python -m benchmarks ssru DIR en de --test test2016 --steps 3000 --seeds 1 2 3 --out RUNS \\
        --settings "--d-model 256 --d-ff 1024"

DIR has train.en, valid.en and so on. Both decoders are trained with the same --settings, for as
many updates. Each test is translated in fp32 with one thread, beams as usual. Then both
models translate the first 200 lines greedily, in turns, in fp32 and int8: the ratio is that of the
processor time, SSRU to attention, the median of --turns. What is in --out is not trained again.
Prints two Markdown tables.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from glassformer.data.corpus import find_data
from glassformer.evaluate.quality import score_quality
from glassformer.translator import Translator

from .many_to_one import tell_spread
from .tables import tell_machine, tell_table

DECODERS = ("attention", "ssru")
METRICS = ("BLEU", "chrF++")
LINES = 200  # translated in each turn


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path)
    parser.add_argument("source_lang")
    parser.add_argument("target_lang")
    parser.add_argument("--test", action="append", required=True)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--settings", default="", help="more options of glassformer train")


def main(options: argparse.Namespace) -> None:
    models = {d: [train(options, d, seed) for seed in options.seeds] for d in DECODERS}
    tests = {test: read_test(options, test) for test in options.test}
    rows = []
    for decoder, folders in models.items():
        row = [decoder]
        for pairs in tests.values():
            found = [score(folder, pairs, options.target_lang) for folder in folders]
            row += [tell_spread([each[n] for each in found]) for n in range(len(METRICS))]
        rows.append(row)
    heads = ["decoder", *(f"{test} {metric}" for test in tests for metric in METRICS)]
    print(tell_table(heads, rows))
    sources = [source for source, _ in next(iter(tests.values()))[:LINES]]
    ratios = [
        [precision, f"{compare_times(options, models, sources, precision):.2f}"]
        for precision in ("fp32", "int8")
    ]
    print(tell_table(["precision", "processor time, SSRU to attention"], ratios))
    print(f"{tell_machine()}, {options.steps} updates, seeds {options.seeds}")


def train(options: argparse.Namespace, decoder: str, seed: int) -> Path:
    """Train a model, or go on with one that was stopped, and return its folder."""
    folder: Path = options.out / f"{decoder}-{seed}"
    if (folder / "run").is_dir():  # one that has ended says so
        command = [sys.executable, "-m", "glassformer", "train", "--resume", str(folder)]
    else:
        given = {"--decoder": decoder, "--seed": seed, "--steps": options.steps, "--out": folder}
        given |= {"--source-lang": options.source_lang, "--target-lang": options.target_lang}
        words = [str(word) for pair in given.items() for word in pair]
        more = shlex.split(options.settings)
        command = [sys.executable, "-m", "glassformer", "train", str(options.data), *words, *more]
    subprocess.run(command, check=True)
    return folder


def read_test(options: argparse.Namespace, test: str) -> list[tuple[str, str]]:
    langs = options.source_lang, options.target_lang
    return list(find_data([options.data / test], *langs).train)


def score(
    folder: Path, pairs: Sequence[tuple[str, str]], target_lang: str, precision: str = "fp32"
) -> list[float]:
    """Return the scores of a model's translations, one for each metric."""
    translator = Translator.load(folder, precision=precision, threads=1)
    translations = translator.translate([source for source, _ in pairs], split=False)
    references = [[target for _, target in pairs]]
    found = score_quality(translations, references, target_lang=target_lang, metrics=METRICS)
    return [found[name].value for name in METRICS]


def compare_times(
    options: argparse.Namespace,
    models: dict[str, list[Path]],
    sources: list[str],
    precision: str,
) -> float:
    """Return the processor time of SSRUs as a share of that of attention, the median of turns.

    Both write as many tokens as their own translations have.
    """
    both = [
        Translator.load(models[decoder][0], precision=precision, threads=1) for decoder in DECODERS
    ]
    ratios = []
    for _ in range(options.turns):
        spent = []
        for translator in both:
            began = time.process_time()
            translator.translate(sources, decode={"search": "greedy"}, split=False)
            spent.append(time.process_time() - began)
        ratios.append(spent[1] / spent[0])
    return median(ratios)

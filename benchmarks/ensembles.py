"""Measure what ensembles and minimum Bayes risk gain, and their cost in processor time.

    python -m benchmarks ensembles RUNS/seed-1 RUNS/seed-2 RUNS/seed-3 --data DIR \
        --test test2016 --test test2017

The models have one vocabulary, as seeds of one recipe have. Each test of DIR is translated whole
line by whole line in fp32, with one thread: by each model's own search, by ensembles of the first
two, three ... of them, and by the first with minimum Bayes risk (of --mbr samples at temperature
0.7, or hypotheses of a beam). What was done is kept in --out. Prints a Markdown table; of the
models alone it has the mean and the standard deviation.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from glassformer.data.corpus import find_data
from glassformer.evaluate.quality import score_quality
from glassformer.model.files.directory import write_text
from glassformer.translator import Translator

from .many_to_one import tell_spread
from .tables import tell_machine, tell_table

METRICS = ("BLEU", "chrF++")
CPU = "CPU-seconds"
Found = list[dict[str, dict[str, float]]]  # of each run the scores of each test


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("models", type=Path, nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--test", action="append", required=True)
    parser.add_argument("--mbr", type=int, default=16)
    parser.add_argument("--out", type=Path, required=True)


def main(options: argparse.Namespace) -> None:
    found: dict[str, Found] = {}
    for way, models, decode in list_ways(options):
        found.setdefault(way, []).append(measure(options, way, models, decode))
    print(render(options, found))


def list_ways(
    options: argparse.Namespace,
) -> Iterator[tuple[str, Sequence[Path], Mapping[str, Any]]]:
    """Yield what is compared: its name, the models, and what their search is changed by."""
    models: Sequence[Path] = options.models
    drawn = {"mbr": options.mbr, "search": "sample", "temperature": 0.7}
    best = {"mbr": options.mbr, "search": "beam"}
    yield from (("one model", [model], {}) for model in models)
    for count in range(2, len(models) + 1):
        yield f"an ensemble of {count}", models[:count], {}
    for utility in ("chrf", "bleu"):
        said = f"the first model, MBR by {utility},"
        yield f"{said} {options.mbr} samples", models[:1], {**drawn, "utility": utility}
        yield f"{said} the {options.mbr} best", models[:1], {**best, "utility": utility}


def measure(
    options: argparse.Namespace, way: str, models: Sequence[Path], decode: Mapping[str, Any]
) -> dict[str, dict[str, float]]:
    """Return the scores of each test, and the processor time of its translation."""
    name = "".join(c if c.isalnum() else "-" for c in f"{way} {' '.join(m.name for m in models)}")
    kept = options.out / f"{name}.json"
    if not kept.is_file():
        translator = Translator.load(
            models if len(models) > 1 else models[0], precision="fp32", threads=1
        )
        data = translator.config.data
        translator.translate("Once, so that everything is loaded.", decode=decode)
        found = {}
        for test in options.test:
            pairs = list(find_data([options.data / test], data.source_lang, data.target_lang).train)
            began = time.process_time()
            made = translator.translate(
                [a for a, _ in pairs], decode=decode, split=False, again=False, seed=1
            )
            spent = time.process_time() - began
            quality = score_quality(
                made, [[b for _, b in pairs]], target_lang=data.target_lang, metrics=METRICS
            )
            found[test] = {CPU: spent, **{name: quality[name].value for name in METRICS}}
        options.out.mkdir(parents=True, exist_ok=True)
        write_text(kept, json.dumps(found) + "\n")
    return dict(json.loads(kept.read_text(encoding="utf-8")))


def render(options: argparse.Namespace, found: Mapping[str, Found]) -> str:
    """Return a table: a row for each way, three columns for each test."""
    columns = [(test, name) for test in options.test for name in (*METRICS, CPU)]
    rows = [
        [way, *(tell_spread([run[test][name] for run in runs]) for test, name in columns)]
        for way, runs in found.items()
    ]
    heads = ["", *(f"{test} {name}" for test, name in columns)]
    facts = f"torch {torch.__version__}, fp32, one thread, {len(options.models)} models"
    return f"{tell_table(heads, rows)}\n{tell_machine()}, {facts}"

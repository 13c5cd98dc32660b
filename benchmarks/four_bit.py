"""Measure what a page of 4 bits costs: its size, BLEU and chrF++ beside those of int8.

    python -m benchmarks four-bit MODEL SOURCE REFERENCE --count 500

Each row translates with the weights that the page has, greedily, with all sums in fp32. The app
must be built, as for `glassformer page`. docs/bridge.md has the table of a browser's student.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save

from glassformer.data.files import read_lines
from glassformer.evaluate.quality import score_quality
from glassformer.extensions.publish.int8 import quantize_file
from glassformer.extensions.site import four_bits
from glassformer.extensions.site.living import build_living_page
from glassformer.foundation.disk import write_bytes
from glassformer.model.files.directory import WEIGHTS, Tokenizers, locate
from glassformer.model.files.weights_file import ALIASES, NOTES, WeightsFile
from glassformer.translator import Translator

from .tables import tell_table

METRICS = ("BLEU", "chrF++")
ROWS = {  # bits, and how many tokens have numbers from -7 to 7
    "int8": (8, four_bits.FREQUENT),
    "4 bits (`--bits 4`)": (4, four_bits.FREQUENT),
    "the same, rare tokens from -7 to 7 too": (4, sys.maxsize),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--count", type=int, help="the first lines only")


def main(options: argparse.Namespace) -> None:
    folder = locate(options.model)
    files = options.source, options.reference
    sources, references = (list(read_lines(path))[: options.count] for path in files)
    if len(sources) != len(references):
        raise ValueError(f"{files[1]} has {len(references):,} lines, {files[0]} {len(sources):,}")
    rows = []
    for name, (bits, frequent) in ROWS.items():
        with patch.object(four_bits, "FREQUENT", frequent):
            size = len(build_living_page([folder], bits=bits).encode()) / 1e6
            with write_model(folder, bits) as shortened:
                scores = score(shortened, sources, references)
        rows.append([name, *(f"{value:.2f}" for value in scores), f"{size:.1f} MB"])
    print(tell_table(["weights", *METRICS, "page"], rows))


@contextmanager
def write_model(folder: Path, bits: int) -> Iterator[Path]:
    """Yield a copy of a model whose weights are those that a page of so many bits computes with."""
    file, tokenizers = WeightsFile(folder / WEIGHTS), Tokenizers.load(folder)
    tensors, aliases = quantize_file(file)
    if bits == 4:
        tensors = lengthen(four_bits.shorten(tensors, tokenizers))
    notes = {NOTES: json.dumps({**file.notes, ALIASES: aliases})}
    with TemporaryDirectory() as scratch:
        copy = Path(scratch) / folder.name
        shutil.copytree(folder, copy, ignore=shutil.ignore_patterns(WEIGHTS, "run"))
        write_bytes(copy / WEIGHTS, save(tensors, notes))
        yield copy


def lengthen(stored: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return int8 matrices of those of 4 bits, as `lengthen` of `web/src/data/tensor.ts` does."""
    results = dict[str, NDArray[Any]]()
    for name, each in stored.items():
        factors = stored.get(f"{four_bits.FACTORS}{name}")
        if factors is not None:
            wide = np.repeat(factors, four_bits.GROUP, axis=1)[:, : each.shape[1]]
            each = np.floor(each * wide.astype(np.float64) / four_bits.QUARTERS + 0.5)
            results[name] = each.astype(np.int8)
        elif not name.startswith(four_bits.FACTORS):
            results[name] = each
    return results


def score(folder: Path, sources: list[str], references: list[str]) -> list[float]:
    """Return the scores of a model's greedy translations in fp32, one for each metric."""
    translator = Translator.load(folder, device="cpu", precision="fp32")
    written = translator.translate(sources, decode={"search": "greedy"}, split=False)
    target_lang = translator.config.data.target_lang
    found = score_quality(written, [references], target_lang=target_lang, metrics=METRICS)
    return [found[name].value for name in METRICS]

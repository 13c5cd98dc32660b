"""Measure what a precision costs in BLEU, and how many translations change in other batches.

    python -m benchmarks precision MODEL --source test.en --reference test.de

A line for each precision and search, as Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import sacrebleu

from glassformer.config import EOS, Decode
from glassformer.data.files import read_lines
from glassformer.translator import Translator

from .tables import tell_table

SEARCHES = {"greedy": Decode(search="greedy"), "beam 5": Decode(beam=5)}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)


def main(options: argparse.Namespace) -> None:
    sources, references = (list(read_lines(path)) for path in (options.source, options.reference))
    rows = []
    for precision in ("fp32", "int8"):
        translator = Translator.load(options.model, device="cpu", precision=precision)
        for name, decode in SEARCHES.items():
            bleu, changed = examine(translator, sources, references, decode)
            rows.append([precision, name, f"{bleu:.2f}", f"{changed} of {len(sources)}"])
    heads = ["precision", "search", "BLEU", "other tokens when alone"]
    print(tell_table(heads, rows, texts=2))


def examine(
    translator: Translator, sources: list[str], references: list[str], decode: Decode
) -> tuple[float, int]:
    tokens, engine = translator.tokenizers, translator.weights.get_engine(translator.precision)
    ids = [[*tokens.source.encode(text), EOS] for text in sources]
    together = [found[0].tokens for found in engine.search(ids, decode, workers=1)]
    alone = [engine.search([row], decode, workers=1)[0][0].tokens for row in ids]
    text = [tokens.target.decode(row) for row in together]
    changed = sum(one != other for one, other in zip(together, alone, strict=True))
    return sacrebleu.corpus_bleu(text, [references]).score, changed

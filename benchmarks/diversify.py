"""Add to a corpus the translations of it that models of both directions make.

    python -m benchmarks diversify DIR en de --forward MODEL [MODEL ...] \\
        --backward MODEL [MODEL ...] --out MORE

DIR has train.en and train.de. MORE gets the pairs of DIR; each source with what a model of
--forward says; and what a model of --backward makes of each target, with that target (Nguyen et
al. 2020, "Data Diversification"). No pair is there twice. All other files of the two languages in
DIR are copied.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path

from glassformer.config import Decode
from glassformer.data.files import read_lines
from glassformer.model.files.directory import write_text
from glassformer.translator import Translator


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("data", type=Path)
    parser.add_argument("source_lang")
    parser.add_argument("target_lang")
    parser.add_argument("--forward", nargs="*", type=Path, default=[])
    parser.add_argument("--backward", nargs="*", type=Path, default=[])
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True)


def main(options: argparse.Namespace) -> None:
    langs = options.source_lang, options.target_lang
    sources, targets = (list(read_lines(options.data / f"train.{lang}")) for lang in langs)
    decode = Decode(beam=options.beam, alpha=1.0, length_penalty="power")
    pairs = diversify(sources, targets, options.forward, options.backward, decode)
    kept = list(dict.fromkeys(pairs))
    options.out.mkdir(parents=True, exist_ok=True)
    for lang, side in zip(langs, zip(*kept, strict=True), strict=True):
        for path in options.data.glob(f"*.{lang}"):
            shutil.copy(path, options.out)
        write_text(options.out / f"train.{lang}", "".join(f"{line}\n" for line in side))
    print(f"{len(sources):,} pairs became {len(kept):,}")


def diversify(
    sources: list[str],
    targets: list[str],
    forward: Sequence[Path | str],
    backward: Sequence[Path | str],
    decode: Decode,
) -> list[tuple[str, str]]:
    """Return the pairs, and after them those that models of both directions make of each side."""
    pairs = list(zip(sources, targets, strict=True))
    for model in forward:
        pairs += zip(sources, say(model, sources, decode), strict=True)
    for model in backward:
        pairs += zip(say(model, targets, decode), targets, strict=True)
    return pairs


def say(model: Path | str, lines: list[str], decode: Decode) -> list[str]:
    """Translate the lines with a model, print how many, and return the translations."""
    found = Translator.load(model).translate(lines, decode=decode)
    print(f"{model}: {len(found):,} translations")
    return found

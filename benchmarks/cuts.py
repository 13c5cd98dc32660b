"""Cut one source word at a time, and count how often the translation changes.

Each word of three letters or more is cut on its own: no layer and head of the decoder may read it.
Words are ranked by the attention that they lose, to see whether it tells what counts. Sentences are
those of the demo's test set, or lines of a file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from glassformer.extensions.demo.corpus import read_corpus
from glassformer.see import compare_traces
from glassformer.translator import Translator

from .tables import tell_table

SHORTEST = 3  # letters of a word that is cut
SHARES = (0.2, 0.3, 0.4, 1.01)  # the ends of ranges of attention


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", default="demo")
    parser.add_argument("--source", type=Path, help="a file with a sentence on each line")
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7)


def main(options: argparse.Namespace) -> None:
    if options.source:
        lines = options.source.read_text(encoding="utf-8").splitlines()
    else:
        lines = [*read_corpus().questions["test"]]
    lines = Random(options.seed).sample(lines, min(options.sentences, len(lines)))
    translator = Translator.load(options.model)
    cuts = [cut for line in lines for cut in cut_each(translator, line)]
    changed = sum(cut.is_changed for cut in cuts)
    print(f"{len(lines)} sentences, {len(cuts)} cuts: {changed} changed the translation")
    rows, begin = [], 0.0
    for end in SHARES:
        found = [cut for cut in cuts if begin <= cut.share < end]
        if found:
            share = np.mean([cut.is_changed for cut in found])
            before, after = np.median([(cut.before, cut.after) for cut in found], 0)
            name = f"{begin:.0%} to {min(end, 1):.0%}"
            rows.append([name, str(len(found)), f"{share:.0%}", f"{before:.0%} -> {after:.0%}"])
        begin = end
    print(tell_table(["attention to the word", "cuts", "changed", "its reader, median"], rows))


class Cut(NamedTuple):
    """The result of one cut; `share`, `before` and `after` are those of its reading."""

    is_changed: bool
    share: float
    before: float
    after: float


def cut_each(translator: Translator, line: str) -> Iterator[Cut]:
    """Yield the effect of cutting each different word of a line."""
    for word in dict.fromkeys(word.strip(".,!?") for word in line.split()):
        if len(word) < SHORTEST:
            continue
        cut = {"do": "cut", "word": word}
        effect = compare_traces(translator, line, [cut], level="attention")
        (reading,) = effect.readings
        is_changed = effect.before.translation != effect.after.translation
        yield Cut(is_changed, reading.share, reading.before, reading.after)

"""Cut one source word at a time, and count how often the translation changes.

Each word of three letters or more is cut on its own: no layer and head of the decoder may read it.
Words are ranked by the attention that they lose, to see whether it tells what counts. Sentences are
those of the demo's test set, or lines of a file.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random

import numpy as np

from glassformer.data.demo import read_corpus
from glassformer.see import EditEffect, compare_traces
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
    effects = [effect for line in lines for effect in cut_each(translator, line)]
    changed = sum(map(is_changed, effects))
    print(f"{len(lines)} sentences, {len(effects)} cuts: {changed} changed the translation")
    readings = [effect.readings[0] for effect in effects]
    rows, begin = [], 0.0
    for end in SHARES:
        found = [
            (is_changed(effect), each.before, each.after)
            for effect, each in zip(effects, readings, strict=True)
            if begin <= each.share < end
        ]
        if found:
            before, after = np.median([each[1:] for each in found], 0)
            share = np.mean([one for one, _, _ in found])
            name = f"{begin:.0%} to {min(end, 1):.0%}"
            rows.append((name, str(len(found)), f"{share:.0%}", f"{before:.0%} -> {after:.0%}"))
        begin = end
    print(tell_table(["attention to the word", "cuts", "changed", "its reader, median"], rows))


def is_changed(effect: EditEffect) -> bool:
    return effect.before.translation != effect.after.translation


def cut_each(translator: Translator, line: str) -> list[EditEffect]:
    """Return the effect of cutting each different word of a line."""
    words = dict.fromkeys(word.strip(".,!?") for word in line.split())
    return [
        compare_traces(translator, line, [{"do": "cut", "word": word}], level="attention")
        for word in words
        if len(word) >= SHORTEST
    ]

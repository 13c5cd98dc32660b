"""Measure the search for dropped words: what it changes, and what it costs.

    python -m benchmarks dropped MODEL SOURCE REFERENCE

Both sides translate the same lines in turns, as `glassformer translate` does; one without the check
for words that a translation drops. `--show` prints the lines that differ.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from glassformer.data.files import read_lines
from glassformer.evaluate.quality import score_quality
from glassformer.extensions.coverage.dropped import CoverageRule
from glassformer.translator import Translator

from .tables import tell_table

METRICS = ("BLEU", "chrF++")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--show", action="store_true", help="print the lines that differ")


def main(options: argparse.Namespace) -> None:
    sources, references = (list(read_lines(path)) for path in (options.source, options.reference))
    translator = Translator.load(options.model, device="cpu")
    rule = translator.checker.dropped.rule
    if rule is None:
        raise SystemExit(f"{options.model} has no rule of dropped words: glassformer calibrate")
    texts, seconds = dict[bool, list[str]](), dict[bool, list[float]]()
    for _ in range(options.rounds):
        for with_check in (False, True):
            began = time.process_time()
            texts[with_check] = run(translator, sources, rule if with_check else None)
            seconds.setdefault(with_check, []).append(time.process_time() - began)
    changed = [n for n, pair in enumerate(zip(*texts.values(), strict=True)) if len({*pair}) > 1]
    lang = translator.config.data.target_lang
    rows = []
    for name, places in (("all", [*range(len(sources))]), ("those that differ", changed)):
        scores = [
            score(lang, [text[n] for n in places], [references[n] for n in places])
            for text in texts.values()
        ]
        rows.append([name, str(len(places)), *scores])
    print(tell_table(["lines", "number", "without the check", "with it"], rows, texts=1))
    ratio = median(b / a for a, b in zip(seconds[False], seconds[True], strict=True))
    print(f"\nprocessor time: {ratio:.2f} times that without the check")
    for n in changed if options.show else ():
        print(f"\n{sources[n]}\n- {texts[False][n]}\n+ {texts[True][n]}")


def run(translator: Translator, sources: list[str], rule: CoverageRule | None) -> list[str]:
    """Return the translations by a rule of dropped words, or without the check."""
    translator.checker.dropped.rule = rule
    return translator.translate(sources)


def score(lang: str | None, texts: Sequence[str], references: Sequence[str]) -> str:
    if not texts:
        return ""
    quality = score_quality(texts, [references], target_lang=lang, metrics=METRICS)
    return ", ".join(f"{quality[name].value:.2f}" for name in METRICS)

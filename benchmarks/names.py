"""Names that a training text had seldom: how many of them a translation loses.

    python -m benchmarks names everyday-en-de "I saw {} yesterday." "Do you know {}?"

Each name that the model's words.txt lists with a capital is put into each frame, and is lost if the
translation does not have it. This is counted with the list, and without: then only frequent first
names and words that training never had are kept as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from glassformer.model.files.directory import locate
from glassformer.model.files.known_words import read_known_names
from glassformer.translator import Translator

FRAMES = [
    "I saw {} yesterday.",
    "Do you know {}?",
    "{} is very tired today.",
    "She wrote a letter to {}.",
]


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path)
    parser.add_argument("frames", nargs="*", default=FRAMES)


def list_lost(
    translator: Translator, names: Sequence[str], frames: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the names that are lost, each with the translation that lacks it."""
    asked = [(name, frame.format(name)) for name in names for frame in frames]
    translations = translator.translate([text for _, text in asked])
    pairs = zip(asked, translations, strict=True)
    return [(name, translation) for (name, _), translation in pairs if name not in translation]


def main(options: argparse.Namespace) -> None:
    names = sorted(read_known_names(locate(options.model)))
    tries = len(names) * len(options.frames)
    for kind in ("with the list", "without"):
        translator = Translator.load(options.model, device="cpu")
        if kind == "without":
            translator.reader.adapter.known_names = ()
        lost = list_lost(translator, names, options.frames)
        print(f"{kind}: {len(lost):,} of {tries:,} lost", *lost[:5], sep="\n  ")

"""The command `glassformer classify`: the class of a text, and the probability of each."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from .options import AS_JSON, DEVICE, EXACT, MODEL, arg
from .terminal import read_typed, to_json


def classify(
    model: Path = MODEL,
    text: str | None = arg(
        "TEXT", "A sentence; if not given, each line of the standard input is one."
    ),
    device: str = DEVICE,
    precision: str = EXACT,
    as_json: bool = AS_JSON,
) -> None:
    """Name the class of a sentence with an encoder that was trained on labelled ones.

    A line out for each in: the label, and the probability of each label, the largest first.
    `train` learns from a .tsv of LABEL, a tab, SENTENCE; `evaluate MODEL FILE.tsv` says how many of
    such a file it gets right.

    \b
    glassformer train labelled.tsv --network encoder --init-from my-encoder --out my-classifier
    glassformer classify my-classifier "Where is the cat?"
    """
    from ..language_model import LanguageModel

    reader = LanguageModel.load(model, device=device, precision=precision)
    lines = [*read_typed(text)]
    for line, found in zip(lines, reader.classify(lines), strict=True):
        if as_json:
            print(to_json({"text": line, **asdict(found)}))
            continue
        ranked = sorted(found.probabilities.items(), key=lambda pair: -pair[1])
        print("\t".join([found.label, *(f"{label} {value:.4f}" for label, value in ranked)]))

"""The command `glassformer augment`: pairs made from text in one language, to train on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Context

from glassformer.cli import decoding
from glassformer.cli.options import (
    AS_JSON,
    DEVICE,
    ENSEMBLE,
    MACHINE,
    MODEL,
    PRECISION,
    SEED,
    THREADS,
    TO,
    arg,
    flag,
    opt,
)
from glassformer.cli.terminal import count_if_file, show_progress, to_json
from glassformer.cli.verb import takes
from glassformer.foundation.plurals import tell_count

if TYPE_CHECKING:
    from ..augmentation import Augmentation


@takes("decode")
def augment(
    context: Context,
    model: Path = MODEL,
    text: Path = arg("FILE", "Text in the model's source language, a sentence a line.", ...),
    out: Path = opt("FILE", "Where the pairs go: a .tsv.", default=...),
    kind: str = opt(
        "back|forward",
        "back: MODEL's translations become the sources of the new pairs; forward: they become the "
        "targets, for self-training and distillation.",
        default="back",
    ),
    copies: int = opt(
        "N", "Different translations of each line: samples, or the N best.", default=1, min=1
    ),
    min_confidence: float = opt(
        "X", "Leave out pairs below this confidence, 0 to 1.", default=0.0, min=0, max=1
    ),
    keep_doubtful: bool = flag(
        "Keep pairs whose translation looks wrong: a loop, a copy, far too short or long.",
        "--keep-doubtful",
    ),
    to: str | None = TO,
    ensemble: list[Path] | None = ENSEMBLE,
    seed: int | None = SEED,
    device: str = DEVICE,
    precision: str = PRECISION,
    threads: int | None = THREADS,
    shard_lines: int = opt(
        "N", "Lines in a shard; a killed run loses one shard at most.", default=1000, panel=MACHINE
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Make sentence pairs from text in one language: back-translations or forward translations.

    Give the same command again after a kill, or in a second terminal: it continues with the
    missing lines. `train --data made.tsv,tag=bt` mixes the pairs with others.

    \b
    glassformer augment de-en news.de --out made.tsv --search sample
    glassformer augment teacher train.en --out distilled.tsv --kind forward --beam 5
    """
    from ..augmentation import make_pairs

    if not text.is_file():
        raise ValueError(f"{text}: no such file")
    with show_progress("translating", count_if_file(text)) as tell:
        pairs = make_pairs(describe_job(context.params), out, threads=threads, progress=tell)
    if as_json:
        print(to_json(pairs.__dict__))
        return
    were = "was" if pairs.found == 1 else "were"
    again = f"; {tell_count(pairs.found, 'shard')} {were} there already" if pairs.found else ""
    print(f"{out}: {tell_count(pairs.pairs, 'pair')} of {tell_count(pairs.lines, 'line')}{again}")


def describe_job(options: Mapping[str, Any]) -> Augmentation:
    """Return the job that the options describe."""
    from glassformer.model.files.directory import name_pair, open_model, split_pair

    from ..augmentation import Augmentation

    models = [
        name_pair(each, options["to"]) for each in (options["model"], *(options["ensemble"] or ()))
    ]
    config = open_model(split_pair(options["model"])[0])[0]
    n_best = options["copies"] if (options["search"] or config.decode.search) == "beam" else None
    decode = decoding.choose_search(config, {**options, "n_best": n_best})
    same = ("kind", "copies", "min_confidence", "keep_doubtful", "precision", "device")
    return Augmentation(
        models=[str(each) for each in models],
        source=str(options["text"].resolve()),
        decode=decode.model_dump(),
        seed=options["seed"] or 0,
        shard_lines=options["shard_lines"],
        **{name: options[name] for name in same},
    )

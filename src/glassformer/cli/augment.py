"""The command `glassformer augment`: pairs made from text of one language, to train on."""

from __future__ import annotations

from pathlib import Path

from typer import Context

from . import decoding
from .options import (
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
from .terminal import count_if_file, show_progress, to_json
from .verb import takes


@takes("decode")
def augment(
    context: Context,
    model: Path = MODEL,
    text: Path = arg("FILE", "Text of the model's source language, a sentence a line.", ...),
    out: Path = opt("FILE", "Where the pairs go: a .tsv.", default=...),
    kind: str = opt(
        "back|forward",
        "back: MODEL translates to the source language of the model to be trained; forward: from "
        "it, for self-training and distillation.",
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
        "N", "Lines in a shard: what a killed run loses at most.", default=1000, panel=MACHINE
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Make pairs of text in one language: back-translations, or translations to learn from.

    Give the same command again after a kill, or in a second terminal: it goes on with what is
    missing. `train --data made.tsv,tag=bt` mixes the pairs with others.

    \b
    glassformer augment de-en news.de --out made.tsv --search sample
    glassformer augment teacher train.en --out distilled.tsv --kind forward --beam 5
    """
    from ..augmentation import Augmentation, make_pairs
    from ..directory import name_pair, open_model, split_pair

    if not text.is_file():
        raise ValueError(f"{text}: no such file")
    config = open_model(split_pair(model)[0])[0]
    given = {**context.params, "n_best": copies}
    if (context.params.get("search") or config.decode.search) != "beam":
        given["n_best"] = None
    decode = decoding.choose_search(config, given)
    job = Augmentation(
        models=[str(name_pair(each, to)) for each in (model, *(ensemble or ()))],
        source=str(text.resolve()),
        kind=kind,
        decode=decode.model_dump(),
        copies=copies,
        min_confidence=min_confidence,
        keep_doubtful=keep_doubtful,
        seed=seed or 0,
        precision=precision,
        device=device,
        shard_lines=shard_lines,
    )
    with show_progress("translating", count_if_file(text)) as tell:
        made = make_pairs(job, out, threads=threads, progress=tell)
    if as_json:
        print(to_json(made.__dict__))
        return
    again = f"; {made.found:,} shards were there already" if made.found else ""
    print(f"{out}: {made.pairs:,} pairs of {made.lines:,} lines{again}")

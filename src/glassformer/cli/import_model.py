"""The command `glassformer import`: a model made of another program's checkpoint."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from ..data.files import read_lines
from .options import AS_JSON, arg, opt
from .terminal import to_json


def import_(
    folder: Path = arg(
        "FOLDER", "A MarianMT checkpoint of Hugging Face, such as OPUS-MT.", default=...
    ),
    out: Path = opt("MODEL", "Where the model goes: a new folder.", default=...),
    grid: str = opt(
        "transformers|marian",
        "The positions of Hugging Face's transformers, or those the model was trained with.",
        default="transformers",
    ),
    source: Path | None = opt(
        "FILE", "Text to compare the two grids on, its first 50 lines; random tokens if not given."
    ),
    as_json: bool = AS_JSON,
) -> None:
    """Make a model of another's checkpoint: to translate with, to look into, to train further.

    Says by how much log-probabilities depend on the choice of --grid.

    \b
    glassformer import opus-mt-en-de --out en-de --source test.en
    """
    texts = None if source is None else list(islice(read_lines(source), 50))

    from dataclasses import asdict

    from ..bridge.marian import import_marian

    found = import_marian(folder, out, grid=grid, texts=texts)
    print(to_json(asdict(found)) if as_json else f"{out}: {found}")

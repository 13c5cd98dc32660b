"""The models that can be named: those of the package, and those that were fetched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from glassformer.cli.terminal import to_json
from glassformer.model.files.directory import SHIPPED, WEIGHTS, find_models
from glassformer.model.files.known_words import read_known_words

from .index import ListedModel, read_languages

TOY = 5_000  # words of the training text: a model of fewer knows no language


class InstalledModel(NamedTuple):
    """A model that can be named."""

    name: str
    languages: str
    bytes: int
    words: int | None  # of the training text's source side; None: they are not listed
    folder: str

    @property
    def is_toy(self) -> bool:
        return self.words is not None and self.words < TOY


def list_installed() -> list[InstalledModel]:
    """Return the models of the package, and then those that were fetched, by name."""
    return [*_list(SHIPPED), *_list(find_models())]


def _list(home: Path) -> Iterator[InstalledModel]:
    for weights in sorted(home.glob(f"*/{WEIGHTS}")):
        folder = weights.parent
        known = read_known_words(folder)
        size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
        words = None if known is None else len(known)
        yield InstalledModel(folder.name, read_languages(folder), size, words, str(folder))


def tell_models(models: Sequence[InstalledModel | ListedModel], as_json: bool = False) -> str:
    """Return a table of models, one a line; or a list as JSON."""
    if as_json:
        return to_json([each._asdict() for each in models])
    if not models:
        return "no models"
    rows = [
        (each.name, each.languages or "-", f"{each.bytes / 1e6:.1f} MB", _tell_words(each))
        for each in models
    ]
    first, second, third = (max(len(row[n]) for row in rows) for n in range(3))
    return "\n".join(
        f"{name:{first}}  {languages:{second}}  {size:>{third}}  {words}".rstrip()
        for name, languages, size, words in rows
    )


def _tell_words(model: InstalledModel | ListedModel) -> str:
    if isinstance(model, ListedModel) or model.words is None:
        return ""
    return f"{model.words:,} words" + (": a toy" if model.is_toy else "")

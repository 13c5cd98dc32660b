"""What `catalogue.toml` says of a tensor, found by its name in a recording. Imports no torch."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Entry(NamedTuple):
    """One window of the network: see the head of the file."""

    symbol: str
    shape: list[str]
    section: str
    source: str
    en: str
    zh: str


@cache
def read_catalogue() -> dict[str, Entry]:
    """The windows of the network."""
    return _read("glassformer", "catalogue.toml")


@cache
def read_derived() -> dict[str, Entry]:
    """What follows from them, by the last part of its name."""
    return _read(__package__, "derived.toml")


def _read(package: str, file: str) -> dict[str, Entry]:
    text = (files(package) / file).read_text(encoding="utf-8")
    return {name: Entry(**entry) for name, entry in tomllib.loads(text).items()}


def look_up(name: str) -> Entry | None:
    """The entry of `decoder.2.self_attention.query`; None if it is neither window nor derived."""
    entry = read_catalogue().get(re.sub(r"\.\d+\.", ".*.", name))
    return entry or read_derived().get(name.rpartition(".")[2])

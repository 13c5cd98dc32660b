"""Entries of the catalogues of windows, by a tensor's name in a recording. Imports no torch."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ..foundation.extensions import need_addition

MODULE = "<module>"  # in a symbol or a text: the class of the module that made the window
PAPER = "LayerNorm"  # that class in the paper

# The files of each network's windows and of what is derived from them; extensions add others.
FILES = {
    "transformer": ("catalogue.toml", "derived.toml"),
    "decoder": ("catalogue_decoder.toml", "derived_decoder.toml"),
    "encoder": ("catalogue_encoder.toml", "derived_encoder.toml"),
}
# The files of a language model say what is not as in a Transformer; it has these windows of it.
WINDOWS_OF = {
    "decoder": ("target_embedding.", "decoder.", "last", "logits"),
    "encoder": ("source_embedding.", "encoder."),
}

Equations = str | Mapping[str, str]  # one, or one for each value of some settings


class Entry(NamedTuple):
    """The catalogue's entry for one window; `catalogue.toml` describes the fields at its top."""

    symbol: str
    shape: list[str]
    section: str
    source: str
    en: str = ""
    zh: str = ""
    equation: Equations = ""

    def choose_equation(self, values: Mapping[str, object]) -> str:
        """Return the equation that holds with these settings, or "" if there is none."""
        if isinstance(self.equation, str):
            return self.equation
        for condition, equation in self.equation.items():
            pairs = (each.split("=") for each in condition.split())
            if all(str(values.get(key)) == value for key, value in pairs):
                return equation
        return ""

    def fill(self, module: str) -> Entry:
        """Return the entry with the name of the class that made the window, and what that does."""
        words = read_modules().get(module, {})
        en, zh = self.en, self.zh
        if MODULE in en and words.keys() >= {"en", "zh"}:
            en, zh = f"{en} {words['en']}", zh + words["zh"]
        symbol, en, zh = (each.replace(MODULE, module) for each in (self.symbol, en, zh))
        return self._replace(symbol=symbol, en=en, zh=zh)


@cache
def read_catalogue(module: str = PAPER, network: str = "transformer") -> dict[str, Entry]:
    """Return the entry of each window, completed with the fields of its kind.

    `module` is the class that made the windows whose modules have none of their own.
    """
    entries = _read_windows(network)
    kinds = {name: entry for name, entry in entries.items() if "en" not in entry}
    return {
        name: Entry(**{**kinds.get(_find_kind(name, kinds), {}), **entry}).fill(module)
        for name, entry in entries.items()
        if name not in kinds
    }


@cache
def read_derived(network: str = "transformer") -> dict[str, Entry]:
    """Return the entries of the derived tensors, by kind."""
    return {name: Entry(**entry) for name, entry in _extend(network, 1).items()}


@cache
def read_modules(network: str = "transformer") -> dict[str, dict[str, str]]:
    """Return the equations of modules that have no windows, and words on them, by class."""
    modules: dict[str, dict[str, str]] = _extend(network, 0)["modules"]
    return modules


def _read_windows(network: str) -> dict[str, dict[str, Any]]:
    """Return the entries and the kinds of a network's windows, without those that it has not."""
    beginnings = WINDOWS_OF.get(network)
    entries = _extend(network, 0)
    if beginnings is None:
        return entries
    own = _read(_find_files(network)[0])
    return {
        name: entry
        for name, entry in entries.items()
        if "en" not in entry
        or name in own
        or (name.startswith(beginnings) and not re.search(r"\.(cross_attention|ssru)", name))
    }


def _extend(network: str, number: int) -> dict[str, dict[str, Any]]:
    """Return what a network's file says; of a language model, on top of the Transformer's."""
    own = _read(_find_files(network)[number])
    if network not in WINDOWS_OF:
        return own
    paper = _read(_find_files("transformer")[number])
    return {name: {**paper.get(name, {}), **own.get(name, {})} for name in {**paper, **own}}


def _find_files(network: str) -> tuple[str, str]:
    """Return the two files of a network: names of files here, or paths of an extension's."""
    files: tuple[str, str] | None = FILES.get(network)
    return files or need_addition(f"catalogue.{network}", f"model.network={network}")


@cache
def _read(file: str) -> dict[str, dict[str, Any]]:
    return tomllib.loads((Path(__file__).parent / file).read_text(encoding="utf-8"))


@lru_cache(maxsize=1 << 12)
def look_up(name: str, module: str = "", network: str = "transformer") -> Entry | None:
    """Return the entry of a tensor such as `decoder.2.self_attention.query`.

    `module` is the class that made it, as in `Equation.module`.
    Returns None for a name that is neither a window nor derived.
    """
    entry = read_catalogue(module or PAPER, network).get(re.sub(r"\.\d+\.", ".*.", name))
    derived = read_derived(network)
    return entry or derived.get(_find_kind(name, derived))


def _find_kind(name: str, kinds: Mapping[str, Any]) -> str:
    """Return the key that equals `name`, or that matches it with * for its beginning; else ""."""
    return next((kind for kind in kinds if _is_of_kind(name, kind)), "")


def _is_of_kind(name: str, kind: str) -> bool:
    return name.endswith(kind[1:]) if kind.startswith("*") else name == kind

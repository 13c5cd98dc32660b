"""Extensions declare what they add, so that the core can use them without knowing them.

An extension is a package in `glassformer/extensions`. Its `__init__.py` imports nothing of its own
and may have two tables:

VERBS  verbs of the command line: name -> (panel of the help, the verb after which it stands, or ""
       for the panel's beginning, and the function that makes it)
ADDS   what the core asks for at one of its open points: point -> the function, class or value

Both name things as "module.name", counted from the extension: "cli.serve.serve".
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

PACKAGE = __name__.partition(".")[0]
FOLDER = os.path.join(os.path.dirname(os.path.dirname(__file__)), "extensions")


@cache
def list_extensions() -> tuple[str, ...]:
    """Return the names of the extensions that are there, in order of the alphabet."""
    if not os.path.isdir(FOLDER):
        return ()
    with os.scandir(FOLDER) as extensions:
        names = [each.name for each in extensions if each.is_dir() and each.name.isidentifier()]
    return tuple(sorted(name for name in names if os.path.exists(f"{FOLDER}/{name}/__init__.py")))


def read_tables(name: str) -> dict[str, Mapping[str, Any]]:
    """Return the table of this name of each extension that has one, by extension."""
    packages = {each: import_module(f"{PACKAGE}.extensions.{each}") for each in list_extensions()}
    return {each: getattr(package, name, {}) for each, package in packages.items()}


@cache
def list_additions() -> dict[str, str]:
    """Return where each addition is, by its point: "glassformer.extensions.X.module.name"."""
    return {
        point: f"{PACKAGE}.extensions.{extension}.{place}"
        for extension, table in read_tables("ADDS").items()
        for point, place in table.items()
    }


def find_addition(point: str) -> Any:
    """Return what an extension adds at a point of the core; None if none does."""
    place = list_additions().get(point)
    return None if place is None else load_place(place)


def need_addition(point: str, purpose: str) -> Any:
    """Return what an extension adds at a point. ValueError, naming the purpose, if none does."""
    addition = find_addition(point)
    if addition is None:
        raise ValueError(f"{purpose} needs an extension, for `{point}`, that is not installed here")
    return addition


def load_place(place: str) -> Any:
    """Return what has this dotted name, of a module and of something in it."""
    module, _, name = place.rpartition(".")
    return getattr(import_module(module), name)

"""Names of settings in other toolkits, and our name for each: the table is other_names.toml."""

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

TABLE = Path(__file__).with_name("other_names.toml")


class Ours(NamedTuple):
    """Our names for a name of another toolkit, and how they differ, in whole sentences."""

    names: tuple[str, ...]  # settings, options of the command line, or one value
    note: str


def find_name(theirs: str) -> Ours | None:
    """Return our settings or options for a name of another toolkit; None if it is unknown."""
    return _read_names().get(spell_name(theirs))


def find_value(setting: str, theirs: object) -> Ours | None:
    """Return our value of a setting for a value of another toolkit; None if it is unknown."""
    return _read_values().get((setting, spell_name(str(theirs))))


def spell_name(name: str) -> str:
    """Return a name as the table spells it: without leading "-", with "-" for "_"."""
    return name.strip().lstrip("-").replace("_", "-").casefold()


def suggest_names(names: tuple[str, ...] | list[str], note: str = "") -> str:
    """Return the question "did you mean ...?" with our names."""
    return f"did you mean {' or '.join(names)}?" + (f" {note}" if note else "")


@functools.cache
def _read_names() -> Mapping[str, Ours]:
    return {
        theirs: Ours(tuple(row["ours"]), row.get("note", ""))
        for row in _read_table()["name"]
        for theirs in row["theirs"].split()
    }


@functools.cache
def _read_values() -> Mapping[tuple[str, str], Ours]:
    return {
        (row["setting"], theirs): Ours((row["ours"],), row.get("note", ""))
        for row in _read_table()["value"]
        for theirs in row["theirs"].split()
    }


def _read_table() -> dict[str, Any]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))

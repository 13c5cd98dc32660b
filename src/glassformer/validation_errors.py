"""Messages for validation errors in settings or arguments, which say how to correct them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .settings.table import Settings

if TYPE_CHECKING:  # a model is opened without pydantic
    from pydantic import ValidationError


def explain_error(error: ValueError, settings: type[Settings]) -> str:
    """Return one sentence on the first bad key: what is wrong, and what would be right.

    An error that is not pydantic's is returned as it is.
    """
    from pydantic import ValidationError

    from .compatibility.other_names import find_value, suggest_names

    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    where = [str(part) for part in first["loc"]]
    if first["type"] == "extra_forbidden":
        return f"unknown setting {'.'.join(where)}; {_suggest_setting(where, settings)}"
    place, given = ".".join(where), first["input"]
    shown = f" (got {given!r})" if not isinstance(given, Mapping) else ""
    theirs = find_value(place, given) if first["type"] == "literal_error" else None
    hint = f"; {suggest_names(theirs.names, theirs.note)}" if theirs else ""
    said = f"{first['msg'].removeprefix('Value error, ')}{shown}{hint}"
    return f"{place}: {said}" if place else said


def _suggest_setting(where: list[str], settings: type[Settings]) -> str:
    """Return a question with the setting that was probably meant, or a list of known settings."""
    from .compatibility.other_names import find_name, suggest_names

    table, names = ".".join([*where[:-1], ""]), list_settings(settings)
    if elsewhere := find_settings(where[-1], names):
        return suggest_names(elsewhere[:1])
    if theirs := find_name(where[-1]):
        return suggest_names(theirs.names, theirs.note)
    import difflib

    below = (name.removeprefix(table) for name in names if name.startswith(table))
    fields = list(dict.fromkeys(name.split(".")[0] for name in below))
    if near := difflib.get_close_matches(where[-1], fields, 1, 0.5):
        return suggest_names([table + near[0]])
    return f"known here: {', '.join(fields)}"


def find_settings(name: str, settings: list[str]) -> list[str]:
    """Return the settings of this name in any table; "-" is as good as "_"."""
    from .compatibility.other_names import spell_name

    return [each for each in settings if spell_name(each.split(".")[-1]) == spell_name(name)]


def check_list(name: str, texts: object) -> None:
    """Raise ValueError for one text instead of a list: each character would become a text."""
    if isinstance(texts, (str, bytes)):
        raise ValueError(f"{name} is one text, where a list of texts is needed: write [text]")


def name_place(error: ValidationError) -> str:
    """Return where the first error is, and what it is, without the value, which may be huge."""
    first = error.errors(include_input=False, include_url=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), message)))


def list_settings(table: type[Settings], prefix: str = "") -> list[str]:
    """Return the names of all settings, as table.name."""
    names: list[str] = []
    for name, field in table.list_fields().items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, Settings):
            names += list_settings(kind, f"{prefix}{name}.")
        else:
            names.append(prefix + name)
    return names

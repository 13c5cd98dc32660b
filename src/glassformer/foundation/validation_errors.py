"""Messages for validation errors in settings or arguments, which say how to correct them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .settings.table import Settings

if TYPE_CHECKING:  # a model is opened without pydantic
    from pydantic import ValidationError

# What a value must be, by the kind of pydantic's error; the limits are of its context.
WANTED = {
    "greater_than_equal": "at least {ge:,.12g}",
    "greater_than": "more than {gt:,.12g}",
    "less_than_equal": "at most {le:,.12g}",
    "less_than": "less than {lt:,.12g}",
    "finite_number": "a finite number",
    "literal_error": "{expected}",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "a table"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    "string_type": "a text",
}


def _tell(first: Mapping[str, Any]) -> str:
    """Return what is wrong with the value of one of pydantic's errors."""
    if entry := WANTED.get(first["type"]):
        return f"must be {entry.format_map(first.get('ctx', {}))}"
    return str(first["msg"]).removeprefix("Value error, ")


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
    place, value = ".".join(where), first["input"]
    shown = f" (got {value!r})" if not isinstance(value, Mapping) else ""
    theirs = find_value(place, value) if first["type"] == "literal_error" else None
    hint = f"; {suggest_names(theirs.names, theirs.note)}" if theirs else ""
    message = f"{_tell(first)}{shown}{hint}"
    return f"{place}: {message}" if place else message


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
    if (count := error.error_count()) > 10_000:  # each would become a dict
        return f"{count:,} errors"
    first = error.errors(include_input=False, include_url=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), _tell(first))))


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

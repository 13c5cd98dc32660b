"""A mistake in the settings, said so that it can be mended."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from pydantic import BaseModel, ValidationError


def explain(error: ValidationError, settings: type[BaseModel]) -> str:
    """What is wrong with the first bad key, and what would be right, in one sentence."""
    first = error.errors()[0]
    where = [str(part) for part in first["loc"]]
    if first["type"] != "extra_forbidden":
        place = ".".join(where) + ": " if where else ""
        shown = f" (got {first['input']!r})" if not isinstance(first["input"], Mapping) else ""
        return f"{place}{first['msg'].removeprefix('Value error, ')}{shown}"
    table, names = ".".join([*where[:-1], ""]), _all_names(settings)
    below = (name.removeprefix(table) for name in names if name.startswith(table))
    fields = list(dict.fromkeys(name.split(".")[0] for name in below))
    near = difflib.get_close_matches(where[-1], fields, 1, 0.5)
    elsewhere = [name for name in names if name.split(".")[-1] == where[-1]]
    known = elsewhere[:1] or [table + name for name in near]
    hint = f"did you mean {known[0]}?" if known else f"known here: {', '.join(fields)}"
    return f"unknown setting {'.'.join(where)}; {hint}"


def name_place(error: ValidationError) -> str:
    """Where the first thing wrong is, and what it is, without the value: it may be huge."""
    first = error.errors(include_input=False, include_url=False)[0]
    message = first["msg"].removeprefix("Value error, ")
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), message)))


def _all_names(table: type[BaseModel], prefix: str = "") -> list[str]:
    """Every setting, as table.name."""
    names: list[str] = []
    for name, field in table.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            names += _all_names(kind, f"{prefix}{name}.")
        else:
            names.append(prefix + name)
    return names

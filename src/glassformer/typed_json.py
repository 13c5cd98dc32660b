"""JSON files whose content must have a certain shape, whoever wrote them and whatever befell them.

The shape is any type that pydantic knows: a model, a dataclass, `dict[str, str]`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from .disk import read_json
from .mistakes import name_place

T = TypeVar("T")


def read_typed(path: Path, kind: type[T]) -> T:
    """Return what a JSON file holds. Raise ValueError, in one sentence, if it is no `kind`."""
    return check_type(read_json(path), kind, str(path))


def check_type(value: object, kind: type[T], where: str) -> T:
    """Return `value` as a `kind`. Raise ValueError, in one sentence, that begins with `where`."""
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise ValueError(f"{where}: damaged, or of another version: {name_place(error)}") from None

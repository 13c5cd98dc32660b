"""Reading of JSON files whose content must be of a given type, even if they may be damaged.

The type is any that pydantic knows: a model, a dataclass, `dict[str, str]`.
"""

import math
from pathlib import Path
from typing import Any, TypeVar, get_origin

from .compatibility.former_names import rename_keys
from .disk import read_json
from .settings.table import UnfitError, fit

T = TypeVar("T")


def read_typed(path: Path, kind: type[T]) -> T:
    """Return the value in a JSON file. Raise ValueError, in one sentence, if it is no `kind`.

    Fields may have the names that earlier versions wrote; keys of a `dict` are left as they are.
    """
    payload = read_json(path)
    renamed = payload if get_origin(kind) is dict else rename_keys(payload)
    return check_type(renamed, kind, str(path))


def check_type(value: object, kind: type[T], where: str) -> T:
    """Return `value` as a `kind`. Raise ValueError, in one sentence, that begins with `where`."""
    try:  # most are as they should be, and pydantic takes long to import
        result: T = fit(kind, value)
        return result
    except UnfitError:
        from pydantic import TypeAdapter, ValidationError

        from .validation_errors import name_place
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        raise ValueError(f"{where}: damaged, or of another version: {name_place(error)}") from None


def replace_infinite(value: Any) -> Any:
    """Return a value with None, JSON's null, for each number in it that is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: replace_infinite(each) for key, each in value.items()}
    return [*map(replace_infinite, value)] if isinstance(value, list | tuple) else value

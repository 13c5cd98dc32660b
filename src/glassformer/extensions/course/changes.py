"""Changes that a function of the learner's makes to what it was given."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from inspect import signature
from typing import Any, NamedTuple

import numpy as np


class ArgumentChange(NamedTuple):
    """A change of an argument: where it is, and what changed there."""

    place: str  # as Python writes it: scores, weights['to_query.weight']
    kind: str  # array, list or dict


def find_change(
    function: Callable[..., Any], before: Sequence[Any], after: Sequence[Any]
) -> ArgumentChange | None:
    """Return the first change of the arguments of a function; None if they are as before."""
    named = _name(function, before), _name(function, after)
    return _find_first((name, each, named[1][name]) for name, each in named[0].items())


def _name(function: Callable[..., Any], arguments: Sequence[Any]) -> dict[str, Any]:
    """Return the arguments by the names that the function gives them."""
    try:
        return dict(signature(function).bind(*arguments).arguments)
    except (TypeError, ValueError):  # what is not written in Python may have no names
        return {str(number): each for number, each in enumerate(arguments, 1)}


def _find_first(pairs: Iterable[tuple[str, Any, Any]]) -> ArgumentChange | None:
    changes = (_compare(place, before, after) for place, before, after in pairs)
    return next((each for each in changes if each), None)


def _compare(place: str, before: Any, after: Any) -> ArgumentChange | None:
    if isinstance(before, np.ndarray):
        return None if _is_alike(before, after) else ArgumentChange(place, "array")
    if isinstance(before, Mapping):
        if before.keys() != after.keys() or _has_others(before.values(), after.values()):
            return ArgumentChange(place, "dict")
        return _find_first((f"{place}[{key!r}]", each, after[key]) for key, each in before.items())
    if isinstance(before, list | tuple):
        if len(before) != len(after) or _has_others(before, after):
            return ArgumentChange(place, "list")
        pairs = enumerate(zip(before, after, strict=True))
        return _find_first((f"{place}[{number}]", *each) for number, each in pairs)
    return None


def _is_alike(before: Any, after: Any) -> bool:
    is_float = before.dtype.kind == "f"
    return before.dtype == after.dtype and np.array_equal(before, after, equal_nan=is_float)


def _has_others(before: Iterable[Any], after: Iterable[Any]) -> bool:
    """Return whether something else stands where a list or dict had an element."""
    return any(_is_other(*pair) for pair in zip(before, after, strict=True))


def _is_other(before: Any, after: Any) -> bool:
    if type(before) is not type(after):
        return True
    if isinstance(before, np.ndarray):
        return before.dtype != after.dtype or before.shape != after.shape
    return isinstance(before, str | int | float) and before != after

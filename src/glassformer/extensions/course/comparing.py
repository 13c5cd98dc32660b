"""Running the learner's functions, and comparing what they return with what is right."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from .cases import Case
from .steps import StepSource, importing, load_step

TOLERANCE = 1e-4  # relative to the largest number


def run_cases(
    sources: Mapping[str, StepSource],
    module: str,
    cases: Sequence[Case],
    folder: Path | None = None,
) -> list[Any]:
    """Return what the functions of a step return in each case, or the exception that came."""
    with importing(sources, folder), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            step = load_step(module)
        except Exception as error:
            return [error] * len(cases)
        return [_run(step, each) for each in cases]


def _run(step: Any, case: Case) -> Any:
    try:
        function = getattr(step, case.function)
        return function(*(_copy(each) for each in case.arguments))
    except Exception as error:
        return error


def _copy(argument: Any) -> Any:
    """Return a copy, for a learner may write into what was given."""
    return argument if isinstance(argument, FunctionType) else copy.deepcopy(argument)


def is_same(value: Any, expected: Any) -> bool:
    """Return whether two results are the same but for rounding."""
    if isinstance(expected, Exception) or isinstance(value, Exception):
        return type(value) is type(expected) and str(value) == str(expected)
    if isinstance(expected, str) or isinstance(value, str):
        return type(value) is type(expected) and bool(value == expected)
    numbers = to_array(value), to_array(expected)
    if numbers[0] is None or numbers[1] is None:
        return value is expected
    if numbers[0].shape != numbers[1].shape:
        return False
    return bool(is_near(*numbers).all())


def to_array(value: Any) -> Any:
    """Return numbers as an array in float64; None if these are no numbers."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return None if value is None else array


def is_near(value: Any, expected: Any) -> Any:
    """Return, for each number, whether it is near the right one."""
    finite = np.abs(expected[np.isfinite(expected)])
    scale = float(finite.max(initial=0)) or 1.0
    return np.isclose(value, expected, rtol=0, atol=TOLERANCE * scale, equal_nan=True)

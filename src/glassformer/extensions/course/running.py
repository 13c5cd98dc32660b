"""Running the functions of a step, the learner's or those of a solution with a mistake."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from .cases import Case
from .changes import find_change
from .results import ChangedResult, Failure, make_failure
from .steps import StepSource, importing, load_step


def run_cases(
    sources: Mapping[str, StepSource],
    module: str,
    cases: Sequence[Case],
    folder: Path | None = None,
) -> list[Any]:
    """Return what the functions of a step return in each case, or the failure that came.

    Where a function changed an argument, that is said with its result.
    """
    with importing(sources, folder), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            step = load_step(module)
        except (Exception, SystemExit) as error:
            return [make_failure(error, folder)] * len(cases)
        results: list[Any] = []
        for each in cases:
            if results and getattr(results[-1], "cause", "") == "memory":
                results.append(results[-1])  # it would fill the memory again
            else:
                results.append(_run(step, each, folder))
        return results


def _run(step: Any, case: Case, folder: Path | None) -> Any:
    if not hasattr(step, case.function):
        return Failure("no_function")
    function, arguments = getattr(step, case.function), [*map(_copy, case.arguments)]
    try:
        result = function(*arguments)
    except (Exception, SystemExit) as error:
        return make_failure(error, folder)
    change = find_change(function, case.arguments, arguments)
    return ChangedResult(result, change) if change else result


def _copy(argument: Any) -> Any:
    """Return a copy, for a learner may write into what was given."""
    return argument if isinstance(argument, FunctionType) else copy.deepcopy(argument)

"""Results of the learner's functions: what they return, or why they return nothing."""

from __future__ import annotations

import base64
import traceback
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .cases import TooManyCallsError
from .changes import ArgumentChange

TOLERANCE = 1e-4  # relative to the largest number
MOST_NUMBERS = 10_000_000  # of a result that is looked at
SHORT = 60  # characters of a value that is shown
# The sentence about an exception, by its class; of any other it is "raised".
CAUSES = (
    (NotImplementedError, "empty"),
    (TooManyCallsError, "endless"),
    (SyntaxError, "syntax"),
    (ModuleNotFoundError, "module"),
    (SystemExit, "exits"),
    (EOFError, "input"),
    (RecursionError, "recursion"),
    (MemoryError, "memory"),
)


class Failure(NamedTuple):
    """An exception in place of a result, and the line of the learner's where it came.

    `cause` is the key of the sentence that says what it means.
    """

    cause: str
    kind: str = ""  # the class of the exception
    text: str = ""
    file: str = ""
    line: int = 0
    code: str = ""

    @property
    def may_be_mistake(self) -> bool:
        """Whether a mistake of the learner's numbers may have led here."""
        return self.cause in ("raised", "endless")


class OtherResult(NamedTuple):
    """A result that is neither text nor numbers: its class, and how Python shows it."""

    kind: str
    text: str


class ChangedResult(NamedTuple):
    """A result of a function that changed what it was given, and the change."""

    result: Any
    change: ArgumentChange


def make_failure(error: BaseException, folder: Path | None = None) -> Failure:
    """Return what there is to know of an exception; its line is the innermost in a folder."""
    cause = next((each for kind, each in CAUSES if isinstance(error, kind)), "raised")
    kind, text = type(error).__name__, str(error)
    if isinstance(error, SyntaxError):
        file = Path(error.filename or "").name
        return Failure(cause, kind, error.msg, file, error.lineno or 0)
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if folder and Path(each.filename).parent == folder]
    if not own:
        return Failure(cause, kind, text)
    return Failure(
        cause, kind, text, Path(own[-1].filename).name, own[-1].lineno or 0, own[-1].line or ""
    )


def encode_result(value: Any) -> Any:
    """Return a result as JSON can hold it."""
    if value is None or isinstance(value, str | float | bool):
        return value[:MOST_NUMBERS] if isinstance(value, str) else value
    if isinstance(value, Failure):
        return {"failure": [*value]}
    if isinstance(value, ChangedResult):
        return {"changed": [encode_result(value.result), [*value.change]]}
    numbers = value
    if not isinstance(value, np.ndarray):
        numbers = None if to_array(value) is None else np.asarray(value)
    if numbers is None or numbers.dtype.kind not in "biuf" or numbers.size > MOST_NUMBERS:
        return {"foreign": [type(value).__name__, tell_argument(value)]}
    if isinstance(value, list | tuple) and (numbers.size == 0 or numbers.ndim == 1):
        return {"list": numbers.tolist()}
    letters = base64.b64encode(np.ascontiguousarray(numbers).tobytes()).decode()
    return {"array": [numbers.dtype.str, numbers.shape, letters]}


def decode_result(value: Any) -> Any:
    """Return the result that was encoded."""
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == "array":
        kind, shape, letters = content
        return np.frombuffer(base64.b64decode(letters), kind).reshape(shape)
    if kind == "list":
        return content
    if kind == "changed":
        return ChangedResult(decode_result(content[0]), ArgumentChange(*content[1]))
    return Failure(*content) if kind == "failure" else OtherResult(*content)


def is_same(value: Any, expected: Any) -> bool:
    """Return whether two results are the same but for rounding; True is not the same as 1.

    That of a function that changed an argument is never right.
    """
    if isinstance(value, ChangedResult):
        return False
    if isinstance(expected, Failure) or isinstance(value, Failure):
        return type(value) is type(expected) and value[1:3] == expected[1:3]
    if isinstance(expected, str) or isinstance(value, str):
        return type(value) is type(expected) and bool(value == expected)
    numbers = to_array(value), to_array(expected)
    if numbers[0] is None or numbers[1] is None:
        return value is expected
    if numbers[0].shape != numbers[1].shape or is_truth(value) != is_truth(expected):
        return False
    return bool(is_near(*numbers).all())


def is_truth(value: Any) -> bool:
    """Return whether a result is made of True and False."""
    return np.asarray(value).dtype == bool


def to_array(value: Any) -> Any:
    """Return numbers as an array in float64; None if these are no numbers."""
    if value is None or isinstance(value, OtherResult | Failure | str):
        return None
    try:
        return np.asarray(value, dtype=np.float64)
    except Exception:  # a learner's object may raise anything
        return None


def is_near(value: Any, expected: Any) -> Any:
    """Return, for each number, whether it is near the right one."""
    scale = max_size(expected) or max_size(value) or 1.0
    return np.isclose(value, expected, rtol=0, atol=TOLERANCE * scale, equal_nan=True)


def max_size(numbers: Any) -> float:
    """Return the largest absolute value of those numbers that are finite; 0 if there is none."""
    return float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0))


def tell_kind(value: Any) -> str:
    """Return the name of a result's class."""
    return value.kind if isinstance(value, OtherResult) else type(value).__name__


def tell_argument(value: Any) -> str:
    """Return a value as a learner can read it: a small one whole."""
    if isinstance(value, OtherResult):
        return value.text
    if isinstance(value, np.ndarray):
        if value.size <= 12:
            return " ".join(np.array2string(value, separator=", ").split())
        return "<" + " x ".join(map(str, value.shape)) + ">"
    if isinstance(value, dict):
        return "weights"
    if callable(value):
        return value.__name__ if getattr(value, "__name__", "") == "sublayer" else "next_token"
    try:
        text = repr(value)
    except Exception:  # a learner's object may raise anything
        text = type(value).__name__
    return text if len(text) <= SHORT else text[: SHORT - 3] + "..."

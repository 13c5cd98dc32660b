"""The table of all options of pictures with the values they take, and its checks.

Python, the command line and the server use it. Whether the recording has a layer, head or token is
checked later, by `selection.pick` and `selection.find_query`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Kind(NamedTuple):
    """The values that an option takes: a description, a test, and a function that reads text."""

    takes: str
    fits: Callable[[Any], bool]
    read: Callable[[str], Any] = str


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, (float, np.floating)) and math.isfinite(value))


def _whole(low: int, high: int, step: int = 1) -> Kind:
    takes = f"{'an even' if step == 2 else 'a whole'} number from {low} to {high}"
    return Kind(takes, lambda v: _is_whole(v) and low <= v <= high and not v % step, int)


def _real(low: float, high: float) -> Kind:
    return Kind(
        f"a number from {low:g} to {high:g}", lambda v: _is_real(v) and low <= v <= high, float
    )


def _one_of(*words: str) -> Kind:
    return Kind(f"one of {', '.join(filter(None, words))}", lambda v: v in words)


def _several(each: Kind, takes: str, count: int | None = None) -> Kind:
    def fits(value: Any) -> bool:
        if isinstance(value, str) or not isinstance(value, (Sequence, np.ndarray, range)):
            return False
        return count in (None, len(value)) and len(value) > 0 and all(map(each.fits, value))

    return Kind(takes, fits, lambda text: [each.read(part) for part in text.split(",")])


def _read_flag(text: str) -> bool:
    flag = {"true": True, "1": True, "false": False, "0": False}
    return flag[text.lower()]


_NUMBER = Kind("a whole number; -1 is the last", _is_whole, int)
_TOKEN = Kind(
    "a token of the sentence, or its number",
    lambda v: _is_whole(v) or (isinstance(v, str) and v != ""),
)
_REAL_PAIR = "two numbers from 0.01 to 100, as 0.5,1.5"

KINDS: Mapping[str, Kind] = {
    "cell": Kind("a number of the recording, as memory[3,0]", lambda v: isinstance(v, str)),
    "lang": _one_of("en", "zh"),
    "around": _whole(3, 15),
    "columns": _whole(1, 64),
    "d_model": _whole(8, 4096, 2),
    "head": _NUMBER,
    "heads": _several(_NUMBER, "whole numbers, as 0,1; -1 is the last"),
    "k": _whole(1, 24),
    "kind": _one_of("self_attention", "cross_attention"),
    "layer": _NUMBER,
    "lit": _one_of("", "embedding", "attention", "feed_forward", "norm", "output"),
    "longest": _whole(2, 100_000),
    "losers": _whole(0, 64),
    "moving": Kind("true or false", lambda v: isinstance(v, bool), _read_flag),
    "most": _whole(1, 512),
    "other": Kind("another recording", lambda v: hasattr(v, "source")),
    "tokens": _whole(2, 100_000),
    "positions": _whole(1, 512),
    "query": _TOKEN,
    "question": _one_of("V107", "V109", "V110", "V111"),
    "row": _NUMBER,
    "sentence": _NUMBER,
    "sides": _one_of("encoder", "decoder", "encoder decoder"),
    "share_of_heads": Kind("true or false", lambda v: isinstance(v, bool), _read_flag),
    "shift": _whole(0, 1000),
    "side": _one_of("encoder", "decoder"),
    "smoothing": _real(0, 0.6),
    "stage": _whole(3, 6),
    "step": _TOKEN,
    "subject": _one_of("smoothing", "rate"),
    "sublayer": _one_of("self_attention", "cross_attention", "feed_forward"),
    "temperatures": _several(_real(0.01, 100), _REAL_PAIR, 2),
    "toy": Kind("true or false", lambda v: isinstance(v, bool), _read_flag),
    "top_k": _whole(1, 1_000_000),
    "top_p": _real(0.001, 1),
    "update": _whole(0, 1_000_000_000),
    "whole": Kind("true or false", lambda v: isinstance(v, bool), _read_flag),
    "watch": Kind("the folder of a training", lambda v: isinstance(v, (str, Path))),
}
_OWN = {
    ("V67", "subject"): _one_of("vectors", "loss"),
    ("V54", "head"): Kind(
        "a whole number, or mean",
        lambda v: _is_whole(v) or v == "mean",
        lambda text: text if text == "mean" else int(text),
    ),
}


def find_kind(id: str, name: str) -> Kind:
    """Return the kind of values that an option of a picture takes."""
    return _OWN.get((id, name), KINDS[name])


def check_options(id: str, function: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Raise ValueError, naming the option and the values it takes, unless all options fit."""
    known = dict(list(inspect.signature(function).parameters.items())[1:])
    for name, value in options.items():
        if name not in known:
            raise ValueError(f"{id} has no option {name}; it has {', '.join(known)}")
        if value is None and known[name].default is None:
            continue
        kind = find_kind(id, name)
        if not kind.fits(value):
            raise ValueError(f"{name}={_spell(value)}: {kind.takes}")


def read_option(id: str, name: str, text: str) -> Any:
    """Return the value of an option from its text.

    Raise ValueError, naming the option and the values it takes, if the text is none.
    """
    kind = find_kind(id, name)
    try:
        return kind.read(text)
    except (ValueError, KeyError):
        raise ValueError(f"{name}={_spell(text)}: {kind.takes}") from None


def _spell(value: Any) -> str:
    return "“”" if value == "" else f"{value!r}" if isinstance(value, (list, tuple)) else f"{value}"

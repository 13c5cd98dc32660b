"""The choice of the precision for translation in C: int8, if it loses almost no accuracy.

The loss is measured once for each model and library, on the golden translations of the model.
"""

import json
import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Protocol

from ..decode.sentences import NotFiniteError
from ..foundation.disk import find_cache
from .native import ScoredPair

PRECISIONS = ("fp32", "bf16", "int8")
FILE = "engine.json"  # of measurements, in the user's cache folder
# The largest changes allowed, in nats: of the mean loss, and of a token's log-probability.
LOSS, TOKEN = 0.02, 0.15

Row = Sequence[float]
Example = tuple[list[int], list[int]]  # a source, which ends with EOS, and its translation


class Scorer(Protocol):
    """An engine, as far as it is needed here."""

    def score(
        self, sources: Sequence[list[int]], targets: Sequence[list[int]], *, workers: int
    ) -> list[ScoredPair]: ...


def is_close(score: Callable[[str], Row], name: str) -> bool:
    """Return whether int8 is as good as fp32, on average and token by token.

    score: returns the log-probabilities of the same tokens in a precision. name: identifies the
    library and the weights in the cache of measurements.
    """
    key = f"loss of int8 {name}"
    known = recall(key)
    if known is None:
        known = {"excess": measure_excess(score("int8"), score("fp32"))}
        remember(key, known)
    return known.get("excess", math.inf) <= 1


def measure_excess(coarse: Row, exact: Row) -> float:
    """Return the larger change of the two log-probabilities as a multiple of what is allowed."""
    if not math.isfinite(sum(coarse) + sum(exact)):
        return 99.0
    apart = [x - y for x, y in zip(coarse, exact, strict=True)]
    return max(abs(sum(apart)) / LOSS, sum(map(abs, apart)) / TOKEN) / len(apart)


def score_examples(engine: Scorer, examples: Sequence[Example]) -> Row:
    """Return the log-probability of every token of the translations; NaN if none is finite."""
    if not examples:
        return [math.nan]
    sources, targets = zip(*examples, strict=True)
    try:
        scored = engine.score(sources, targets, workers=1)
    except NotFiniteError:
        return [math.nan]
    return [log_prob for each in scored for log_prob in each.log_probs]


def recall(key: str) -> dict[str, float] | None:
    """Return the numbers stored under this key; None if there are none, or they are damaged."""
    values = _read().get(key)
    if not isinstance(values, dict):
        return None
    return {name: x for name, x in values.items() if isinstance(x, int | float)}


def remember(key: str, values: dict[str, float]) -> None:
    """Store numbers under a key; do nothing where the folder cannot be written."""
    with suppress(OSError, RuntimeError):  # RuntimeError: the home folder is unknown
        path = find_cache() / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"{FILE}.{os.getpid()}.partial")
        partial.write_text(json.dumps(_read() | {key: values}, indent=1), encoding="utf-8")
        os.replace(partial, path)


def _read() -> dict[str, Any]:
    try:
        payload = json.loads((find_cache() / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RuntimeError):
        return {}
    return payload if isinstance(payload, dict) else {}

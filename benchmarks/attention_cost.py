"""Time attention beside the rest of an encoder layer, for picture V73, and decoding, for V72.

    python -m benchmarks attention-cost

One sentence at a time in NumPy, on one thread, for the layers of the shipped model and of the
paper's base model; of each length the fastest of many calls, in processor time. Writes
src/glassformer/extensions/pictures/costs.json, but not where a longer sentence took less time:
another program was in the way.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from time import thread_time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is imported

import numpy as np  # noqa: E402

from glassformer.foundation.machine.properties import look_at_machine  # noqa: E402

OUT = Path(__file__).parents[1] / "src" / "glassformer" / "extensions" / "pictures" / "costs.json"
LAYERS = (
    {"d_model": 64, "heads": 8, "width": 8, "d_ff": 256},
    {"d_model": 512, "heads": 8, "width": 64, "d_ff": 2048},
)
PARTS = (1 / 24, 1 / 12, 1 / 8, 1 / 6, 1 / 4, 1 / 3, 5 / 12, 1 / 2, 2 / 3, 5 / 6, 1)
ROWS = (4, 8, 16, 32, 64)  # of a decoder
ROUNDS, LEAST, MOST, SPELL = 4, 2, 200, 200  # of all lengths; calls, calls, milliseconds


def time_layer(length: int, layer: dict[str, int]) -> tuple[float, float]:
    """Return the milliseconds of attention, and of projections and feed-forward together."""
    rng = np.random.default_rng(0)
    d_model, heads, width, d_ff = (layer[name] for name in ("d_model", "heads", "width", "d_ff"))
    x, inner, q, w, up = (
        rng.standard_normal(shape, np.float32)
        for shape in (
            (length, d_model),
            (length, d_ff),
            (heads, length, width),
            (d_model, heads * width),
            (d_model, d_ff),
        )
    )

    def attend() -> object:
        scores = q @ q.transpose(0, 2, 1)
        scores *= width**-0.5
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        return scores @ q

    def do_the_rest() -> object:
        return [x @ w for _ in range(4)], np.maximum(x @ up, 0), inner @ up.T

    return time_call(attend), time_call(do_the_rest)


def time_decoding(rows: int, layer: dict[str, int], at_once: bool) -> float:
    """Return the milliseconds of a decoder layer for all target rows and an equally long source.

    at_once: all rows together; otherwise one after the other, with the keys and values of earlier
    rows kept.
    """
    rng = np.random.default_rng(0)
    d_model, heads, width, d_ff = (layer[name] for name in ("d_model", "heads", "width", "d_ff"))
    x, project, up, keys, query = (
        rng.standard_normal(shape, np.float32)
        for shape in (
            (rows, d_model),
            (d_model, heads * width),
            (d_model, d_ff),
            (heads, rows, width),
            (heads, rows, width),
        )
    )

    def look(own: slice, seen: int) -> object:
        for _ in range(4):
            x[own] @ project
        weights = np.exp(query[:, own] @ keys[:, :seen].transpose(0, 2, 1) / 100)
        return weights / weights.sum(-1, keepdims=True) @ keys[:, :seen]

    def run(own: slice) -> object:
        return look(own, own.stop), look(own, rows), np.maximum(x[own] @ up, 0) @ up.T

    slices = [slice(0, rows)] if at_once else [slice(t, t + 1) for t in range(rows)]
    return time_call(lambda: [run(own) for own in slices])


def measure_decoding(layer: dict[str, int]) -> dict[str, object]:
    """Return the times of a decoder layer, with its rows computed at once and in turn."""
    times = {
        name: [min(time_decoding(n, layer, once) for _ in range(ROUNDS)) for n in ROWS]
        for name, once in (("together", True), ("in_turn", False))
    }
    return {"rows": [*ROWS]} | {
        name: [float(f"{value:.4g}") for value in values] for name, values in times.items()
    }


def time_call(part: Callable[[], object]) -> float:
    """Return the processor time of the fastest of several calls; other programs may interfere."""
    taken: list[float] = []
    while len(taken) < LEAST or (sum(taken) < SPELL and len(taken) < MOST):
        begun = thread_time()
        part()
        taken.append((thread_time() - begun) * 1e3)
    return min(taken)


def measure(layer: dict[str, int]) -> dict[str, object]:
    """Return the times of a layer at lengths up to where both parts cost as many operations."""
    even = 2 * layer["d_model"] + layer["d_ff"] * layer["d_model"] // (
        layer["heads"] * layer["width"]
    )
    lengths = [round(even * part) for part in PARTS]
    times = np.min([[time_layer(n, layer) for n in lengths] for _ in range(ROUNDS)], 0)
    found = {"attention": times[:, 0].tolist(), "rest": times[:, 1].tolist()}
    for name, values in found.items():
        if any(b <= a for a, b in pairwise(values)):
            raise SystemExit(f"{name} of {layer} does not grow with the length: measure again")
    return {**layer, "lengths": lengths} | {
        name: [float(f"{value:.4g}") for value in values] for name, values in found.items()
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add no options: this program has none."""


def main(options: argparse.Namespace) -> None:
    found = {
        "machine": look_at_machine().processor,
        "numpy": np.__version__,
        "layers": [measure(layer) | {"decoding": measure_decoding(layer)} for layer in LAYERS],
    }
    OUT.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"{OUT}: {found['machine']}")

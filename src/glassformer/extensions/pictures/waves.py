"""The positional encoding as numbers (paper 3.5), in NumPy.

Letters: L positions; D model width; I = D / 2 frequencies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from glassformer.config import Positions
from glassformer.see.catalogue import look_up
from glassformer.see.expression import parse_equation
from glassformer.see.recompute import Along, evaluate_expression

Array = NDArray[Any]


def wave_rates(d_model: int, grid: str = "paper") -> Array:
    """Return I rates in radians per position; Tensor2Tensor's grid ends at 1/10000 exactly."""
    steps = d_model / 2 if grid == "paper" else max(d_model // 2 - 1, 1)
    return 10000.0 ** (-np.arange(d_model // 2) / steps)


def encode_waves(positions: ArrayLike, d_model: int, layout: str = "interleaved") -> Array:
    """Return L D encodings; "interleaved" is the paper's layout, "concatenated" Tensor2Tensor's."""
    grid = "paper" if layout == "interleaved" else "tensor2tensor"
    settings = vars(Positions.model_validate({"layout": layout, "grid": grid}))
    waves: dict[str, Array] = {}
    for name, position in (("angle", np.asarray(positions, dtype=float)), ("positions", None)):
        entry = look_up(f"source_embedding.{name}")
        assert entry
        _, right = parse_equation(entry.choose_equation(settings))
        along = np.arange(len(waves["angle"])) if position is None else position
        where = {"q": Along(0, along), "d": Along(1, np.arange(d_model))}
        waves[name] = evaluate_expression(
            right, where, waves.__getitem__, settings | {"D": d_model}
        ).cells
    return np.broadcast_to(waves["positions"], (len(waves["angle"]), d_model))

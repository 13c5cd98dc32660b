"""The positional encoding as numbers (paper 3.5), in NumPy.

Letters: L positions; D model width; I = D / 2 frequencies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...config import Positions
from ..recompute import encode_position

Array = NDArray[Any]


def rates(d_model: int, grid: str = "paper") -> Array:
    """Radians a position for each frequency; Tensor2Tensor's grid ends at 1/10000 exactly."""
    steps = d_model / 2 if grid == "paper" else max(d_model // 2 - 1, 1)
    return 10000.0 ** (-np.arange(d_model // 2) / steps)


def encode(positions: ArrayLike, d_model: int, layout: str = "interleaved") -> Array:
    """L D. "interleaved": the paper's. "concatenated": Tensor2Tensor's, in layout and grid."""
    grid = "paper" if layout == "interleaved" else "tensor2tensor"
    settings = Positions.model_validate({"layout": layout, "grid": grid})
    place_L1 = np.asarray(positions, dtype=float)[:, None]
    return encode_position(settings, d_model, place_L1, np.arange(d_model))

"""Section 3.5: positional encodings in both layouts and on both grids, in loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from glassformer.config import Positions
from glassformer.model.positions import sinusoids


def wave(position: int, i: int, d_model: int, grid: str) -> tuple[float, float]:
    """Sine and cosine of frequency i at a position."""
    if grid == "paper":
        angle = position / 10000 ** (2 * i / d_model)
    else:  # tensor2tensor/layers/common_attention.py, get_timing_signal_1d
        increment = math.log(10000.0) / max(d_model // 2 - 1, 1)
        angle = position * math.exp(-i * increment)
    return math.sin(angle), math.cos(angle)


@pytest.mark.parametrize("d_model", [2, 4, 22])
@pytest.mark.parametrize("layout", ["interleaved", "concatenated"])
@pytest.mark.parametrize("grid", ["paper", "tensor2tensor"])
def test_table(layout: Any, grid: Any, d_model: int) -> None:
    """Every number, far positions too; "longest" rows from "offset" on, times "amplitude"."""
    settings = Positions(layout=layout, grid=grid, offset=3, amplitude=0.7, max_positions=1500)
    expected = np.empty((1500, d_model))
    for row in range(1500):
        for i in range(d_model // 2):
            sine, cosine = (0.7 * x for x in wave(row + 3, i, d_model, grid))
            where = (2 * i, 2 * i + 1) if layout == "interleaved" else (i, d_model // 2 + i)
            expected[row, list(where)] = sine, cosine
    # An angle of 1500 has a rounding error of 2e-13 in float64; nothing else is lost.
    np.testing.assert_allclose(sinusoids(settings, d_model).numpy(), expected, atol=2e-12)


def test_wavelengths_go_from_2_pi_to_nearly_10000_times_2_pi() -> None:
    """A geometric progression; the first pair comes round after 2π positions."""
    table = sinusoids(Positions(max_positions=3), 512)
    angles = np.arctan2(table[1, 0::2].numpy(), table[1, 1::2].numpy())
    assert angles[0] == pytest.approx(1.0)
    np.testing.assert_allclose(angles[1:] / angles[:-1], 10000 ** (-2 / 512))

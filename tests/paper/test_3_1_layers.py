"""Section 3.1: residual connections and layer normalisation, in loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.config import Model
from glassformer.model.residual import Residual

D = 6


def normalise(x: np.ndarray, gain: np.ndarray, bias: np.ndarray, epsilon: float) -> np.ndarray:
    """Ba et al. 2016: the variance is the biased one, and epsilon is inside the root."""
    mean = sum(x) / len(x)
    variance = sum((value - mean) ** 2 for value in x) / len(x)
    triples = zip(x, gain, bias, strict=True)
    return np.array([g * (v - mean) / math.sqrt(variance + epsilon) + b for v, g, b in triples])


@pytest.mark.parametrize("epsilon", [1e-5, 0.5])
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_residual(norm: Any, epsilon: float, draw: Any, array: Any, scatter: Any) -> None:
    """LayerNorm(x + Sublayer(x)), or x + Sublayer(LayerNorm(x)); the sub-layer is a square."""
    residual = scatter(Residual(Model(d_model=D, heads=1, norm=norm, norm_epsilon=epsilon)))
    gain, bias = array(residual.norm.weight), array(residual.norm.bias)
    x_LD = draw((3, D))
    expected = [
        normalise(x + x**2, gain, bias, epsilon)
        if norm == "post"
        else x + normalise(x, gain, bias, epsilon) ** 2
        for x in x_LD
    ]
    actual = residual(torch.tensor(x_LD).float(), torch.square)
    np.testing.assert_allclose(array(actual), expected, rtol=1e-5, atol=1e-5)


def test_the_variance_is_biased(array: Any) -> None:
    """1, 2, 3, 4 become 1.342 and 0.447 with 1/d; 1/(d-1) would make 1.162 and 0.387."""
    residual = Residual(Model(d_model=4, heads=1))
    found = array(residual(torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.zeros_like))
    np.testing.assert_allclose(found, [-1.3416, -0.4472, 0.4472, 1.3416], atol=1e-4)

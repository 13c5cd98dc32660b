"""Section 3.3: the position-wise feed-forward network, in loops."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.config import Model
from glassformer.model.feed_forward import FeedForward

ACTIVATIONS = {
    "relu": lambda x: max(0.0, x),
    "silu": lambda x: x / (1 + math.exp(-x)),
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_equation_2(name: Any, draw: Any, array: Any, scatter: Any) -> None:
    """max(0, x W1 + b1) W2 + b2, position by position; a stored weight is the paper's W,
    transposed."""
    network = scatter(FeedForward(Model(d_model=6, heads=1, d_ff=9, activation=name)))
    w1, b1 = array(network.inner.weight).T, array(network.inner.bias)
    w2, b2 = array(network.outer.weight).T, array(network.outer.bias)
    x_LD = draw((4, 6))
    expected = np.zeros((4, 6))
    for position, x in enumerate(x_LD):
        inner = [sum(x[d] * w1[d, f] for d in range(6)) + b1[f] for f in range(9)]
        hidden = [ACTIVATIONS[name](value) for value in inner]
        for d in range(6):
            expected[position, d] = sum(hidden[f] * w2[f, d] for f in range(9)) + b2[d]
    actual = network(torch.tensor(x_LD).float()[None])[0]
    np.testing.assert_allclose(array(actual), expected, rtol=1e-5, atol=1e-5)

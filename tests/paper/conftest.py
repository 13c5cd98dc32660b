"""What the slow loops start from: weights and inputs in float64, as NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn

Draw = Callable[..., np.ndarray]


@pytest.fixture
def draw() -> Draw:
    """Normal random numbers of a shape."""
    return np.random.default_rng(7).standard_normal


@pytest.fixture
def array() -> Callable[[torch.Tensor], np.ndarray]:
    """A tensor as NumPy has it, in float64."""
    return lambda tensor: tensor.detach().double().numpy()


@pytest.fixture
def scatter() -> Callable[[nn.Module], nn.Module]:
    """Give every parameter of a module random values, biases and gains included; eval mode."""

    def fill(module: nn.Module) -> nn.Module:
        torch.manual_seed(7)
        for parameter in module.parameters():
            nn.init.normal_(parameter, mean=0.1)
        return module.eval()

    return fill

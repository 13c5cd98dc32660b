"""Networks with nothing left at a round number, and what "equal" means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.equal.variants import VARIANTS
from torch import Tensor

from glassformer.config import Model, Positions
from glassformer.model.transformer import Transformer

V = 29

# Every size odd where it may be, and no two alike: a mix-up of two axes cannot pass.
ODD = Model(
    d_model=22, heads=3, head_width=5, d_ff=13, encoder_layers=2, decoder_layers=3, dropout=0.4
)
SETTINGS = {
    "post": ODD,
    "pre": ODD.model_copy(update={"norm": "pre", "activation": "gelu"}),
    "learned": ODD.model_copy(update={"positions": Positions(layout="learned"), "tie": "none"}),
    **{
        name: Model.model_validate(ODD.model_dump(exclude_unset=True) | changes)
        for name, changes in VARIANTS.items()
    },
}


@pytest.fixture(params=list(SETTINGS))
def settings(request: pytest.FixtureRequest) -> Model:
    return SETTINGS[request.param]


@pytest.fixture
def build() -> Callable[[Model], Transformer]:
    """A network in eval mode whose biases and norms are not their first values."""

    def make(settings: Model) -> Transformer:
        torch.manual_seed(1)
        network = Transformer(settings, V, V).eval()
        for parameter in network.parameters():
            if parameter.dim() == 1:
                torch.nn.init.normal_(parameter, mean=0.5)
        return network

    return make


@pytest.fixture
def network(settings: Model, build: Callable[[Model], Transformer]) -> Transformer:
    return build(settings)


@pytest.fixture
def batch() -> tuple[Tensor, Tensor]:
    """Five sources and targets, most of them padded, as in training."""
    generator = torch.Generator().manual_seed(2)
    source_BS = torch.randint(3, V, (5, 9), generator=generator)
    target_BT = torch.randint(3, V, (5, 7), generator=generator)
    for row, (source, target) in enumerate([(9, 3), (1, 7), (4, 1), (8, 5), (2, 6)]):
        source_BS[row, source:] = 0
        target_BT[row, target:] = 0
    return source_BS, target_BT


@pytest.fixture
def equal() -> Callable[..., None]:
    """Equal to 1e-5: no further apart than 1e-5 times the largest value, or than 1e-5."""

    def check(actual: Tensor, expected: Tensor, tolerance: float = 1e-5, **where: Any) -> None:
        assert actual.shape == expected.shape, where
        assert actual.isfinite().all(), where
        apart = (actual - expected).abs().max().item()
        assert apart <= tolerance * max(1.0, expected.abs().max().item()), (apart, where)

    return check

"""The compiled and the exported network give the same numbers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from glassformer.config import Model
from glassformer.model.transformer import Transformer

from .conftest import SETTINGS as DEEP

# What is compiled of a second layer is what is compiled of the first.
SETTINGS = {
    name: each.model_copy(update={"encoder_layers": 1, "decoder_layers": 1})
    for name, each in DEEP.items()
}
Batch = tuple[Tensor, Tensor]
Check = Callable[..., None]


# Each is compiled once: these to be trained, since each has code of its own there, dropout
# among it, and the others to compute alone.
TRAINED = (
    "pre",
    "learned",
    "grouped",
    "none",
    "relative",
    "local-rotary",
    "strided",
    "global+local",
)
FORWARD = [name for name in SETTINGS if name not in TRAINED]


@pytest.fixture(params=list(SETTINGS))
def settings(request: pytest.FixtureRequest) -> Model:
    return SETTINGS[request.param]


@pytest.fixture(autouse=True)
def forget_what_was_compiled() -> None:
    torch.compiler.reset()


@pytest.mark.thorough
@pytest.mark.parametrize("settings", FORWARD, indirect=True)
def test_compiled_without_a_break(network: Transformer, batch: Batch, equal: Check) -> None:
    compiled = torch.compile(network, fullgraph=True, backend="eager")
    with torch.no_grad():
        equal(compiled(*batch), network(*batch))


@pytest.mark.thorough
@pytest.mark.parametrize("settings", TRAINED, indirect=True)
def test_compiled_training(network: Transformer, batch: Batch, equal: Check) -> None:
    """Gradients, with dropout layers in the graph; none drops, so that there is a right answer."""
    network.train()
    for module in network.modules():
        if hasattr(module, "p"):
            module.p = 0.0
    slopes = []
    for forward in (network, torch.compile(network, fullgraph=True, backend="eager")):
        network.zero_grad()
        logits = forward(*batch)
        logits.square().mean().backward()
        grads = [parameter.grad.clone() for parameter in network.parameters()]
        slopes.append([logits.detach(), *grads])
    for own, other in zip(*slopes, strict=True):
        equal(own, other)


@pytest.mark.thorough
def test_exported(network: Transformer, batch: Batch, equal: Check) -> None:
    """Once, and run on a batch of other values."""
    exported = torch.export.export(network, batch).module()
    other = tuple(ids.flip(0) for ids in batch)
    with torch.no_grad():
        equal(exported(*other), network(*other))

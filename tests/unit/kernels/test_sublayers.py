"""Sub-layers of training in bf16 against the modules of `model/` in fp32: numbers and gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from glassformer.config import Model
from glassformer.engine.kernels import fast, sublayers, tiles
from glassformer.foundation.tap import Watchable
from glassformer.model.attention import MultiHeadAttention
from glassformer.model.feed_forward import FeedForward

pytestmark = pytest.mark.skipif(not tiles.has_tiles(), reason="no tiles in this processor")

CLOSE = 0.03  # of the largest number: each product is rounded to 8 bits


def make(kind: Callable[[Model], Watchable], **settings: Any) -> Watchable:
    torch.manual_seed(3)
    module = kind(Model(d_model=64, d_ff=96, heads=4, **settings))
    for name, parameter in module.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter, std=0.3)
    return module.train()


def run(module: Watchable, inputs: list[Tensor], *more: Tensor) -> dict[str, Tensor]:
    """What comes out, and the gradients of weights and inputs."""
    inputs = [x.detach().requires_grad_() for x in inputs]
    module.zero_grad()
    # self-attention is asked with one tensor twice
    given = inputs * 2 if more and len(inputs) == 1 else inputs
    out = module(*given, *more)
    torch.manual_seed(9)
    out.backward(torch.randn(out.shape).to(torch.bfloat16).to(out.dtype))
    found = {name: p.grad for name, p in module.named_parameters()}
    found |= {f"input {number}": x.grad for number, x in enumerate(inputs)} | {"out": out}
    return {name: x.detach().float() for name, x in found.items() if x is not None}


def compare(module: Watchable, inputs: list[Tensor], *more: Tensor) -> None:
    low = [x.bfloat16() for x in inputs]
    state = fast.KernelState()
    found, expected = (
        (state.dropout.seed(6), run(fast._view(module, state, twins, set()), given, *more))[1]
        for twins, given in ((fast.TWINS, low), ({}, [x.float() for x in low]))
    )
    assert found.keys() == expected.keys()
    for name, wanted in expected.items():
        # A bias of all keys alike moves no weight of attention: its gradient is rounding alone.
        largest = 1.0 if name == "to_key.bias" else wanted.abs().max()
        assert largest > 0.01, name
        assert (found[name] - wanted).abs().max() < CLOSE * largest, name


@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("keys", [None, 5, 40])
def test_attention(monkeypatch: pytest.MonkeyPatch, keys: int | None, p: float) -> None:
    """Of a text to itself, and to another, shorter or longer, of which some is padding."""
    calls, attention = [], sublayers.attention
    monkeypatch.setattr(
        "glassformer.engine.kernels.fast.attention", lambda *x: calls.append(x) or attention(*x)
    )
    torch.manual_seed(keys or 0)
    inputs = [torch.randn(3, length, 64) for length in (18, keys) if length]
    mask = torch.ones(3, 1, 1, keys or 18, dtype=torch.bool)
    mask[1, ..., -2:] = False
    compare(make(MultiHeadAttention, attention_dropout=p), inputs, mask)
    assert len(calls) == 1


def test_what_it_cannot_do_is_left_to_its_twin() -> None:
    """Another precision, nothing at all, another kind of linear map: the module does those."""
    plain, other = nn.Linear(8, 8), nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))
    hooked = nn.Linear(8, 8)
    hooked.register_forward_hook(lambda *given: None)
    x = torch.ones(2, 3, 8, dtype=torch.bfloat16)
    assert sublayers.can_run(x, (plain, plain))
    for linear in (other, hooked, nn.Linear(8, 8, bias=False), nn.Linear(8, 8).double()):
        assert not sublayers.can_run(x, (plain, linear))
    for unfit in (x.float(), x[:0], x.to("meta")):
        assert not sublayers.can_run(unfit, (plain, plain))


@pytest.mark.parametrize("p", [0.0, 0.3])
def test_feed_forward(monkeypatch: pytest.MonkeyPatch, p: float) -> None:
    calls, feed_forward = [], sublayers.feed_forward
    monkeypatch.setattr(
        "glassformer.engine.kernels.fast.feed_forward",
        lambda *x: calls.append(x) or feed_forward(*x),
    )
    torch.manual_seed(1)
    compare(make(FeedForward, activation_dropout=p), [torch.randn(3, 18, 64)])
    assert len(calls) == 1

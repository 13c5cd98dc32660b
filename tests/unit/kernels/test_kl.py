"""The distance of two distributions against `torch.nn.functional.kl_div`."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import kl_div, linear, log_softmax

from glassformer.engine.kernels import kl as kernel
from glassformer.engine.kernels.kl import divergence

N, D, V = 83, 12, 101


def make_inputs(spread: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(7)
    sizes = ((N, D), (N, D), (V, D))
    one, other, table = (torch.randn(size) for size in sizes)
    return tuple(x.requires_grad_() for x in (one * spread, other * spread, table))


def theirs(one_ND: Tensor, other_ND: Tensor, table_VD: Tensor) -> Tensor:
    p, q = (log_softmax(linear(y, table_VD), -1) for y in (one_ND, other_ND))
    apart = [kl_div(a, b, reduction="sum", log_target=True) for a, b in ((p, q), (q, p))]
    return apart[0] + apart[1]


@pytest.mark.parametrize("spread", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("rows", [1, 16, 83, 1000])
def test_equals_torch(rows: int, spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Value, and gradients of all three, at every border of a chunk."""
    monkeypatch.setattr(kernel, "CELLS", 4 * rows * V)
    monkeypatch.setattr(kernel, "ROWS", 16)
    inputs = make_inputs(spread)
    ours, wanted = divergence(*inputs), theirs(*inputs)
    torch.testing.assert_close(ours, wanted, rtol=1e-4, atol=1e-4)
    found, expected = (torch.autograd.grad(loss, inputs) for loss in (ours, wanted))
    for name, one, other in zip(["one", "other", "table"], found, expected, strict=True):
        assert (one - other).abs().max() <= 1e-4 * max(1, other.abs().max()), name


def test_the_same_twice_is_not_apart() -> None:
    one, _, table = make_inputs()
    loss = divergence(one, one, table)
    assert loss == 0
    assert all(grad.abs().max() < 1e-5 for grad in torch.autograd.grad(loss, (one, table)))


def test_under_bf16_autocast() -> None:
    wanted = theirs(*make_inputs())
    with torch.autocast("cpu", torch.bfloat16):
        assert abs(divergence(*make_inputs()) / wanted - 1) < 0.02

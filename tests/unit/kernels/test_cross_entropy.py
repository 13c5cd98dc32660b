"""The loss kernel against `torch.nn.functional.cross_entropy`."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

from glassformer.engine.kernels import cross_entropy as kernel
from glassformer.engine.kernels.cross_entropy import smoothed_cross_entropy

N, D, V = 83, 12, 101
Found = tuple[Tensor, Tensor, Tensor]


def make_inputs(spread: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(6)
    y_ND, table_VD = spread * torch.randn(N, D), torch.randn(V, D)
    return y_ND.requires_grad_(), table_VD.requires_grad_(), torch.randint(V, (N,))


def ours(y_ND: Tensor, table_VD: Tensor, target_N: Tensor, smoothing: float) -> Found:
    loss = smoothed_cross_entropy(y_ND, table_VD, target_N, smoothing)
    return loss, *torch.autograd.grad(loss, (y_ND, table_VD))


def theirs(y_ND: Tensor, table_VD: Tensor, target_N: Tensor, smoothing: float) -> Found:
    logits_NV = linear(y_ND, table_VD)
    loss = cross_entropy(logits_NV, target_N, label_smoothing=smoothing, reduction="sum")
    return loss, *torch.autograd.grad(loss, (y_ND, table_VD))


def check(actual: Found, expected: Found, tolerance: float = 1e-5) -> None:
    for one, other in zip(actual, expected, strict=True):
        assert one.dtype == other.dtype and one.isfinite().all()
        apart, largest = (one - other).abs().max().item(), other.abs().max().item()
        assert apart <= tolerance * max(1, largest)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("rows", [1, 16, 17, 41, 82, 83, 1000])
def test_equals_torch_at_every_chunk_border(
    rows: int, smoothing: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Value, and gradients of both operands. A chunk has `rows` positions, and never below 16."""
    monkeypatch.setattr(kernel, "CELLS", rows * V + V // 2)
    check(ours(*make_inputs(), smoothing), theirs(*make_inputs(), smoothing))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_extreme_logits(smoothing: float) -> None:
    """Beyond +-200 exp overflows and vanishes in fp32; rows of both kinds and tame ones mix."""
    y_ND, table_VD, target_N = make_inputs()
    y_ND.data[::3] *= 60
    y_ND.data[1] = table_VD[target_N[1]] * -40  # the right token is the least likely
    logits_NV = linear(y_ND, table_VD)
    assert logits_NV.max() > 200 and logits_NV.min() < -200
    check(ours(y_ND, table_VD, target_N, smoothing), theirs(y_ND, table_VD, target_N, smoothing))


@pytest.mark.parametrize("shift", [-200.0, -90.0, 90.0, 200.0])
def test_a_constant_added_to_all_logits_changes_nothing(shift: float) -> None:
    """All of a row's exponentials overflow, or all vanish."""
    y_ND, table_VD, target_N = make_inputs()
    one = torch.ones(N, 1)
    longer_ND = torch.cat([y_ND.detach(), one * shift], 1).requires_grad_()
    wider_VD = torch.cat([table_VD.detach(), torch.ones(V, 1)], 1).requires_grad_()
    loss, y_grad, table_grad = ours(longer_ND, wider_VD, target_N, 0.1)
    expected = theirs(y_ND, table_VD, target_N, 0.1)
    check((loss, y_grad[:, :-1], table_grad[:, :-1]), expected, tolerance=1e-4)
    torch.testing.assert_close(y_grad[:, -1], torch.zeros(N), rtol=0, atol=1e-4)


def test_under_bf16_autocast() -> None:
    """Close to fp32, gradients in the dtype of their operands: 8 bits of mantissa, so 2 %."""
    exact = theirs(*make_inputs(), 0.1)
    with torch.autocast("cpu", torch.bfloat16):
        loss = smoothed_cross_entropy(*make_inputs(), 0.1)
        assert loss.dtype == torch.float32
        found = ours(*make_inputs(), 0.1)
    check(found, exact, tolerance=0.02)
    assert abs(found[0] / exact[0] - 1) < 2e-3


def test_the_incoming_gradient_is_a_factor() -> None:
    y_ND, table_VD, target_N = make_inputs()
    loss = smoothed_cross_entropy(y_ND, table_VD, target_N, 0.1)
    (loss / 7).backward()
    _, y_grad, table_grad = theirs(*make_inputs(), 0.1)
    torch.testing.assert_close(y_ND.grad, y_grad / 7)
    torch.testing.assert_close(table_VD.grad, table_grad / 7)


def test_one_position_one_chunk() -> None:
    y_ND, table_VD, target_N = make_inputs()
    one = y_ND[:1].detach().requires_grad_(), table_VD, target_N[:1]
    check(ours(*one, 0.1), theirs(*one, 0.1))

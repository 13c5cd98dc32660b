"""The dropout kernel: how much it keeps, how it scales, what it depends on, where it is not."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from glassformer.engine.kernels import dropout
from glassformer.engine.kernels.dropout import STEPS, Dropout, DropoutStream

STREAM = DropoutStream()
SHAPES = [(1,), (7,), (3, 5), (2, 3, 129), (0, 4)]


def drop(x: Tensor, p: float = 0.3, key: tuple[int, ...] = (1,)) -> Tensor:
    STREAM.seed(*key)
    return Dropout(p, STREAM)(x)


@pytest.mark.parametrize("is_in_c", [True, False])
@pytest.mark.parametrize("p", [0.1, 0.3, 0.5, 0.9, 1 / STEPS])
def test_the_share_that_is_kept(p: float, is_in_c: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within 5 standard deviations of the binomial distribution."""
    if not is_in_c:
        monkeypatch.setattr(dropout, "_open", lambda: None)
    count = 400_000
    kept = int(drop(torch.ones(count), p).count_nonzero())
    share = round((1 - p) * STEPS) / STEPS
    assert abs(kept - count * share) < 5 * math.sqrt(count * share * (1 - share))


def test_neighbours_are_independent() -> None:
    """16 bits decide about each of four values of a random number: none knows of another."""
    kept = (drop(torch.ones(400_000), 0.5) != 0).view(-1, 4).float()
    apart = torch.corrcoef(kept.T) - torch.eye(4)
    assert apart.abs().max() < 5 / math.sqrt(len(kept))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", SHAPES)
def test_kept_values_are_scaled_and_others_are_0(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    x = torch.randn(shape).to(dtype)
    found = drop(x)
    assert found.dtype == dtype and found.shape == x.shape
    whole = x * (STEPS / round(0.7 * STEPS))
    assert torch.equal(found, torch.where(found == 0, 0, whole))


def test_infinity_and_nan_are_dropped_like_any_other() -> None:
    for value in (math.inf, math.nan):
        found = drop(torch.full((1000,), value))
        assert 0 < int((found == 0).sum()) < 1000


@pytest.mark.parametrize("is_in_c", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_gradient_is_masked_and_scaled_alike(
    dtype: torch.dtype, is_in_c: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In C, in its twin where there is no compiler, and in fp16, for which there is only a twin."""
    if not is_in_c:
        monkeypatch.setattr(dropout, "_open", lambda: None)
    x = torch.randn(6, 11, dtype=dtype).t().requires_grad_()  # not contiguous
    gradient = torch.randn(6, 11, dtype=dtype).t()
    found = drop(x)
    found.backward(gradient)
    scale = STEPS / round(0.7 * STEPS)
    assert x.grad is not None and x.grad.dtype == dtype
    assert torch.equal(x.grad, torch.where(found == 0, 0, gradient * scale))


def test_layout_in_memory_does_not_matter() -> None:
    x = torch.randn(8, 6, 10)
    for view in (x.transpose(0, 2), x[::2, 1:, ::3], x[:, :1].expand(8, 6, 10)):
        assert torch.equal(drop(view), drop(view.contiguous()))


def test_the_input_is_not_written_on() -> None:
    x = torch.randn(50)
    before = x.clone()
    drop(x)
    assert torch.equal(x, before)


def test_the_key_decides() -> None:
    """The same key, the same mask; another key, or later in the stream, another mask."""
    x = torch.ones(1000)
    assert torch.equal(drop(x, key=(1, 2, 3)), drop(x, key=(1, 2, 3)))
    masks = [drop(x, key=key) for key in [(1, 2, 3), (1, 2, 4), (1, 3, 2), (123,)]]
    masks.append(Dropout(0.3, STREAM)(x))
    for i, mask in enumerate(masks):
        assert not any(torch.equal(mask, other) for other in masks[:i])


def test_the_key_decides_for_torch_too() -> None:
    """What is not on this kernel's path draws from torch's generator."""
    x = torch.ones(1000, dtype=torch.float64)
    assert torch.equal(drop(x), drop(x))
    assert not torch.equal(drop(x), drop(x, key=(2,)))


def test_off_it_returns_the_very_input() -> None:
    x = torch.randn(9)
    assert Dropout(0.0, STREAM)(x) is x
    assert Dropout(0.5, STREAM).eval()(x) is x

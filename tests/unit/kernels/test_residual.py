"""Dropout, residual and LayerNorm in one pass, against the lines that say so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from glassformer.engine.kernels import residual
from glassformer.engine.kernels.dropout import Dropout, DropoutStream
from glassformer.engine.kernels.precision import RoundedCopy

pytestmark = pytest.mark.skipif(residual._open() is None, reason="no compiler")

SHAPES = [(1, 1, 1), (2, 3, 40), (5, 13, 128), (70, 2, 33)]
LOW = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
STREAM, ROUNDED = DropoutStream(), RoundedCopy()
Way = Callable[[Tensor, Tensor, Dropout, nn.Module, RoundedCopy], Tensor]


def run(
    way: Way, shape: tuple[int, ...], dtype: torch.dtype, p: float, spread: float = 1.0
) -> tuple[Tensor, ...]:
    """What comes out, twice: in fp32 and lowered; and the gradients of x, y, gain and bias."""
    torch.manual_seed(1)
    x = (spread * torch.randn(shape)).requires_grad_()
    y = (spread * torch.randn(shape)).to(dtype).requires_grad_()
    norm = nn.LayerNorm(shape[-1])
    nn.init.normal_(norm.weight), nn.init.normal_(norm.bias)
    one, two = torch.randn(shape), torch.randn(shape).to(dtype)
    STREAM.seed(4)
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.bfloat16):
        high = way(x, y, Dropout(p, STREAM), norm, ROUNDED)
        low = ROUNDED.lower(high)
    loss = (high * one).sum() + (low * two).sum()
    wanted = (x, y, norm.weight, norm.bias)
    return high, low, *torch.autograd.grad(loss, wanted, allow_unused=True)


def plain_add_norm(
    x: Tensor, y: Tensor, dropout: Dropout, norm: nn.Module, rounded: RoundedCopy
) -> Tensor:
    normed: Tensor = norm(x + dropout(y))
    return normed


def compare(
    ours: Way,
    plain: Way,
    shape: tuple[int, ...],
    dtype: torch.dtype,
    p: float,
    spread: float = 1.0,
) -> None:
    share = (
        2e-5 if dtype == torch.float32 else 0.02
    )  # the lowered gradient is rounded before or after
    for found, expected in zip(
        run(ours, shape, dtype, p, spread), run(plain, shape, dtype, p, spread), strict=True
    ):
        if expected is None:
            assert found is None
            continue
        assert found.dtype == expected.dtype
        apart, largest = (found - expected).abs().max(), expected.abs().max()
        assert apart <= share * max(1, largest)


@LOW
@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_add_norm(shape: tuple[int, ...], p: float, dtype: torch.dtype) -> None:
    compare(residual.add_norm, plain_add_norm, shape, dtype, p)


def test_rows_that_hardly_vary() -> None:
    """There it shows that epsilon is added to the variance, not to its root."""
    compare(residual.add_norm, plain_add_norm, (5, 13, 128), torch.float32, 0.3, spread=2e-3)


@LOW
@pytest.mark.parametrize("p", [0.0, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_add(shape: tuple[int, ...], p: float, dtype: torch.dtype) -> None:
    compare(
        lambda x, y, dropout, norm, rounded: residual.add(x, y, dropout, rounded),
        lambda x, y, dropout, norm, rounded: x + dropout(y),
        shape,
        dtype,
        p,
    )


@LOW
@pytest.mark.parametrize("shape", SHAPES)
def test_normalize(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    compare(
        lambda x, y, dropout, norm, rounded: residual.normalize(x, norm, rounded),
        lambda x, y, dropout, norm, rounded: rounded.lower(norm(x)),
        shape,
        dtype,
        0.0,
    )


def test_rows_of_a_part_fall_as_in_the_whole() -> None:
    x, y, norm, dropout = (
        torch.zeros(9, 4, 24),
        torch.ones(9, 4, 24),
        nn.LayerNorm(24),
        Dropout(0.5, STREAM),
    )
    STREAM.seed(1, 2)
    whole = residual.add_norm(x, y, dropout, norm, ROUNDED)
    for start, end in ((0, 2), (2, 7), (7, 9)):
        STREAM.seed(1, 2, part=(start, 9))
        assert torch.equal(
            residual.add_norm(x[start:end], y[start:end], dropout, norm, ROUNDED), whole[start:end]
        )


def test_the_number_of_threads_does_not_matter() -> None:
    threads, found = torch.get_num_threads(), []
    for several in (1, 2, 3):
        torch.set_num_threads(several)
        try:
            found.append(run(residual.add_norm, (70, 5, 64), torch.bfloat16, 0.1))
        finally:
            torch.set_num_threads(threads)
    for others in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], others, strict=True))


def test_others_take_the_plain_way() -> None:
    """Another norm, another precision, another shape: the kernel does not know them."""
    x, y = torch.randn(2, 3, 8), torch.randn(2, 3, 8)
    scale, drop = nn.Linear(8, 8), Dropout(0.0, STREAM)
    assert torch.equal(residual.add_norm(x, y, drop, scale, ROUNDED), scale(x + y))
    double = nn.LayerNorm(8).double()
    assert residual.add_norm(x.double(), y.double(), drop, double, ROUNDED).dtype == torch.float64
    norm = nn.LayerNorm(8)
    assert torch.equal(residual.add_norm(x, y[:1], drop, norm, ROUNDED), norm(x + y[:1]))


@pytest.mark.parametrize("default", [torch.bfloat16, torch.float64])
def test_what_torch_makes_by_default_does_not_matter(default: torch.dtype) -> None:
    x, norm = torch.randn(70, 33, requires_grad=True), nn.LayerNorm(33)
    ask, drop = (x, norm.weight, norm.bias), Dropout(0.0, STREAM)
    wanted = torch.autograd.grad(residual.add_norm(x, x.detach(), drop, norm, ROUNDED).sum(), ask)
    torch.set_default_dtype(default)
    try:
        found = torch.autograd.grad(
            residual.add_norm(x, x.detach(), drop, norm, ROUNDED).sum(), ask
        )
    finally:
        torch.set_default_dtype(torch.float32)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)

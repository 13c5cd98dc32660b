"""Attention of training in C against the plain twin: odd shapes, both precisions, dropout."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from glassformer.engine.kernels import heads
from glassformer.engine.kernels.dropout import Dropout, DropoutStream

pytestmark = pytest.mark.skipif(heads._open() is None, reason="no compiler")

# sentences, heads, queries, keys, width
SHAPES = [
    (1, 1, 1, 1, 1),
    (2, 3, 5, 7, 4),
    (3, 2, 17, 16, 33),
    (2, 4, 12, 12, 64),
    (1, 2, 40, 300, 32),
    (2, 1, 100, 3, 128),
]
STREAM = DropoutStream()
OFF = Dropout(0.0, STREAM)
BOTH = pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])


def plain(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, dropout: Dropout) -> Tensor:
    scores = (q @ k.mT / math.sqrt(q.size(-1))).masked_fill(~mask, -math.inf)
    return dropout(scores.softmax(-1)) @ v


def make(shape: tuple[int, ...], dtype: torch.dtype) -> tuple[list[Tensor], Tensor, Tensor]:
    """Queries, keys and values side by side where they can be, as one product makes them."""
    b, h, q, m, k = shape
    torch.manual_seed(q)
    if q == m:
        several = torch.randn(b, q, 3, h, k).to(dtype).unbind(2)
    else:
        several = tuple(torch.randn(b, n, h, k).to(dtype) for n in (q, m, m))
    operands = [x.transpose(1, 2).requires_grad_() for x in several]
    mask = torch.rand(b, 1, q, m) < 0.7
    mask[..., 0] = True  # everybody sees something
    return operands, mask, torch.randn(b, h, q, k).to(dtype)


@pytest.mark.parametrize(
    ("changes", "wanted"),
    [
        ({}, True),
        ({"x": torch.ones(2, 3, 4, 5, dtype=torch.float64)}, False),
        ({"memory": torch.ones(2, 3, 6, 5, dtype=torch.bfloat16)}, False),
        ({"x": torch.ones(2, 3, 0, 5)}, False),
        ({"memory": torch.ones(2, 3, 0, 5)}, False),
        ({"mask": torch.ones(4, 6, dtype=torch.bool)}, False),
        ({"mask": torch.ones(2, 3, 4, 6, dtype=torch.bool)}, False),
        ({"mask": torch.ones(2, 1, 4, 6)}, False),
        ({"mask": torch.ones(2, 1, 4, 6, dtype=torch.bool, device="meta")}, False),
        ({"x": torch.ones(2, 3, 4, 5, device="meta")}, False),
    ],
)
def test_what_it_cannot_do_is_left_to_its_twin(changes: dict[str, Tensor], wanted: bool) -> None:
    given = {
        "x": torch.ones(2, 3, 4, 5),
        "memory": torch.ones(2, 3, 6, 5),
        "mask": torch.ones(2, 1, 4, 6, dtype=torch.bool),
    }
    assert heads.can_attend_heads(**given | changes) == wanted


@BOTH
@pytest.mark.parametrize("lay", ["turned", "every other", "one column", "one row", "one for all"])
def test_a_mask_may_lie_anyhow(lay: str, dtype: torch.dtype) -> None:
    operands, mask, _ = make((3, 2, 9, 20, 8), dtype)
    mask = {
        "turned": mask.mT.contiguous().mT,
        "every other": torch.stack((mask, ~mask), -1)[..., 0],
        "one column": mask[..., :1],
        "one row": mask[:, :, :1],
        "one for all": mask[:1],
    }[lay]
    found, expected = (heads.Attend.apply(*operands, m, OFF) for m in (mask, mask.clone()))
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    exact = plain(*(x.float() for x in operands), mask, OFF)
    assert (found - exact).abs().max() < (1e-5 if dtype == torch.float32 else 0.03)


@BOTH
@pytest.mark.parametrize("p", [0.0, 0.4])
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_the_plain_twin(shape: tuple[int, ...], p: float, dtype: torch.dtype) -> None:
    operands, mask, gradient = make(shape, dtype)
    dropout, share = Dropout(p, STREAM), 1e-5 if dtype == torch.float32 else 0.02
    STREAM.seed(8)
    found = heads.Attend.apply(*operands, mask, dropout)
    exact = [x.detach().float().requires_grad_() for x in operands]
    STREAM.seed(8)
    expected = plain(*exact, mask, dropout)
    pairs = [(found, expected)]
    pairs += zip(
        torch.autograd.grad(found, operands, gradient),
        torch.autograd.grad(expected, exact, gradient.float()),
        strict=True,
    )
    for one, other in pairs:
        assert one.dtype == dtype and one.shape == other.shape
        assert (one.float() - other).abs().max() <= share * max(1, other.abs().max())


@BOTH
@pytest.mark.parametrize("shape", [(3, 1, 1, 7), (1, 1, 5, 7), (3, 1, 5, 1)])
def test_masks_that_many_share(shape: tuple[int, ...], dtype: torch.dtype) -> None:
    (q, k, v), _, _ = make((3, 2, 5, 7, 8), dtype)
    mask = torch.rand(shape) < 0.6
    mask[..., 0] = True
    found = heads.Attend.apply(q, k, v, mask, OFF)
    whole = heads.Attend.apply(q, k, v, mask.expand(3, 1, 5, 7).contiguous(), OFF)
    assert torch.equal(found, whole)


@BOTH
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_masked_may_be_anything(value: float, dtype: torch.dtype) -> None:
    (q, k, v), mask, _ = make((2, 2, 5, 20, 8), dtype)
    mask[:, :, :, 13:] = False
    expected = heads.Attend.apply(q, k, v, mask, OFF)
    k = k.detach().clone()
    k[:, :, 13:] = value
    assert torch.equal(heads.Attend.apply(q, k, v, mask, OFF), expected)


@BOTH
def test_a_score_that_is_no_number_is_not_hidden(dtype: torch.dtype) -> None:
    """An update that goes wrong has to be seen."""
    (q, k, v), mask, _ = make((2, 2, 5, 7, 8), dtype)
    k = k.detach().clone()
    k[0, 0, 0] = math.nan
    found = heads.Attend.apply(q, k, v, mask, OFF)
    assert found[0, 0].isnan().all() and found[1].isfinite().all()


@BOTH
def test_the_number_of_threads_does_not_matter(dtype: torch.dtype) -> None:
    operands, mask, gradient = make((5, 3, 12, 12, 16), dtype)
    threads, found = torch.get_num_threads(), []
    for several in (1, 2, 3):
        torch.set_num_threads(several)
        try:
            STREAM.seed(2)
            answer = heads.Attend.apply(*operands, mask, Dropout(0.2, STREAM))
            found.append((answer, *torch.autograd.grad(answer, operands, gradient)))
        finally:
            torch.set_num_threads(threads)
    for others in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], others, strict=True))

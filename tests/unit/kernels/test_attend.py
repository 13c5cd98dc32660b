"""The attention kernel against its plain twin, the three lines of equation 1."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from glassformer.config import Model
from glassformer.engine.kernels import attend as kernel
from glassformer.engine.kernels.attend import attend
from glassformer.engine.kernels.dropout import Dropout, DropoutStream
from glassformer.model.attention import MultiHeadAttention

B, H, Q, M, K = 3, 2, 5, 7, 6
STREAM = DropoutStream()
OFF = Dropout(0.0, STREAM)
plain = MultiHeadAttention(Model(d_model=12, heads=H)).attend
CAUSAL = torch.ones(1, 1, M, M, dtype=torch.bool).tril()[:, :, -Q:]
PADDING = torch.arange(M)[None, None, None] < torch.tensor([1, 4, M])[:, None, None, None]
MASKS = {
    "all": torch.ones(1, 1, 1, M) > 0,
    "causal": CAUSAL,
    "padding": PADDING,
    "both": CAUSAL & PADDING,
}


@pytest.fixture(autouse=True, params=["in C", "in torch"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to do it, where the first is there."""
    if request.param == "in torch":
        monkeypatch.setattr(kernel.heads, "can_attend_heads", lambda *_: False)


def make_inputs(spread: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """Queries as the network has them: views with their axes swapped."""
    torch.manual_seed(5)
    q_BHQK = (spread * torch.randn(B, Q, H, K)).transpose(1, 2)
    k_BHMK, v_BHMK = (torch.randn(B, M, H, K).transpose(1, 2) for _ in range(2))
    return q_BHQK.requires_grad_(), k_BHMK.requires_grad_(), v_BHMK.requires_grad_()


def read_weights(q_BHQK: Tensor, k_BHMK: Tensor, mask: Tensor) -> Tensor:
    """Where the values are the unit vectors, the answer is the weights."""
    return attend(q_BHQK, k_BHMK, torch.eye(M).expand(B, H, M, M), mask, OFF)


@pytest.mark.parametrize("spread", [1.0, 100.0])  # on the fast path, and beyond it
@pytest.mark.parametrize("name", MASKS)
def test_equals_the_plain_twin(name: str, spread: float) -> None:
    """The values and the gradients of all three operands."""
    gradient = torch.randn(B, H, Q, K, generator=torch.Generator().manual_seed(6))
    found = []
    for function in (lambda q, k, v, mask: attend(q, k, v, mask, OFF), plain):
        inputs = make_inputs(spread)
        answer = function(*inputs, MASKS[name])
        found.append((answer, *torch.autograd.grad(answer, inputs, gradient)))
    for actual, expected in zip(*found, strict=True):
        apart, largest = (actual - expected).abs().max().item(), expected.abs().max().item()
        assert apart <= 1e-5 * max(1, largest)


@pytest.mark.parametrize("spread", [1.0, 100.0])
@pytest.mark.parametrize("name", MASKS)
def test_weights_are_a_distribution(name: str, spread: float) -> None:
    q_BHQK, k_BHMK, _ = make_inputs(spread)
    weights_BHQM = read_weights(q_BHQK, k_BHMK, MASKS[name])
    hidden = ~MASKS[name].expand(B, H, Q, M)
    assert (weights_BHQM[hidden] == 0).all(), "exactly nothing from what is masked"
    torch.testing.assert_close(weights_BHQM.sum(-1), torch.ones(B, H, Q), rtol=0, atol=1e-6)


@pytest.mark.parametrize("spread", [1.0, 100.0])
def test_one_key_alone_gets_exactly_1(spread: float) -> None:
    q_BHQK, k_BHMK, _ = make_inputs(spread)
    only = torch.eye(M, dtype=torch.bool)[:Q]
    weights_BHQM = read_weights(q_BHQK, k_BHMK, only[None, None])
    assert torch.equal(weights_BHQM, only.float().expand(B, H, Q, M))


@pytest.mark.parametrize("low", [-59.9, 0.0, 59.9, 1000.0, -1000.0])
def test_close_to_the_limit_of_the_fast_path(low: float) -> None:
    """A row of scores near +-SAFE still weighs its keys by their differences."""
    scores = low + torch.linspace(-0.09, 0.09, M)
    q, k = torch.ones(1, 1, 1, 1), scores[None, None, :, None]
    weights = attend(q, k, torch.eye(M)[None, None], MASKS["all"], OFF)[0, 0, 0]
    torch.testing.assert_close(weights, scores.softmax(0), rtol=1e-6, atol=0)


def test_a_masked_key_may_be_anything() -> None:
    """Its score may be infinite; nobody sees it."""
    q_BHQK, k_BHMK, v_BHMK = make_inputs()
    expected = attend(q_BHQK, k_BHMK, v_BHMK, MASKS["padding"], OFF)
    wild = k_BHMK.detach().masked_fill(~PADDING.mT, math.inf)
    torch.testing.assert_close(attend(q_BHQK, wild, v_BHMK, MASKS["padding"], OFF), expected)


def test_backward_may_run_again() -> None:
    inputs = make_inputs()
    answer = attend(*inputs, CAUSAL, OFF).square().sum()
    first = torch.autograd.grad(answer, inputs, retain_graph=True)
    for one, other in zip(first, torch.autograd.grad(answer, inputs), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_under_autocast(dtype: torch.dtype) -> None:
    """Sums are fp32 there as well: a row is off by no more than its own rounding to bf16."""
    q_BHQK, k_BHMK, _ = (x.detach() for x in make_inputs())
    exact = read_weights(q_BHQK, k_BHMK, CAUSAL)
    with torch.autocast("cpu", torch.bfloat16):
        weights_BHQM = kernel._Weights.apply(q_BHQK.to(dtype), k_BHMK.to(dtype), CAUSAL)
    assert weights_BHQM.dtype == dtype
    off = (weights_BHQM.float().sum(-1) - 1).abs().max()
    assert off < (1e-6 if dtype == torch.float32 else 2**-8)
    torch.testing.assert_close(weights_BHQM.float(), exact, rtol=0, atol=0.02)


def test_dropout_falls_on_the_weights() -> None:
    """In the plain twin too: from the same key, the same weights fall."""
    attention, dropout = MultiHeadAttention(Model(d_model=12, heads=H)), Dropout(0.5, STREAM)
    attention.dropout = dropout
    q_BHQK, k_BHMK, _ = make_inputs()
    operands = q_BHQK, k_BHMK, torch.eye(M).expand(B, H, M, M), MASKS["all"]
    STREAM.seed(3)
    found = attend(*operands, dropout)
    whole = read_weights(q_BHQK, k_BHMK, MASKS["all"])
    assert 0 < int((found == 0).sum()) < found.numel()
    torch.testing.assert_close(found, torch.where(found == 0, 0, 2 * whole))
    STREAM.seed(3)
    torch.testing.assert_close(attention.attend(*operands), found)


def test_wide_scores_take_the_careful_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both paths exist: the spread of the tests above reaches each."""
    monkeypatch.setattr(kernel.heads, "can_attend_heads", lambda *_: False)
    taken = []
    monkeypatch.setattr(kernel, "_sum", lambda x: taken.append(1) or x.sum(-1, keepdim=True))
    for spread in (1.0, 100.0):
        attend(*make_inputs(spread), CAUSAL, OFF)
    assert len(taken) == 1

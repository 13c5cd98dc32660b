"""Fast attention, softmax(Q Kᵀ / √d_k) V, without taps of its steps (paper 3.2.1).

The plain twin, which is the definition, is `MultiHeadAttention.attend`. On a GPU this calls
PyTorch's fused kernel. On a CPU that kernel and `softmax` are slow on rows of a sentence's length,
so there the exponentials are taken of the whole tensor at once.

Letters: B sentences; H heads; Q query positions; M memory positions; K width of one head.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from . import heads
from .dropout import Dropout

SAFE = 60.0  # exp of scores within +-SAFE neither overflows nor underflows when summed in fp32


def attend(
    q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, mask: Tensor, dropout: Dropout
) -> Tensor:
    """Return the weighted sum of values, B H Q K. `mask` is True where a query may attend."""
    if q_BHQK.device.type != "cpu":
        p = dropout.p if dropout.training else 0.0
        return scaled_dot_product_attention(q_BHQK, k_BHMK, v_BHMK, mask, p)
    is_even = v_BHMK.shape == k_BHMK.shape and v_BHMK.dtype == k_BHMK.dtype
    if is_even and dropout.training and heads.can_attend_heads(q_BHQK, k_BHMK, mask):
        result: Tensor = heads.Attend.apply(q_BHQK, k_BHMK, v_BHMK, mask, dropout)  # type: ignore[no-untyped-call]
        return result
    q_BHQK, k_BHMK, v_BHMK = (x.contiguous() for x in (q_BHQK, k_BHMK, v_BHMK))
    weights: Tensor = _Weights.apply(q_BHQK, k_BHMK, mask)  # type: ignore[no-untyped-call]
    return dropout(weights) @ v_BHMK


class _Weights(torch.autograd.Function):
    """The attention weights softmax(Q Kᵀ / √d_k) over the keys that are not masked, B H Q M."""

    @staticmethod
    def forward(ctx: Any, q_BHQK: Tensor, k_BHMK: Tensor, mask: Tensor) -> Tensor:
        ctx.scale = 1 / math.sqrt(q_BHQK.size(-1))
        scores_BHQM = (q_BHQK @ k_BHMK.mT).float().mul_(ctx.scale)
        weights_BHQM = _softmax(scores_BHQM, mask).to(q_BHQK.dtype)
        ctx.save_for_backward(q_BHQK, k_BHMK, weights_BHQM)
        return weights_BHQM

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        q_BHQK, k_BHMK, weights_BHQM = ctx.saved_tensors
        weights = weights_BHQM.float()
        grad_BHQM = weights * grads[0]
        grad_BHQM.addcmul_(weights, _sum(grad_BHQM), value=-1)
        grad_BHQM = grad_BHQM.mul_(ctx.scale).to(q_BHQK.dtype)
        return grad_BHQM @ k_BHMK, grad_BHQM.mT @ q_BHQK, None


def _softmax(scores_BHQM: Tensor, mask: Tensor) -> Tensor:
    """Return the softmax over the last axis, exactly 0 where masked; overwrite `scores_BHQM`."""
    low, high = torch.aminmax(scores_BHQM)
    if not (low.item() > -SAFE and high.item() < SAFE):  # NaN lands here too
        return scores_BHQM.masked_fill_(~mask, -math.inf).softmax(-1)
    scores_BHQM.exp_().mul_(mask)
    return scores_BHQM.div_(_sum(scores_BHQM))


def _sum(x_BHQM: Tensor) -> Tensor:
    """Return the sums over the last axis, which is kept, in fp32.

    On short rows a product with ones is faster than `sum`.
    """
    with torch.autocast(x_BHQM.device.type, enabled=False):
        return x_BHQM @ x_BHQM.new_ones(x_BHQM.size(-1), 1)

"""The residual connection, x + dropout(y), and its LayerNorm in one pass: `native/train_norm.c`.

The plain twin is the one-line formula in each function. Where products are in bf16, an fp32 result
is written in bf16 as well, which `rounded` keeps for the next product.

Letters: B sentences; L positions; D model width.
"""

import ctypes
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn

from .calls import call, open_kernels
from .dropout import Draw, Dropout
from .precision import RoundedCopy, working_dtype

ROWS = 64  # rows in a partial sum of the gradients of gain and bias; the C source has it too
DTYPES = (torch.float32, torch.bfloat16)


@cache
def _open() -> ctypes.CDLL | None:
    return open_kernels(
        "train_norm",
        add_norm="pp i pl pp f ll pppp i",
        add_norm_backward="pppp i pl ppp ll ppppp i",
    )


def add_norm(
    x_BLD: Tensor, y_BLD: Tensor, dropout: Dropout, norm: nn.Module, rounded: RoundedCopy
) -> Tensor:
    """Return LayerNorm(x + dropout(y)), B L D."""
    if not (_is_ours(x_BLD, y_BLD, dropout) and _is_plain(norm, x_BLD)):
        normed_BLD: Tensor = norm(x_BLD + dropout(y_BLD))
        return normed_BLD
    weights = norm.weight, norm.bias, norm.eps
    result = _AddNorm.apply(x_BLD, y_BLD, *weights, dropout.draw(), working_dtype(x_BLD))  # type: ignore[no-untyped-call]
    return rounded.keep(*result)


def add(x_BLD: Tensor, y_BLD: Tensor, dropout: Dropout, rounded: RoundedCopy) -> Tensor:
    """Return x + dropout(y), B L D."""
    if not _is_ours(x_BLD, y_BLD, dropout):
        return x_BLD + dropout(y_BLD)
    result = _AddNorm.apply(x_BLD, y_BLD, None, None, 0.0, dropout.draw(), x_BLD.dtype)  # type: ignore[no-untyped-call]
    return rounded.keep(*result)


def normalize(x_BLD: Tensor, norm: nn.Module, rounded: RoundedCopy) -> Tensor:
    """Return LayerNorm(x), B L D, in the precision of the product that reads it."""
    if not (norm.training and _is_ours(x_BLD, None, None) and _is_plain(norm, x_BLD)):
        return rounded.lower(norm(x_BLD))
    high, low = _AddNorm.apply(  # type: ignore[no-untyped-call]
        x_BLD, None, norm.weight, norm.bias, norm.eps, Draw(), working_dtype(x_BLD)
    )
    return high if low is None else low


def _is_ours(x: Tensor, y: Tensor | None, dropout: Dropout | None) -> bool:
    return (
        (dropout is None or dropout.training)
        and x.device.type == "cpu"
        and x.dtype == torch.float32
        and (y is None or (y.shape == x.shape and y.is_cpu and y.dtype in DTYPES))
        and working_dtype(x) in DTYPES
        and x.numel() > 0
        and _open() is not None
    )


def _is_plain(norm: nn.Module, x: Tensor) -> bool:
    return (
        type(norm) is nn.LayerNorm
        and norm.normalized_shape == x.shape[-1:]
        and norm.weight is not None
        and norm.bias is not None
        and all(p.dtype == torch.float32 and p.is_cpu for p in norm.parameters(recurse=False))
        and not (norm._forward_hooks or norm._forward_pre_hooks or norm._backward_hooks)
    )


class _AddNorm(torch.autograd.Function):
    """LayerNorm(x + dropout(y)) with its gradient, as an fp32 and a bf16 tensor.

    Without y and with bf16 products, the fp32 tensor is None; with fp32 products, the bf16 tensor
    is None. Without a gain, only the sum is computed.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        y: Tensor | None,
        gain_D: Tensor | None,
        bias_D: Tensor | None,
        epsilon: float,
        draw: Draw,
        dtype: torch.dtype,
    ) -> tuple[Tensor | None, Tensor | None]:
        ctx.set_materialize_grads(False)
        library = _open()
        assert library is not None
        x, y = x.contiguous(), None if y is None else y.contiguous()
        width = x.size(-1)
        rows = x.numel() // width
        is_low = dtype == torch.bfloat16
        high = None if y is None and is_low else torch.empty_like(x)
        low = torch.empty_like(x, dtype=dtype) if is_low else None
        mean, slant = (x.new_empty(rows if gain_D is not None else 0) for _ in range(2))
        ctx.draw = draw = draw.at_rows(rows // len(x))
        added = x, y, y is not None and y.dtype == torch.bfloat16, *draw.arguments
        result = high, low, mean, slant
        call(library.add_norm, *added, gain_D, bias_D, epsilon, rows, width, *result)
        ctx.save_for_backward(x if gain_D is not None else None, y, gain_D, mean, slant)
        ctx.shape, ctx.low = x.shape, None if y is None else y.dtype
        return high, low

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        library = _open()
        assert library is not None
        x, y, gain_D, mean, slant = ctx.saved_tensors
        high, low = (None if g is None else g.contiguous() for g in grads)
        if high is None and low is None:
            return (None,) * 7
        width = ctx.shape[-1]
        rows = ctx.shape.numel() // width
        fp32 = partial(torch.empty, dtype=torch.float32)
        dx = fp32(ctx.shape) if gain_D is not None or low is not None else None
        dy = None if ctx.low is None else torch.empty(ctx.shape, dtype=ctx.low)
        gradients = [fp32(width if gain_D is not None else 0) for _ in range(2)]
        parts = fp32(-(-rows // ROWS) * 2 * width)
        added = x, y, ctx.low == torch.bfloat16, *ctx.draw.arguments
        read, result = (gain_D, mean, slant), (dx, dy, parts, *gradients)
        call(library.add_norm_backward, high, low, *added, *read, rows, width, *result)
        dgain, dbias = gradients if gain_D is not None else (None, None)
        return high if dx is None else dx, dy, dgain, dbias, None, None, None

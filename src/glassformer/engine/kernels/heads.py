"""Attention for training, one head of one sentence at a time: `native/train_attend.c`.

Heads are read and written in place, without copies to contiguous memory. The plain twin is
`MultiHeadAttention.attend`.

Letters: B sentences; H heads; Q query positions; M memory positions; K width of one head.
"""

import ctypes
from functools import cache
from typing import Any

import torch
from torch import Tensor

from .calls import call, load_library, point_apart
from .dropout import Draw, Dropout
from .tiles import has_tiles

_POINTER, _LONG, _INT = ctypes.c_void_p, ctypes.c_long, ctypes.c_int
DTYPES = (torch.float32, torch.bfloat16)


class _Heads(ctypes.Structure):
    _fields_ = (("start", _POINTER), ("of_batch", _LONG), ("of_row", _LONG))


@cache
def _open() -> ctypes.CDLL | None:
    library = load_library("train_attend")
    if library is not None:
        heads: list[Any] = [_Heads] * 4
        sizes: list[Any] = [_LONG] * 6
        masks = [_POINTER, _LONG, _LONG, _LONG, _POINTER, *sizes, _INT]
        gradients = [_POINTER, *sizes, _Heads, _Heads, _Heads, _INT]
        library.attend_forward.argtypes = [*heads, _POINTER, _INT, *masks]
        library.attend_backward.argtypes = [*heads, _POINTER, _INT, *gradients]
        if library.has_tiles():
            library.attend_forward_tiles.argtypes = [*heads, _POINTER, *masks]
            library.attend_backward_tiles.argtypes = [*heads, _POINTER, *gradients]
    return library


def _choose(name: str, x: Tensor) -> tuple[Any, ...]:
    """Return the C function for operands like x, and the extra arguments that it takes."""
    library = _open()
    assert library is not None
    if x.dtype == torch.bfloat16 and has_tiles() and library.has_tiles():
        return getattr(library, f"{name}_tiles"), ()
    return getattr(library, name), (x.dtype == torch.bfloat16,)


def can_attend_heads(x: Tensor, memory: Tensor, mask: Tensor) -> bool:
    """Return whether the kernel serves: on a CPU, fp32 or bf16, with one mask for all heads."""
    return (
        x.device.type == "cpu"
        and x.dtype in DTYPES
        and memory.dtype == x.dtype
        and mask.dim() == 4
        and mask.size(1) == 1
        and mask.dtype == torch.bool
        and mask.is_cpu
        and x.numel() > 0
        and memory.numel() > 0
        and _open() is not None
    )


class Attend(torch.autograd.Function):
    """Attention, softmax(Q Kᵀ / √d_k) V, with its gradient; B H Q K, a view of B Q H K."""

    @staticmethod
    def forward(
        ctx: Any, q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, mask: Tensor, dropout: Dropout
    ) -> Tensor:
        q_BHQK, k_BHMK, v_BHMK = map(_lay_out, (q_BHQK, k_BHMK, v_BHMK))
        out_BHQK = torch.empty_like(q_BHQK.transpose(1, 2), memory_format=torch.contiguous_format)
        out_BHQK = out_BHQK.transpose(1, 2)
        ctx.draw = dropout.draw()
        kept_BHQM = attend_heads(q_BHQK, k_BHMK, v_BHMK, mask, ctx.draw, out_BHQK)
        ctx.save_for_backward(q_BHQK, k_BHMK, v_BHMK, kept_BHQM)
        return out_BHQK

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        *operands, kept_BHQM = ctx.saved_tensors
        gradients = [
            torch.empty_like(x.transpose(1, 2), memory_format=torch.contiguous_format)
            for x in operands
        ]
        views = [x.transpose(1, 2) for x in gradients]
        attend_heads_backward(operands, _lay_out(grads[0]), kept_BHQM, ctx.draw, views)
        return (*views, None, None)


def attend_heads(
    q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, mask: Tensor, draw: Draw, out_BHQK: Tensor
) -> Tensor:
    """Write the attention output to `out_BHQK`; return the weights, B H Q M, before dropout."""
    batch, heads, queries, width = q_BHQK.shape
    memory = k_BHMK.size(2)
    _check((q_BHQK, out_BHQK), q_BHQK.shape, q_BHQK.dtype)
    _check((k_BHMK, v_BHMK), torch.Size((batch, heads, memory, width)), q_BHQK.dtype)
    mask = mask.expand(batch, 1, queries, memory)
    assert mask.dtype == torch.bool and mask.device.type == "cpu"
    kept_BHQM = q_BHQK.new_empty(batch, heads, queries, memory)
    function, precision = _choose("attend_forward", q_BHQK)
    operands = map(_describe, (q_BHQK, k_BHMK, v_BHMK, out_BHQK))
    masked = point_apart(mask), *(mask.stride(i) for i in (0, 2, 3))
    sizes = batch, heads, queries, memory, width
    call(function, *operands, kept_BHQM, *precision, *masked, *draw.arguments, *sizes)
    return kept_BHQM


def attend_heads_backward(
    operands: list[Tensor], g_BHQK: Tensor, kept_BHQM: Tensor, draw: Draw, gradients: list[Tensor]
) -> None:
    """Write the gradients by queries, keys and values to `gradients`."""
    q_BHQK, k_BHMK, v_BHMK = operands
    batch, heads, queries, width = q_BHQK.shape
    memory = k_BHMK.size(2)
    _check((q_BHQK, g_BHQK, gradients[0]), q_BHQK.shape, q_BHQK.dtype)
    _check((k_BHMK, v_BHMK, *gradients[1:]), k_BHMK.shape, q_BHQK.dtype)
    assert kept_BHQM.shape == (batch, heads, queries, memory) and kept_BHQM.is_contiguous()
    function, precision = _choose("attend_backward", q_BHQK)
    read, result = (map(_describe, x) for x in ((q_BHQK, k_BHMK, v_BHMK, g_BHQK), gradients))
    sizes = batch, heads, queries, memory, width
    call(function, *read, kept_BHQM, *precision, *draw.arguments, *sizes, *result)


def _lay_out(x_BHLK: Tensor) -> Tensor:
    """Return x in the layout that the kernel reads: heads side by side, values without gaps."""
    width = x_BHLK.size(3)
    if x_BHLK.stride(3) == 1 and x_BHLK.stride(1) == width and x_BHLK.stride(0) >= 0:
        return x_BHLK
    return x_BHLK.transpose(1, 2).contiguous().transpose(1, 2)


def _describe(x_BHLK: Tensor) -> _Heads:
    return _Heads(point_apart(x_BHLK), x_BHLK.stride(0), x_BHLK.stride(2))


def _check(several: tuple[Tensor, ...], shape: torch.Size, dtype: torch.dtype) -> None:
    for x in several:
        assert x.shape == shape and x.dtype == dtype and x.device.type == "cpu"
        assert (x.stride(3) == 1 or shape[3] == 1) and (x.stride(1) == shape[3] or shape[1] == 1)

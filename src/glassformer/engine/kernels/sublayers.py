"""Fused sub-layers for training in bf16 on a processor with AMX tiles.

Between their products nothing is cast or copied, and heads are not rearranged. The plain twins are
the modules of `model/`.

Letters: B sentences; L positions; Q query positions; M memory positions; N positions of all
sentences; D model width; H heads; F inner width.
"""

from typing import Any

import torch
from torch import Tensor, nn

from . import heads, tiles
from .dropout import Draw, Dropout, drop_rows

Linears = tuple[nn.Module, ...]


def can_attend(x_BQD: Tensor, memory_BMD: Tensor, mask: Tensor, linears: Linears) -> bool:
    return can_run(x_BQD, linears) and heads.can_attend_heads(x_BQD, memory_BMD, mask)


def can_run(x_BLD: Tensor, linears: Linears) -> bool:
    """Return whether a sub-layer of these linear maps can be computed here."""
    return (
        x_BLD.dtype == torch.bfloat16
        and x_BLD.device.type == "cpu"
        and x_BLD.numel() > 0
        and all(map(_is_plain, linears))
        and tiles.has_tiles()
    )


def _is_plain(linear: nn.Module) -> bool:
    return (
        type(linear) is nn.Linear
        and type(linear.weight) is nn.Parameter
        and linear.weight.dtype == torch.float32
        and linear.bias is not None
        and not (linear._forward_hooks or linear._forward_pre_hooks or linear._backward_hooks)
    )


def attention(
    x_BQD: Tensor,
    memory_BMD: Tensor,
    mask: Tensor,
    linears: Linears,
    count: int,
    dropout: Dropout,
    packed: tiles.PackedWeights,
) -> Tensor:
    """Return the output of multi-head attention, B Q D, with `count` heads.

    `linears` are the maps to queries, keys, values and the output.
    """
    memory = None if memory_BMD is x_BQD else memory_BMD
    draw = dropout.draw()
    result: Tensor = _Attention.apply(x_BQD, memory, mask, count, draw, packed, *_unfold(linears))  # type: ignore[no-untyped-call]
    return result


def feed_forward(
    x_BLD: Tensor, linears: Linears, dropout: Dropout, packed: tiles.PackedWeights
) -> Tensor:
    """Return max(0, x W₁ + b₁) W₂ + b₂, B L D, with dropout after the maximum."""
    result: Tensor = _FeedForward.apply(x_BLD, dropout.draw(), packed, *_unfold(linears))  # type: ignore[no-untyped-call]
    return result


def _unfold(linears: Linears) -> list[Tensor]:
    """Return the parameters of linear maps as a list: weight, bias, weight, bias ..."""
    return [p for linear in linears for p in (linear.weight, linear.bias)]  # type: ignore[misc]


class _FeedForward(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x_BLD: Tensor, draw: Draw, packed: tiles.PackedWeights, *weights: Tensor
    ) -> Tensor:
        inner, outer = (packed.pack(weights[i : i + 1], weights[i + 1 : i + 2]) for i in (0, 2))
        x_ND = x_BLD.reshape(-1, inner.ins).contiguous()
        hidden_NF = tiles.multiply_tiles(x_ND, inner, relu=True)
        if draw.share:
            hidden_NF = drop_rows(hidden_NF.view(*x_BLD.shape[:-1], -1), draw).view_as(hidden_NF)
        ctx.save_for_backward(x_ND, hidden_NF)
        ctx.packed, ctx.draw, ctx.shape = (inner, outer), draw, x_BLD.shape
        return tiles.multiply_tiles(hidden_NF, outer).view(*x_BLD.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x_ND, hidden_NF = ctx.saved_tensors
        inner, outer = ctx.packed
        g_ND = grads[0].reshape(-1, outer.outs).contiguous()
        # Hidden values are 0 by dropout or by the maximum; either way their gradient is 0.
        g_NF = tiles.multiply_back(g_ND, outer, hidden_NF, ctx.draw.scale)
        grads_outer = tiles.multiply_turned(g_ND, hidden_NF)
        grads_inner = tiles.multiply_turned(g_NF, x_ND)
        dx_BLD = tiles.multiply_back(g_NF, inner).view(ctx.shape)
        return dx_BLD, None, None, *grads_inner, *grads_outer


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x_BQD: Tensor,
        memory_BMD: Tensor | None,
        mask: Tensor,
        count: int,
        draw: Draw,
        kept: tiles.PackedWeights,
        *weights: Tensor,
    ) -> Tensor:
        w, b = weights[::2], weights[1::2]
        x_ND = x_BQD.reshape(-1, x_BQD.size(-1)).contiguous()
        if memory_BMD is None:
            packed = [kept.pack(w[:3], b[:3])]
            read, lengths = [x_ND], [x_BQD.size(1)]
        else:
            packed = [kept.pack(w[:1], b[:1]), kept.pack(w[1:3], b[1:3])]
            read = [x_ND, memory_BMD.reshape(-1, memory_BMD.size(-1)).contiguous()]
            lengths = [x_BQD.size(1), memory_BMD.size(1)]
        output = kept.pack(w[3:], b[3:])
        results = [tiles.multiply_tiles(each, p) for each, p in zip(read, packed, strict=True)]
        operands = _cut(results, lengths, count)
        z_ND = x_ND.new_empty(len(x_ND), output.ins)
        (z_BHQK,) = _cut([z_ND], lengths[:1], count, 1)
        q_BHQK, k_BHMK, v_BHMK = operands
        kept_BHQM = heads.attend_heads(q_BHQK, k_BHMK, v_BHMK, mask, draw, z_BHQK)
        ctx.save_for_backward(*read, *results, z_ND, kept_BHQM)
        ctx.packed, ctx.output, ctx.draw, ctx.count = packed, output, draw, count
        ctx.lengths, ctx.shapes = lengths, (x_BQD.shape, getattr(memory_BMD, "shape", None))
        return tiles.multiply_tiles(z_ND, output).view(*x_BQD.shape[:-1], -1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        several = len(ctx.packed)
        *saved, z_ND, kept_BHQM = ctx.saved_tensors
        read, result = saved[:several], saved[several:]
        g_ND = grads[0].reshape(-1, ctx.output.outs).contiguous()
        grads_output = tiles.multiply_turned(g_ND, z_ND)
        g_z_ND = tiles.multiply_back(g_ND, ctx.output)
        (g_BHQK,) = _cut([g_z_ND], ctx.lengths[:1], ctx.count, 1)
        grads_made = [torch.empty_like(each) for each in result]
        operands, gradients = (_cut(each, ctx.lengths, ctx.count) for each in (result, grads_made))
        heads.attend_heads_backward(operands, g_BHQK, kept_BHQM, ctx.draw, gradients)
        flat: list[Tensor] = []
        for gradient, each in zip(grads_made, read, strict=True):
            w_FI, sum_F = tiles.multiply_turned(gradient, each)
            parts = gradient.size(1) // z_ND.size(1)
            for dw, db in zip(w_FI.chunk(parts), sum_F.chunk(parts), strict=True):
                flat += (dw, db)
        pairs = zip(grads_made, ctx.packed, ctx.shapes, strict=False)
        dx = [tiles.multiply_back(g, packed).view(shape) for g, packed, shape in pairs]
        return dx[0], dx[1] if several == 2 else None, *(None,) * 4, *flat, *grads_output


def _cut(values: list[Tensor], lengths: list[int], count: int, several: int = 3) -> list[Tensor]:
    """Return queries, keys and values that lie side by side as views, each B H L K."""
    width = sum(x.size(1) for x in values) // several // count
    return [
        part.transpose(1, 2)
        for x, length in zip(values, lengths, strict=True)
        for part in x.view(-1, length, x.size(1) // (count * width), count, width).unbind(2)
    ]

"""Cross-entropy with label smoothing (paper 5.4) that never holds all logits at once.

The smoothed target has (1 - e) on the right token and e spread evenly over all V. The gradient is
computed in the forward pass, one chunk of rows at a time, so that the logits of a chunk stay in the
processor's cache. The plain twin is `torch.nn.functional.cross_entropy`.

Letters: N positions; C positions of one chunk; D model width; V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.functional import pad

from . import tiles
from .precision import working_dtype

CELLS = 1 << 23  # logits held at once
ROWS = 64  # chunks are padded to multiples of it: each new shape of a product costs preparation
PARTS = 32  # of the vocabulary; bf16 keeps 8 bits of the sum of a part, and fp32 adds the parts up
SMALLEST = 1e-30  # sums of exponentials between this and its inverse are accurate in fp32


def smoothed_cross_entropy(
    y_ND: Tensor,
    table_VD: Tensor,
    target_N: Tensor,
    smoothing: float,
    packed: tiles.PackedWeights | None = None,
) -> Tensor:
    """Return the summed loss of all N positions, in nats, in fp32. Logits are y_ND @ table_VD.T.

    `packed` may keep the table for other batches of the same update.
    """
    kept = packed or tiles.PackedWeights()
    result: Tensor = _CrossEntropy.apply(y_ND, table_VD, target_N, smoothing, kept)  # type: ignore[no-untyped-call]
    return result


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        y_ND: Tensor,
        table_VD: Tensor,
        target_N: Tensor,
        smoothing: float,
        packed: tiles.PackedWeights,
    ) -> Tensor:
        dtype, vocabulary = working_dtype(y_ND), len(table_VD)
        y = y_ND.to(dtype)
        right_ND = table_VD[target_N].to(dtype).float()  # the row of the right token
        mean_D = table_VD.float().mean(0)
        wanted_ND = right_ND.mul_(1 - smoothing).add_(mean_D, alpha=smoothing)
        high_ND = y.float()
        loss = -(high_ND * wanted_ND).sum()
        grad_ND = torch.empty_like(wanted_ND)
        rows = max(CELLS // vocabulary // ROWS, 1) * ROWS
        result = None
        if dtype == torch.bfloat16 and y.device.type == "cpu" and len(y) and tiles.has_tiles():
            result = _sum_on_tiles(y, packed.pack([table_VD]), rows, grad_ND)
        total, grad_VD = result or _sum(y, table_VD.to(dtype), rows, grad_ND)
        loss += total
        grad_VD.index_add_(0, target_N, high_ND, alpha=smoothing - 1)
        grad_VD.sub_(high_ND.sum(0), alpha=smoothing / vocabulary)
        ctx.save_for_backward(grad_ND.sub_(wanted_ND).to(y_ND.dtype), grad_VD)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad_ND, grad_VD = ctx.saved_tensors
        return grad_ND * grads[0], grad_VD * grads[0], None, None, None


def _sum(y_ND: Tensor, table_VD: Tensor, rows: int, grad_ND: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sum of the rows' logsumexp and its gradient by the table, V D.

    The gradient by y is written to `grad_ND`.
    """
    grad_VD = torch.zeros_like(table_VD, dtype=torch.float32)
    loss = grad_VD.new_zeros(())
    table_and_parts = torch.cat((table_VD, _parts(table_VD)), dim=1)  # one product gives both
    room_CV = y_ND.new_empty(min(rows, len(y_ND) + -len(y_ND) % ROWS), len(table_VD))
    for real_CD, grad_CD in zip(y_ND.split(rows), grad_ND.split(rows), strict=True):
        real = len(real_CD)
        y_CD = pad(real_CD, (0, 0, 0, -real % ROWS))  # rows of zeros have no gradient
        odds_CV, means_CD, sum_C1, shift_C1 = _odds(y_CD, table_and_parts, room_CV)
        loss += (sum_C1.log() + shift_C1)[:real].sum()
        grad_CD.copy_(means_CD[:real].div_(sum_C1[:real]))
        grad_VD += odds_CV.T @ (y_CD / sum_C1).to(y_CD.dtype)
    return loss, grad_VD


def _sum_on_tiles(
    y_ND: Tensor, packed: tiles.PackedMatrices, rows: int, grad_ND: Tensor
) -> tuple[Tensor, Tensor] | None:
    """Return the same as `_sum`, computed in C; None where it would be inaccurate.

    The C kernel does not shift logits, so exponentials may become too large or too small.
    """
    loss, grad_VD = grad_ND.new_zeros(()), None
    y_ND = y_ND.contiguous()
    room_CV = y_ND.new_empty(min(rows, len(y_ND)), packed.outs)
    for y_CD, grad_CD in zip(y_ND.split(rows), grad_ND.split(rows), strict=True):
        odds_CV = room_CV[: len(y_CD)]
        sum_C1 = tiles.exponentiate(y_CD, packed, odds_CV)[:, None]
        low, high = sum_C1.aminmax()
        if not (low.item() > SMALLEST and high.item() < 1 / SMALLEST):
            return None
        loss += sum_C1.log().sum()
        torch.div(tiles.multiply_deep(odds_CV, packed), sum_C1, out=grad_CD)
        grad_VD, _ = tiles.multiply_turned(odds_CV, (y_CD / sum_C1).to(y_CD.dtype), grad_VD)
    return None if grad_VD is None else (loss, grad_VD)


def _parts(table_VD: Tensor) -> Tensor:
    """Return a matrix of V rows and PARTS columns: 1 where a token belongs to a part."""
    part_V = torch.arange(len(table_VD), device=table_VD.device) * PARTS // len(table_VD)
    return functional.one_hot(part_V, PARTS).to(table_VD.dtype)


def _odds(y_CD: Tensor, table_and_parts: Tensor, room_CV: Tensor) -> tuple[Tensor, ...]:
    """Return exp(logits - shift) in `room_CV`, its product with the table, its row sums and the
    shift.

    The product, C D, the sums, C 1, and the shift, C 1, are in fp32.
    """
    table_VD, room_CV = table_and_parts[:, :-PARTS], room_CV[: len(y_CD)]

    def take_exponentials() -> tuple[Tensor, Tensor, Tensor]:
        odds_CV = logits_CV.exp_()
        means_CD, sums = (odds_CV @ table_and_parts).float().split((y_CD.size(1), PARTS), 1)
        return odds_CV, means_CD, sums.sum(-1, keepdim=True)

    logits_CV = torch.mm(y_CD, table_VD.T, out=room_CV)
    if y_CD.device.type == "cpu":  # most rows need no shift, and on a CPU the check is cheap
        odds_CV, means_CD, sum_C1 = take_exponentials()
        low, high = sum_C1.aminmax()
        if low.item() > SMALLEST and high.item() < 1 / SMALLEST:
            return odds_CV, means_CD, sum_C1, torch.zeros_like(sum_C1)
        logits_CV = torch.mm(y_CD, table_VD.T, out=room_CV)
    top_C1 = logits_CV.amax(-1, keepdim=True)
    logits_CV.sub_(top_C1)
    return *take_exponentials(), top_C1.float()

"""Cross-entropy with label smoothing (paper 5.4), never holding all logits at once.

The loss of a position is that of the smoothed target: (1 - e) on the right piece and e spread
evenly over all V. Its gradient is made on the way forward, a chunk of rows at a time, so that
logits come and go inside the cache. The plain twin is `torch.nn.functional.cross_entropy`.

Letters: N positions; C positions of one chunk; D model width; V vocabulary.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from .precision import working_dtype

CELLS = 1 << 22  # logits alive at once
ROWS = 64  # chunks are multiples of it: matrix products are prepared for each shape that occurs
SMALLEST = 1e-30  # sums of exponentials between this and its inverse lost nothing in fp32


def smoothed_cross_entropy(
    y_ND: Tensor, table_VD: Tensor, target_N: Tensor, smoothing: float
) -> Tensor:
    """The summed loss of all N positions, in nats, fp32: logits are y_ND @ table_VD.T."""
    result: Tensor = _CrossEntropy.apply(y_ND, table_VD, target_N, smoothing)  # type: ignore[no-untyped-call]
    return result


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, y_ND: Tensor, table_VD: Tensor, target_N: Tensor, smoothing: float
    ) -> Tensor:
        dtype, (vocabulary, width) = working_dtype(y_ND), table_VD.shape
        table, y = table_VD.to(dtype), y_ND.to(dtype)
        right_ND = table[target_N].float()  # the row of the right piece
        mean_D = table.float().mean(0)
        wanted_ND = right_ND.mul_(1 - smoothing).add_(mean_D, alpha=smoothing)
        loss = -(y.float() * wanted_ND).sum()
        slope_ND = torch.empty_like(wanted_ND)
        slope_VD = table_VD.new_zeros(vocabulary, width, dtype=torch.float32)
        rows = max(CELLS // vocabulary // ROWS, 1) * ROWS
        for real_CD, slope_CD in zip(y.split(rows), slope_ND.split(rows), strict=True):
            real = len(real_CD)
            y_CD = pad(real_CD, (0, 0, 0, -real % ROWS))  # rows of zeros leave no slope
            odds_CV, sum_C1, log_sum_C1 = _exponentials(y_CD @ table.T)
            loss += log_sum_C1[:real].sum()
            slope_CD.copy_((odds_CV @ table)[:real].float().div_(sum_C1[:real]))
            slope_VD += odds_CV.T @ (y_CD / sum_C1).to(dtype)
        slope_VD.index_add_(0, target_N, y.float(), alpha=smoothing - 1)
        slope_VD.sub_(y.float().sum(0), alpha=smoothing / vocabulary)
        ctx.save_for_backward(slope_ND.sub_(wanted_ND).to(y_ND.dtype), slope_VD)
        return loss

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        slope_ND, slope_VD = ctx.saved_tensors
        return slope_ND * grads[0], slope_VD * grads[0], None, None


def _exponentials(logits_CV: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """exp of the logits up to a factor a row; their sums C 1; and the log-sum-exp C 1."""
    if logits_CV.device.type == "cpu":  # most rows need no shift, and on a CPU asking is cheap
        odds_CV = logits_CV.exp()
        sum_C1 = odds_CV.sum(-1, keepdim=True, dtype=torch.float32)
        low, high = sum_C1.aminmax()
        if low.item() > SMALLEST and high.item() < 1 / SMALLEST:
            return odds_CV, sum_C1, sum_C1.log()
    top_C1 = logits_CV.amax(-1, keepdim=True)
    odds_CV = (logits_CV - top_C1).exp_()
    sum_C1 = odds_CV.sum(-1, keepdim=True, dtype=torch.float32)
    return odds_CV, sum_C1, sum_C1.log() + top_C1.float()

"""The largest values of each row, and the logsumexp that turns logits into log-probabilities.

Letters: R rows; V values in each; C of them wanted; L columns.
"""

import torch
from torch import Tensor

from ..kernels import topk

CELLS = 1 << 18  # values summed at once, so that they stay in a core's cache
DEPTH = 12  # values in a column; measured to be best for V = 8,000 to 32,000 and C = 2 to 16


def find_top(x_RV: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return the `size` largest values of each row and their indices, as `x_RV.topk(size)` does."""
    found = topk.topk_logsumexp(x_RV, size, sums=False)
    return found[:2] if found else find_folded(x_RV, size)


def find_folded(x_RV: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return the same as `find_top`, without the kernel.

    The row is folded into columns of DEPTH values. The C largest values lie in the C columns with
    the largest maxima, or in the remainder that fills no column. Only these are searched.
    """
    rows, values = x_RV.shape
    columns = values // DEPTH
    if columns < 2 * size:
        value_RC, place_RC = x_RV.topk(size)
        return value_RC, place_RC
    highest_RL = x_RV[:, : columns * DEPTH].view(rows, DEPTH, columns).amax(1)
    column_R1C = highest_RL.topk(size).indices[:, None]
    depth = torch.arange(DEPTH, device=x_RV.device)[:, None]
    remainder = torch.arange(columns * DEPTH, values, device=x_RV.device).expand(rows, -1)
    considered = torch.cat(((column_R1C + columns * depth).flatten(1), remainder), 1)
    value_RC, place_RC = x_RV.gather(1, considered).topk(size)
    return value_RC, considered.gather(1, place_RC)


def sum_logs(x_RV: Tensor) -> Tensor:
    """Return `x_RV.logsumexp(-1, keepdim=True)`; on a CPU a few rows at a time."""
    if found := topk.topk_logsumexp(x_RV, 0):
        return found[2]
    rows = max(CELLS // x_RV.size(1), 1)
    if x_RV.device.type != "cpu":
        return x_RV.logsumexp(-1, keepdim=True)
    return torch.cat([_sum_logs(part_RV) for part_RV in x_RV.split(rows)])


def _sum_logs(x_RV: Tensor) -> Tensor:
    high_R1 = x_RV.amax(-1, keepdim=True)
    return (x_RV - high_R1).exp_().sum(-1, keepdim=True).log_().add_(high_R1)

"""Local attention by blocks: time and memory grow with L times the width, not with L² (Beltagy et
al. 2020, 3.1).

A sequence is cut into N blocks as long as the window is wide. A query's keys are all in its own
block and in the one before and the one after, so each block attends to three, as if it were a
sentence.

Letters: B sentences; R rows of a search; L positions; N blocks; H heads; Q query positions, of a
block; M memory positions, of three blocks; K width of one head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn.functional import pad

if TYPE_CHECKING:
    from .attention import VariedSelfAttention


def attend_in_blocks(
    attention: VariedSelfAttention, q_BHLK: Tensor, k_BHLK: Tensor, v_BHLK: Tensor, mask: Tensor
) -> Tensor:
    """Return what local attention computes of a whole sequence, B H L K.

    `mask` hides padding, B 1 1 L. A decoder needs the block before its own, not the one after.
    """
    width, length = attention.pattern.width, q_BHLK.size(2)
    count = -(-length // width)
    missing, after = count * width - length, 0 if attention.is_causal else width

    def cut(x_BHLK: Tensor) -> Tensor:
        x_BHLK = pad(x_BHLK, (0, 0, width, missing + after))
        x_BHNKM = x_BHLK.unfold(2, 2 * width + after, width)
        return x_BHNKM.permute(0, 2, 1, 4, 3).flatten(0, 1)  # B·N H M K

    q_BHLK = pad(q_BHLK, (0, 0, 0, missing))
    q_NHQK = q_BHLK.unflatten(2, (count, width)).transpose(1, 2).flatten(0, 1)
    real_BL = pad(mask[:, 0, 0], (width, missing + after))
    real_NM = real_BL.unfold(1, 2 * width + after, width).flatten(0, 1)
    query_Q = torch.arange(width, device=q_BHLK.device)
    distance_QM = query_Q[:, None] + width - torch.arange(real_NM.size(1), device=q_BHLK.device)
    is_near_QM = distance_QM.abs() <= width
    if attention.is_causal:
        is_near_QM = is_near_QM & (distance_QM >= 0)
    mask_NQM = is_near_QM & real_NM[:, None] | (distance_QM == 0)
    z_NHQK = attention.attend_at(
        q_NHQK, cut(k_BHLK), cut(v_BHLK), mask_NQM[:, None], distance_QM[None]
    )
    z_BNHQK = z_NHQK.unflatten(0, (-1, count))
    return z_BNHQK.transpose(1, 2).flatten(2, 3)[:, :, :length]


def take_nearest(
    k_RHMK: Tensor, v_RHMK: Tensor, at_RQ: Tensor, width: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the keys and values that the newest positions may see, and their positions, R M.

    A position below 0 is none.
    """
    steps_M = torch.arange(width + at_RQ.size(1), device=at_RQ.device)
    key_RM = at_RQ[:, :1] - width + steps_M
    index_RHMK = key_RM.clamp(min=0)[:, None, :, None].expand(
        -1, k_RHMK.size(1), -1, k_RHMK.size(3)
    )
    return k_RHMK.gather(2, index_RHMK), v_RHMK.gather(2, index_RHMK), key_RM

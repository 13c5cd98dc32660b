"""Attention whose heads share keys, and that sees what is near, with less memory and time.

Heads that share keys and values share them in the KV cache too. Local attention goes by blocks: its
time and memory grow with L times the width, not with L² (Beltagy et al. 2020, 3.1). A sequence is
cut into N blocks as long as the window is wide. A query's keys are all in its own block and in the
one before and the one after, so each block attends to three, as if it were a sentence.

Letters: B sentences; R rows of a search; L positions; N blocks; H heads; Q query positions, of a
block; M memory positions, of three blocks; K width of one head.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from ...model.variants.attention import VariedAttention, VariedSelfAttention

FEW = 3  # up to so many blocks, the whole matrix of scores costs no more than its band


class SharingAttention(VariedAttention):
    """Attention whose keys and values are spread over the heads only when they are attended to."""

    @property
    def cached_heads(self) -> int:
        return self.heads // self.share

    def keys_values(self, memory_BMD: Tensor) -> tuple[Tensor, Tensor]:
        return self._split(self.to_key(memory_BMD)), self._split(self.to_value(memory_BMD))

    def attend(self, q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, mask: Tensor) -> Tensor:
        return super().attend(q_BHQK, self.spread(k_BHMK), self.spread(v_BHMK), mask)


class NearAttention(SharingAttention, VariedSelfAttention):
    """Self-attention that computes no scores of keys that its pattern hides, where it is local."""

    def attend_at(
        self,
        q_BHQK: Tensor,
        k_BHMK: Tensor,
        v_BHMK: Tensor,
        mask: Tensor,
        query_BQ: Tensor,
        key_BM: Tensor,
    ) -> Tensor:
        width, is_whole = self.pattern.width, query_BQ is key_BM
        if self.pattern.pattern == "local" and not is_whole:
            k_BHMK, v_BHMK, key_BM = take_nearest(k_BHMK, v_BHMK, query_BQ, width)
            mask = (key_BM >= 0)[:, None, None]
        elif self.pattern.pattern == "local" and query_BQ.size(1) > FEW * width:
            return attend_in_blocks(self, q_BHQK, k_BHMK, v_BHMK, mask)
        return super().attend_at(q_BHQK, k_BHMK, v_BHMK, mask, query_BQ, key_BM)

    def attend_masked(
        self, q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, mask: Tensor, distance_BQM: Tensor
    ) -> Tensor:
        keys_values = self.spread(k_BHMK), self.spread(v_BHMK)
        return super().attend_masked(q_BHQK, *keys_values, mask, distance_BQM)


TWINS: dict[type[nn.Module], type[nn.Module]] = {
    VariedAttention: SharingAttention,
    VariedSelfAttention: NearAttention,
}


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
    z_NHQK = attention.attend_masked(
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

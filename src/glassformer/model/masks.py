"""Attention masks (paper 3.2.3). True means that the query may attend to the key.

Letters: B sentences; R rows of a search; Q new positions; M memory positions; T target.
"""

import torch
from torch import Tensor

from ..config import PAD, AttentionPattern


def padding_mask(ids_BM: Tensor) -> Tensor:
    """Return the mask that hides padding, B 1 1 M: the same for every head and every query."""
    return (ids_BM != PAD)[:, None, None, :]


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """Return a lower triangle, 1 1 T T: each position attends to itself and to those before it."""
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()


def target_mask(ids_BT: Tensor, attention: AttentionPattern) -> Tensor:
    """Return the mask of a decoder's self-attention, B 1 T T, for what comes before and no padding.

    Attention that follows a pattern hides by itself what comes after: for that it is B 1 1 T.
    """
    if attention.pattern != "full":
        return padding_mask(ids_BT)
    return causal_mask(ids_BT.size(1), ids_BT.device) & padding_mask(ids_BT)


def cached_mask(length_R: Tensor, queries: int, capacity: int) -> Tensor:
    """Return the causal mask, R 1 Q M, of `queries` new positions in each row.

    Row r already holds length_R[r] positions.
    """
    last_RQ = length_R[:, None] + torch.arange(queries, device=length_R.device)
    return torch.arange(capacity, device=length_R.device) <= last_RQ[:, None, :, None]

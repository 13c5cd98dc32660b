"""Attention masks (paper 3.2.3). True means that the query may attend to the key.

Letters: B sentences; R rows of a search; Q new positions; M memory positions; T target.
"""

import torch
from torch import Tensor

from ..config import PAD


def padding_mask(ids_BM: Tensor) -> Tensor:
    """Return the mask that hides padding, B 1 1 M: the same for every head and every query."""
    return (ids_BM != PAD)[:, None, None, :]


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """Return a lower triangle, 1 1 T T: each position attends to itself and to those before it."""
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()


def cached_mask(length_R: Tensor, queries: int, capacity: int) -> Tensor:
    """Return the causal mask, R 1 Q M, of `queries` new positions in each row.

    Row r already holds length_R[r] positions.
    """
    last_RQ = length_R[:, None] + torch.arange(queries, device=length_R.device)
    return torch.arange(capacity, device=length_R.device) <= last_RQ[:, None, :, None]

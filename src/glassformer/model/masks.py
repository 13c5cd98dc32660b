"""Who may look at whom (paper 3.2.3). True means: may look.

Letters: B sentences; R rows of a search; Q new positions; M memory positions; T target.
"""

import torch
from torch import Tensor

from ..config import PAD


def padding_mask(ids_BM: Tensor) -> Tensor:
    """Nobody looks at padding. Shape B 1 1 M: the same for every head and every query."""
    return (ids_BM != PAD)[:, None, None, :]


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """A position looks at itself and to its left: a lower triangle, 1 1 T T."""
    return torch.ones(1, 1, length, length, dtype=torch.bool, device=device).tril()


def cached_mask(length_R: Tensor, queries: int, capacity: int) -> Tensor:
    """Causal for rows that already hold `length_R` positions and get `queries` more: R 1 Q M."""
    last_RQ = length_R[:, None] + torch.arange(queries, device=length_R.device)
    return torch.arange(capacity, device=length_R.device) <= last_RQ[:, None, :, None]

"""Products with rows of a table that are found by index, for attention over a paged KV cache.

Keys and values stay where they were written; only lists of indices change when hypotheses are
reordered. The plain twins gather the rows first and then multiply.

Letters: N queries; T rows that each of them attends to; K width of a row; V rows of the table.
"""

from __future__ import annotations

import warnings
from functools import cache

import torch
from torch import Tensor


class Places:
    """The indices of rows of tables, N T, computed once and used by every layer."""

    def __init__(self, index_NT: Tensor):
        self.index_NT, self.flat = index_NT, index_NT.reshape(-1)
        kind = index_NT.dtype
        self.ends = torch.arange(0, index_NT.numel() + 1, index_NT.size(1), dtype=kind)
        self.starts = self.ends[:-1]
        self._pattern: Tensor | None = None

    def pattern(self, rows: int) -> Tensor:
        """Return the sparse pattern, N by `rows`, of the wanted cells of x times the table."""
        if self._pattern is None or self._pattern.size(1) != rows:
            self._pattern = torch.sparse_csr_tensor(
                self.ends,
                self.flat,
                torch.zeros(1).expand(len(self.flat)),
                size=(len(self.index_NT), rows),
                check_invariants=False,
            )
        return self._pattern


def dot_rows(x_NK: Tensor, table_VK: Tensor, places: Places) -> Tensor:
    """Return the dot product of each x with each of its rows, x · table[index]: N T."""
    if not _can_dot():
        return dot_gathered(x_NK, table_VK, places.index_NT)
    wanted = places.pattern(len(table_VK))
    found = torch.sparse.sampled_addmm(wanted, x_NK, table_VK.T, beta=0.0)
    return found.values().view(places.index_NT.shape)


def sum_rows(weights_NT: Tensor, table_VK: Tensor, places: Places) -> Tensor:
    """Return the weighted sum of the rows table[index], N K, in the precision of the table."""
    if not _can_sum(table_VK.dtype):
        return sum_gathered(weights_NT, table_VK, places.index_NT)
    weights = weights_NT.to(table_VK.dtype).reshape(-1)
    return torch.embedding_bag(
        table_VK, places.flat, places.starts, False, 0, False, weights, False
    )[0]


def dot_gathered(x_NK: Tensor, table_VK: Tensor, index_NT: Tensor) -> Tensor:
    """Return the same as `dot_rows`: its plain twin."""
    return (table_VK[index_NT] @ x_NK[..., None])[..., 0]


def sum_gathered(weights_NT: Tensor, table_VK: Tensor, index_NT: Tensor) -> Tensor:
    """Return the same as `sum_rows`: its plain twin."""
    return (weights_NT.to(table_VK.dtype)[:, None] @ table_VK[index_NT])[:, 0]


def _example(dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    table_VK = torch.linspace(-1, 1, 35).sin().view(7, 5).to(dtype)
    index_NT = torch.tensor([[6, 0, 3], [2, 2, 5]], dtype=torch.int32)
    return torch.linspace(2, -2, 16).cos().to(dtype), table_VK, index_NT


@cache
def _can_dot() -> bool:
    """Return whether this PyTorch has the sparse product, and computes it right."""
    numbers, table_VK, index_NT = _example(torch.float32)
    x_NK = numbers[:10].view(2, 5)
    try:
        with warnings.catch_warnings():  # PyTorch warns that sparse tensors are in beta
            warnings.simplefilter("ignore")
            wanted = Places(index_NT).pattern(len(table_VK))
            found = torch.sparse.sampled_addmm(wanted, x_NK, table_VK.T, beta=0.0).values()
    except (RuntimeError, NotImplementedError):
        return False
    return torch.allclose(found.view(2, 3), dot_gathered(x_NK, table_VK, index_NT), atol=1e-5)


@cache
def _can_sum(dtype: torch.dtype) -> bool:
    numbers, table_VK, index_NT = _example(dtype)
    weights_NT = numbers[:6].view(2, 3)
    starts = torch.tensor([0, 3], dtype=torch.int32)
    flat, weights = index_NT.view(-1), weights_NT.reshape(-1)
    try:
        found = torch.embedding_bag(table_VK, flat, starts, False, 0, False, weights, False)[0]
    except (RuntimeError, NotImplementedError):
        return False
    expected = sum_gathered(weights_NT, table_VK, index_NT)
    return torch.allclose(found.float(), expected.float(), atol=0.02)

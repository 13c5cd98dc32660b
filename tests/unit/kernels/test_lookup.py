"""Rows found by index against rows gathered first."""

from __future__ import annotations

import pytest
import torch

from glassformer.kernels import lookup
from glassformer.kernels.lookup import Places, dot_gathered, dot_rows, sum_gathered, sum_rows


@pytest.fixture
def index_NT() -> torch.Tensor:
    """In no order, and repeated."""
    torch.manual_seed(1)
    return torch.randint(50, (13, 7), dtype=torch.int32)


def test_dot_rows(index_NT) -> None:
    x_NK, table_VK = torch.randn(13, 9), torch.randn(50, 9)
    expected = torch.einsum("nk,ntk->nt", x_NK, table_VK[index_NT.long()])
    assert torch.allclose(dot_rows(x_NK, table_VK, Places(index_NT)), expected, atol=1e-5)
    assert torch.allclose(dot_gathered(x_NK, table_VK, index_NT), expected, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_sum_rows(index_NT, dtype) -> None:
    weights_NT, table_VK = torch.rand(13, 7).to(dtype), torch.randn(50, 9).to(dtype)
    expected = torch.einsum("nt,ntk->nk", weights_NT.float(), table_VK[index_NT.long()].float())
    for kernel, index in ((sum_rows, Places(index_NT)), (sum_gathered, index_NT)):
        found = kernel(weights_NT, table_VK, index)
        assert found.dtype == dtype
        assert torch.allclose(
            found.float(), expected, atol=1e-5 if dtype == torch.float32 else 0.05
        )


def test_the_plain_twins_take_over(index_NT, monkeypatch) -> None:
    x_NK, table_VK = torch.randn(13, 9), torch.randn(50, 9)
    weights_NT, places = torch.rand(13, 7), Places(index_NT)
    fast = dot_rows(x_NK, table_VK, places), sum_rows(weights_NT, table_VK, places)
    monkeypatch.setattr(lookup, "_can_dot", lambda: False)
    monkeypatch.setattr(lookup, "_can_sum", lambda dtype: False)
    plain = dot_rows(x_NK, table_VK, places), sum_rows(weights_NT, table_VK, places)
    for one, other in zip(fast, plain, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_what_nobody_names_is_not_read(index_NT) -> None:
    table_VK = torch.full((60, 9), torch.nan)
    table_VK[:50] = torch.randn(50, 9)
    assert dot_rows(torch.randn(13, 9), table_VK, Places(index_NT)).isfinite().all()
    assert sum_rows(torch.rand(13, 7), table_VK, Places(index_NT)).isfinite().all()

"""The short way to the largest few finds what `torch.topk` finds."""

from __future__ import annotations

import pytest
import torch

from glassformer.decode.topk import DEPTH, find_top


@pytest.mark.parametrize("size", [1, 4, 10])
@pytest.mark.parametrize("values", [10, 640, 641, 671, 3000, 8000])
def test_top_is_topk(values: int, size: int) -> None:
    torch.manual_seed(values + size)
    x_RV = torch.randn(20, values)
    x_RV[0, -1] = 100  # in the remainder
    x_RV[1, :: values // DEPTH or 1] += 50  # all in one column
    x_RV[2, 3:] = -torch.inf
    x_RV[:, 0] = -torch.inf
    value, place = find_top(x_RV, size)
    expected = x_RV.topk(size)
    assert torch.equal(value, expected.values)
    assert torch.equal(x_RV.gather(1, place), value)
    assert all(len(set(row)) == size for row in place.tolist())
    assert torch.equal(place[3:], expected.indices[3:])  # no ties there

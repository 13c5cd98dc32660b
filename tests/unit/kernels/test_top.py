"""The largest few and the sum of exponentials, in C, against PyTorch."""

from __future__ import annotations

import pytest
import torch

from glassformer.kernels import native, top

pytestmark = pytest.mark.skipif(
    native.load("top") is None, reason=f"no native kernels: {native.explain('top')}"
)


@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize(("values", "size"), [(1, 1), (63, 10), (64, 64), (1000, 2), (10007, 20)])
def test_as_pytorch_finds_them(rows: int, values: int, size: int) -> None:
    torch.manual_seed(values)
    x_RV = torch.randn(rows, values + 3)[:, :values]  # rows that are longer than what counts
    found = top.find_top(x_RV, size)
    assert found is not None
    for mine, theirs in zip(found, x_RV.topk(size), strict=True):
        assert torch.equal(mine, theirs)
    sum_R1 = top.sum_logs(x_RV * 9)
    assert torch.allclose(sum_R1, (x_RV * 9).logsumexp(1, keepdim=True), atol=3e-6, rtol=1e-6)


def test_forbidden_and_equal_ones() -> None:
    x_RV = torch.full((2, 200), -torch.inf)
    x_RV[0, [7, 150, 3]] = torch.tensor([1.0, 2.0, 1.0])
    value_RC, place_RC = top.find_top(x_RV, 4)
    assert value_RC[0].tolist() == [2.0, 1.0, 1.0, -torch.inf]
    assert place_RC[0, :3].tolist() == [150, 3, 7]  # of equals the first
    assert (value_RC[1] == -torch.inf).all()
    assert top.sum_logs(torch.tensor([[1.0, torch.nan]])).isnan().all()


def test_what_it_does_not_do_is_left_to_the_twin() -> None:
    assert top.find_top(torch.zeros(2, 9, dtype=torch.float64), 1) is None
    assert top.find_top(torch.zeros(9, 2).T, 1) is None
    assert top.find_top(torch.zeros(2, 9), 10) is None
    assert top.sum_logs(torch.zeros(2, 9, dtype=torch.bfloat16)) is None

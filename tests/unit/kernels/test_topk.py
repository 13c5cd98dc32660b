"""The largest few and the sum of exponentials, in C, against PyTorch."""

from __future__ import annotations

import pytest
import torch

from glassformer.kernels import native, topk

pytestmark = pytest.mark.skipif(
    native.load_library("top") is None,
    reason=f"no native kernels: {native.explain_library('top')}",
)


@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize(("values", "size"), [(1, 1), (63, 10), (64, 64), (1000, 2), (10007, 20)])
def test_as_pytorch_finds_them(rows: int, values: int, size: int) -> None:
    torch.manual_seed(values)
    x_RV = torch.randn(rows, values + 3)[:, :values]  # rows that are longer than what counts
    found = topk.topk_logsumexp(x_RV, size)
    assert found is not None
    for mine, theirs in zip(found, x_RV.topk(size), strict=False):
        assert torch.equal(mine, theirs)
    assert torch.allclose(found[2], x_RV.logsumexp(1, keepdim=True), atol=3e-6, rtol=1e-6)


@pytest.mark.parametrize("values", [1, 30, 1024, 1025, 5000])
def test_sums(values: int) -> None:
    torch.manual_seed(values)
    x_RV = torch.randn(6, values) * 9
    x_RV[1] += torch.linspace(0, 900, values)  # each block is above the last
    x_RV[2, : values - 1] = -torch.inf
    x_RV[3] = -torch.inf
    _, _, sum_R1 = topk.topk_logsumexp(x_RV, 0)
    assert torch.allclose(sum_R1, x_RV.logsumexp(1, keepdim=True), atol=3e-6, rtol=1e-6)
    x_RV[:, -1] = torch.nan
    assert topk.topk_logsumexp(x_RV, 0)[2].isnan().all()


@pytest.mark.parametrize("first", [1, 2, 1100])
def test_the_first_places_count_for_the_sum_alone(first: int) -> None:
    x_RV = torch.randn(3, 3000)
    x_RV[:, :first] += 9
    value_RC, place_RC, sum_R1 = topk.topk_logsumexp(x_RV, 5, first=first)
    expected = x_RV[:, first:].topk(5)
    assert torch.equal(value_RC, expected.values)
    assert torch.equal(place_RC, expected.indices + first)
    assert torch.allclose(sum_R1, x_RV.logsumexp(1, keepdim=True), atol=3e-6)


def test_forbidden_and_equal_ones() -> None:
    x_RV = torch.full((2, 200), -torch.inf)
    x_RV[0, [7, 150, 3]] = torch.tensor([1.0, 2.0, 1.0])
    value_RC, place_RC, _ = topk.topk_logsumexp(x_RV, 4, first=2)
    assert value_RC[0].tolist() == [2.0, 1.0, 1.0, -torch.inf]
    assert place_RC[0, :3].tolist() == [150, 3, 7]  # of equals the first
    assert (value_RC[1] == -torch.inf).all()
    assert all(len({*row, 0, 1}) == 6 for row in place_RC.tolist())  # others, each once


def test_what_it_does_not_do_is_left_to_the_twin() -> None:
    assert topk.topk_logsumexp(torch.zeros(2, 9, dtype=torch.float64), 1) is None
    assert topk.topk_logsumexp(torch.zeros(9, 2).T, 1) is None
    assert topk.topk_logsumexp(torch.zeros(2, 9), 10) is None
    assert topk.topk_logsumexp(torch.zeros(2, 9), 8, first=2) is None
    assert topk.topk_logsumexp(torch.zeros(2, 9, dtype=torch.bfloat16), 0) is None

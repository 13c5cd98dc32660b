"""Penalties, lengths, what is forbidden and what is best, against their definitions."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from glassformer.config import Decode
from glassformer.decode.rules import DEPTH, find_top, length_penalty, repeats
from glassformer.decode.sentences import longest_output


@pytest.mark.parametrize(
    ("penalty", "alpha", "length", "divisor"),
    [
        ("gnmt", 0.6, 1, 1.0),
        ("gnmt", 1.0, 7, 2.0),
        ("gnmt", 2.0, 13, 9.0),
        ("gnmt", 0.0, 30, 1.0),
        ("power", 1.0, 7, 7.0),
        ("power", 0.5, 16, 4.0),
        ("none", 0.6, 16, 1.0),
    ],
)
def test_length_penalty(penalty: str, alpha: float, length: int, divisor: float) -> None:
    settings = Decode(length_penalty=penalty, alpha=alpha)
    assert length_penalty(torch.tensor([length]), settings).item() == pytest.approx(divisor)


def test_longest_output() -> None:
    settings = Decode(max_ratio=1.5, max_extra=10)
    assert [longest_output(n, settings, None) for n in (0, 3, 4)] == [10, 15, 16]
    assert longest_output(100, settings, 64) == 64


@given(
    st.lists(st.lists(st.integers(3, 5), max_size=12), min_size=1, max_size=4), st.integers(1, 4)
)
def test_repeats_are_what_a_loop_finds(rows: list[list[int]], size: int) -> None:
    histories = [[1, *row] for row in rows]  # BOS
    width = max(map(len, histories))
    tokens_RL = torch.tensor([[0] * (width - len(row)) + row for row in histories])
    found = [{p for p in row if p > 2} for row in repeats(tokens_RL, size).tolist()]
    for row, tokens in zip(rows, found, strict=True):
        ngrams = {tuple(row[i : i + size]) for i in range(len(row) - size + 1)}
        tail = row[len(row) - size + 1 :]
        expected = (
            {p for p in (3, 4, 5) if (*tail, p) in ngrams} if len(tail) == size - 1 else set()
        )
        assert tokens == expected


@pytest.mark.parametrize("size", [1, 4, 10])
@pytest.mark.parametrize("values", [10, 640, 641, 671, 3000, 8000])
def test_the_short_way_to_the_largest_finds_what_sorting_finds(values: int, size: int) -> None:
    torch.manual_seed(values + size)
    x_RV = torch.randn(20, values)
    x_RV[0, -1] = 100  # in the remainder
    x_RV[1, :: values // DEPTH or 1] += 50  # all in one column
    x_RV[2, 3:] = -torch.inf
    x_RV[:, 0] = -torch.inf
    x_RV[4:] = x_RV[4:].round()  # many are equal, and 0 is also -0
    value, place = find_top(x_RV, size)
    expected = x_RV.sort(dim=1, descending=True, stable=True)
    assert torch.equal(value, expected.values[:, :size])
    assert torch.equal(place, expected.indices[:, :size])

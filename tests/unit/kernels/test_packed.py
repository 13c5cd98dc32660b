"""Packed linear maps against plain ones."""

from __future__ import annotations

import pytest
import torch

from glassformer.kernels import packed
from glassformer.kernels.packed import ACTIVATIONS, ROWS, Fp32, can_multiply, pack_linear

COARSE = [each for each in ("bf16", "int8") if can_multiply(each)]


def test_a_product_that_is_there_is_used() -> None:
    """Where it is taken for absent, nothing but speed tells."""
    if torch.ops.mkldnn._is_mkldnn_bf16_supported():
        assert can_multiply("bf16")
    if torch.backends.cpu.get_cpu_capability() == "AVX512":
        assert can_multiply("int8")


@pytest.fixture
def numbers() -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    return torch.randn(37, 24) / 5, torch.randn(37), torch.randn(2 * ROWS + 3, 24)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("precision", ["fp32", *COARSE])
def test_equals_the_plain_twin(numbers, precision: str, activation: str) -> None:
    weight_FK, bias_F, x_NK = numbers
    for bias in (bias_F, None):
        found = pack_linear(weight_FK, bias, precision, activation)(x_NK).float()
        expected = ACTIVATIONS[activation](torch.nn.functional.linear(x_NK, weight_FK, bias))
        assert (found - expected).abs().max() <= (1e-5 if precision == "fp32" else 0.08)


@pytest.mark.skipif("int8" not in COARSE, reason="this PyTorch has no int8 product")
def test_a_loud_neighbour_changes_nothing(numbers) -> None:
    """One scale a row: a row with huge values beside it comes out the same, to the last bit."""
    weight_FK, bias_F, x_NK = numbers
    linear = pack_linear(weight_FK, bias_F, "int8")
    alone = linear(x_NK[:1])
    assert torch.equal(linear(torch.cat((x_NK[:1], 1e4 * x_NK[1:9])))[:1], alone)
    assert not linear(torch.zeros(2, 24)).isnan().any()


def test_falls_back_where_the_product_is_absent(numbers, monkeypatch) -> None:
    monkeypatch.setattr(packed, "can_multiply", lambda precision: False)
    assert isinstance(pack_linear(*numbers[:2], "bf16"), Fp32)
    assert isinstance(pack_linear(*numbers[:2], "int8"), Fp32)


def test_a_wrong_product_is_noticed(monkeypatch) -> None:
    monkeypatch.setattr(packed.Bf16, "__call__", lambda self, x_NK: torch.zeros(len(x_NK), 24))
    assert not can_multiply.__wrapped__("bf16")

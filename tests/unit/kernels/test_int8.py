"""Products of whole numbers, against whole numbers."""

from __future__ import annotations

import pytest
import torch

from glassformer.kernels import native
from glassformer.kernels.int8 import get_library, has_int8_tiles, multiply_int8

pytestmark = pytest.mark.skipif(
    native.load_library("decode") is None,
    reason=f"no native kernels: {native.explain_library('decode')}",
)


def round_rows(x_NK: torch.Tensor, zero: int) -> tuple[torch.Tensor, torch.Tensor]:
    """What the C side makes of each row: whole numbers, and the scale of the row."""
    scale_N1 = x_NK.abs().amax(1, keepdim=True) / (127 if zero else 255)
    scale_N1 = scale_N1.clamp(min=1e-20)
    return (x_NK * (1 / scale_N1) + 0.5).floor().long(), scale_N1


def find_scales(weight_FK: torch.Tensor) -> torch.Tensor:
    """F 1: the largest weight is 127; where sums are made in 16 bits, 8 inputs make two of them."""
    scale_F1 = weight_FK.abs().amax(1, keepdim=True) / 127
    if get_library().decode_level() > 1:
        return scale_F1
    padded_FK = torch.nn.functional.pad(weight_FK, (0, -weight_FK.size(1) % 8))
    sums = [
        (sign * padded_FK).clamp(min=0).view(len(weight_FK), -1, 2, 2, 2).sum((2, 4)).flatten(1)
        for sign in (1, -1)
    ]
    return torch.maximum(scale_F1, torch.cat(sums, 1).amax(1, keepdim=True) / 126)


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("zero", [0, 128])
@pytest.mark.parametrize(
    ("rows", "inputs", "outputs"),
    [
        (1, 64, 16),
        (2, 7, 3),
        (5, 130, 33),
        (11, 512, 100),
        (12, 65, 31),
        (33, 200, 48),
        (70, 64, 1),
    ],
)
def test_products(rows: int, inputs: int, outputs: int, zero: int, tiled: bool) -> None:
    if tiled and not has_int8_tiles():
        pytest.skip("no tiles in this processor")
    torch.manual_seed(rows)
    x_NK, weight_FK = torch.randn(rows, inputs), torch.randn(outputs, inputs)
    x_NK, bias_F = x_NK if zero else x_NK.abs(), torch.randn(outputs)
    scale_F1 = find_scales(weight_FK)
    quantized_NK, scale_N1 = round_rows(x_NK, zero)
    sums_NF = quantized_NK.double() @ (weight_FK / scale_F1).round().double().T
    expected_NF = (sums_NF * scale_F1.T * scale_N1 + bias_F).relu()
    found_NF = multiply_int8(x_NK, weight_FK, bias_F, zero=zero, tiled=tiled, relu=True)
    # A number that lies between two may be rounded to either.
    step = float((scale_N1 * scale_F1.T).max()) * 127
    assert (found_NF - expected_NF).abs().max() < 1.01 * step
    assert (found_NF - expected_NF).abs().mean() < 0.02 * step


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("rows", [2, 40])
def test_a_weight_that_is_not_finite_shows(rows: int, wrong: float) -> None:
    x_NK, weight_FK = torch.randn(rows, 70), torch.randn(40, 70)
    weight_FK[33, 2] = wrong
    found_NF = multiply_int8(x_NK, weight_FK, None, tiled=has_int8_tiles())
    assert found_NF.isnan().any(0).nonzero().flatten().tolist() == [33]
    assert found_NF[:, 33].isnan().all()


@pytest.mark.parametrize("rows", [3, 40])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("every", [1, 2, 3, 4, 8, 16])
def test_nothing_is_too_large(rows: int, sign: int, every: int) -> None:
    """The largest inputs met by weights of one sign: what sums in 16 bits have least room for."""
    weight_FK = torch.full((16, 64), -1e-3 * sign)
    weight_FK[:, ::every] = sign
    scale_F1 = find_scales(weight_FK)
    expected_F = (weight_FK / scale_F1).round().sum(1) * scale_F1[:, 0]
    found_NF = multiply_int8(torch.ones(rows, 64), weight_FK, None, zero=0, tiled=has_int8_tiles())
    torch.testing.assert_close(found_NF, expected_F.expand(rows, -1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [2, 40])
def test_rows_do_not_depend_on_each_other(rows: int) -> None:
    torch.manual_seed(0)
    x_NK, weight_FK = torch.randn(rows, 96), torch.randn(50, 96)
    together_NF = multiply_int8(x_NK, weight_FK, None, tiled=has_int8_tiles())
    alone = [multiply_int8(x_NK[n : n + 1], weight_FK, None) for n in range(rows)]
    assert torch.equal(together_NF, torch.cat(alone))


@pytest.mark.parametrize("rows", [3, 40])
@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_what_is_no_number_stays_in_its_row(rows: int, wrong: float) -> None:
    x_NK = torch.ones(rows, 64)
    x_NK[1, 5] = wrong
    weight_FK = torch.ones(16, 64)
    found_NF = multiply_int8(x_NK, weight_FK, None, tiled=has_int8_tiles(), relu=True)
    assert found_NF[1].isnan().all()
    scale_F1 = find_scales(weight_FK)
    expected_F = (weight_FK / scale_F1).round().sum(1) * scale_F1[:, 0]
    assert torch.allclose(found_NF[[0, 2]], expected_F.expand(2, -1), rtol=1e-4)


def test_zeros() -> None:
    assert (multiply_int8(torch.zeros(2, 10), torch.zeros(3, 10), None) == 0).all()

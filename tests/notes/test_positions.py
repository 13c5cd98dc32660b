"""What learners' notes say of positional encodings, put right, from our own tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from glassformer.config import Model, Positions
from glassformer.model.positions import rates, sinusoids
from glassformer.model.transformer import Transformer

D = 512


def make_table(d_model: int, longest: int, **settings: Any) -> np.ndarray:
    return sinusoids(Positions(max_positions=longest, **settings), d_model).numpy()


def sort_columns(concatenated_LD: np.ndarray) -> np.ndarray:
    """The same table with each sine beside its cosine, as the paper has it."""
    sines, cosines = np.split(concatenated_LD, 2, axis=1)
    return np.stack((sines, cosines), axis=-1).reshape(concatenated_LD.shape)


def test_three_positions_as_the_paper_has_them() -> None:
    expected = [[0, 1, 0, 1], [0.8415, 0.5403, 0.0100, 0.99995], [0.9093, -0.4161, 0.0200, 0.9998]]
    np.testing.assert_allclose(make_table(4, 3), expected, atol=5e-5)


def test_three_positions_as_tensor2tensor_has_them() -> None:
    """The picture of the Illustrated Transformer."""
    expected = [[0, 0, 1, 1], [0.8415, 0.0001, 0.5403, 1.0], [0.9093, 0.0002, -0.4161, 1.0]]
    found = make_table(4, 3, layout="concatenated", grid="tensor2tensor")
    np.testing.assert_allclose(found, expected, atol=5e-5)


def test_the_layouts_differ_by_the_order_of_columns_alone() -> None:
    for grid in ("paper", "tensor2tensor"):
        concatenated_LD = make_table(22, 50, layout="concatenated", grid=grid)
        assert np.array_equal(sort_columns(concatenated_LD), make_table(22, 50, grid=grid))


@pytest.mark.parametrize(
    ("d_model", "positions", "apart"), [(512, 20, 0.027), (512, 100, 0.14), (4, 100, 0.83)]
)
def test_the_grids_differ_by_more_than_the_order_of_columns(
    d_model: int, positions: int, apart: float
) -> None:
    paper, other = (make_table(d_model, positions, grid=g) for g in ("paper", "tensor2tensor"))
    assert np.abs(paper - other).max() == pytest.approx(apart, abs=10.0 ** -len(str(apart)[2:]) / 2)


@pytest.mark.parametrize(("d_model", "slowest"), [(512, 9647), (4, 100)])
def test_the_slowest_waves(d_model: int, slowest: float) -> None:
    """Radians to a position: 10000^((d-2)/d) in the paper, 10000 on the dot in Tensor2Tensor."""
    assert 1 / rates(d_model)[-1].item() == pytest.approx(slowest, abs=0.5)
    assert 1 / rates(d_model, "tensor2tensor")[-1].item() == pytest.approx(10000)


def test_two_dimensions_are_no_division_by_0() -> None:
    for grid in ("paper", "tensor2tensor"):
        np.testing.assert_allclose(make_table(2, 3, grid=grid)[2], [math.sin(2), math.cos(2)])


def test_wavelengths_at_20_dimensions() -> None:
    """Dimensions 4 and 5 come round after 39.6 positions, 6 and 7 after 99.6."""
    wavelengths = 2 * math.pi / rates(20).numpy()
    np.testing.assert_allclose(wavelengths[[2, 3]], [39.6, 99.6], atol=0.05)
    assert (np.diff(wavelengths) > 0).all(), "the higher the dimension, the slower its wave"


def test_neighbours_are_alike_and_every_position_is_unique() -> None:
    table_LD = make_table(D, 100)
    cosines = table_LD @ table_LD.T / (D / 2)
    np.testing.assert_allclose(cosines[0, [1, 2, 10, 50]], [0.973, 0.905, 0.679, 0.512], atol=5e-4)
    assert (cosines - np.eye(100)).max() < 0.98


def test_a_shift_is_a_rotation() -> None:
    """PE(p + k) is PE(p) times one matrix, whatever p: 2 x 2 turns along the diagonal."""
    shift, table_LD = 5, make_table(64, 100)
    turn = np.zeros((64, 64))
    for i, rate in enumerate(rates(64).tolist()):
        sine, cosine = math.sin(shift * rate), math.cos(shift * rate)
        turn[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[cosine, sine], [-sine, cosine]]
    np.testing.assert_allclose(table_LD[:-shift] @ turn.T, table_LD[shift:], atol=1e-12)


def test_with_sines_alone_no_matrix_shifts() -> None:
    """The best linear map by least squares: exact with both waves, off by 1.1 with one."""
    errors = []
    for columns in (slice(None), slice(0, None, 2)):
        table_LD = make_table(64, 100)[:, columns]
        turn = np.linalg.lstsq(table_LD[:-5], table_LD[5:], rcond=None)[0]
        errors.append(np.abs(table_LD[:-5] @ turn - table_LD[5:]).max())
    assert errors[0] < 1e-12
    assert errors[1] > 0.5


def test_the_size_of_positions_beside_that_of_words() -> None:
    """Every position is 16 long at d = 512; words, times the root of d, begin about 22.6 long."""
    np.testing.assert_allclose(np.linalg.norm(make_table(D, 100), axis=1), 16)
    np.testing.assert_allclose(np.linalg.norm(make_table(D, 9, amplitude=0.5), axis=1), 8)
    network = Transformer(Model(d_model=D, encoder_layers=1, decoder_layers=1), 500, 500)
    words = network.output_table.weight.detach().norm(dim=1) * math.sqrt(D)
    assert words.mean().item() == pytest.approx(22.6, abs=0.2)

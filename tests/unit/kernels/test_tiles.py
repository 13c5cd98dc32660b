"""Products on AMX tiles against torch, in fp32, of the same operands rounded to bf16."""

from __future__ import annotations

import ctypes
import mmap
import os

import pytest
import torch
from torch import Tensor

from glassformer.engine.kernels import tiles

pytestmark = pytest.mark.skipif(not tiles.has_tiles(), reason="no AMX tiles, or no compiler")

# rows, inputs, outputs; blocks are of 32, 256 and 512
SHAPES = [(1, 1, 1), (5, 33, 40), (64, 128, 96), (31, 64, 2), (513, 70, 1100), (700, 1030, 36)]
HALF = 2**-8  # what rounding to bf16 takes at most, of a value


def make(rows: int, ins: int, outs: int) -> tuple[Tensor, ...]:
    torch.manual_seed(rows)
    x, y = torch.randn(rows, ins).bfloat16(), torch.randn(rows, outs).bfloat16()
    return x, y, torch.randn(outs, ins), torch.randn(outs)


def assert_near(found: Tensor, expected: Tensor, share: float) -> None:
    assert (found.float() - expected).abs().max() <= share * max(1, expected.abs().max())


@pytest.mark.parametrize("shape", SHAPES)
def test_ahead_and_back(shape: tuple[int, int, int]) -> None:
    x, y, w, b = make(*shape)
    packed, exact = tiles.pack_tiles([w], [b]), w.bfloat16().float()
    assert_near(tiles.multiply_tiles(x, packed), x.float() @ exact.T + b, HALF)
    assert_near(tiles.multiply_tiles(x, packed, relu=True), (x.float() @ exact.T + b).relu(), HALF)
    assert_near(tiles.multiply_back(y, packed), y.float() @ exact, HALF)
    assert_near(tiles.multiply_deep(y, packed), y.float() @ exact, 1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_gate_scales_what_it_lets_through(shape: tuple[int, int, int]) -> None:
    x, y, w, b = make(*shape)
    gate = x.relu() * torch.where(torch.rand(x.shape) < 0.5, -1.0, 1.0).bfloat16()  # -0 is 0
    found = tiles.multiply_back(y, tiles.pack_tiles([w], [b]), gate, 1.5)
    expected = 1.5 * (y.float() @ w.bfloat16().float())
    assert (found[gate == 0] == 0).all()
    assert_near(found, torch.where(gate == 0, 0, expected), HALF)


@pytest.mark.parametrize("shape", SHAPES)
def test_slopes_of_weights_and_biases(shape: tuple[int, int, int]) -> None:
    x, y, *_ = make(*shape)
    w, b = tiles.multiply_turned(y, x)
    expected = y.float().T @ x.float()
    assert_near(w, expected, 1e-5)
    assert_near(b, y.float().sum(0), 1e-5)
    onto = w.clone()
    tiles.multiply_turned(y, x, onto)
    assert_near(onto, 2 * expected, 1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_exponentials_and_their_sums(shape: tuple[int, int, int]) -> None:
    x, _, w, _ = make(*shape)
    x, packed = x / shape[1], tiles.pack_tiles([w])
    odds = torch.empty(shape[0], shape[2], dtype=torch.bfloat16)
    sums = tiles.exponentiate(x, packed, odds)
    expected = (x.float() @ w.bfloat16().float().T).exp()
    torch.testing.assert_close(odds.float(), expected, rtol=HALF, atol=0)
    torch.testing.assert_close(sums, expected.sum(1), rtol=1e-5, atol=0)


@pytest.mark.parametrize("outs", [(64, 32, 5), (20, 33, 64)])
def test_several_maps_side_by_side(outs: tuple[int, ...]) -> None:
    """Where each begins at a multiple of 32, and where it does not."""
    x = torch.randn(9, 50).bfloat16()
    weights, biases = [torch.randn(n, 50) for n in outs], [torch.randn(n) for n in outs]
    packed = tiles.pack_tiles(weights, biases)
    alone = [
        tiles.multiply_tiles(x, tiles.pack_tiles([w], [b]))
        for w, b in zip(weights, biases, strict=True)
    ]
    assert torch.equal(tiles.multiply_tiles(x, packed), torch.cat(alone, 1))
    y = torch.randn(9, sum(outs)).bfloat16()
    whole = torch.cat(weights).bfloat16().float()
    assert_near(tiles.multiply_back(y, packed), y.float() @ whole, HALF)


def test_rows_may_lie_apart_and_nothing_else_is_read() -> None:
    """Operands inside a larger tensor, whose other values are not numbers."""
    room_x, room_y = (torch.full((40, 200), torch.nan, dtype=torch.bfloat16) for _ in range(2))
    x, y = room_x[3:30, 7:57], room_y[3:30, 9:50]
    x.normal_(), y.normal_()
    packed = tiles.pack_tiles([torch.randn(41, 50)], [torch.randn(41)])
    assert torch.equal(
        tiles.multiply_tiles(x, packed), tiles.multiply_tiles(x.contiguous(), packed)
    )
    assert torch.equal(tiles.multiply_back(y, packed), tiles.multiply_back(y.contiguous(), packed))
    for found, expected in zip(
        tiles.multiply_turned(y, x),
        tiles.multiply_turned(y.contiguous(), x.contiguous()),
        strict=True,
    ):
        assert torch.equal(found, expected)


@pytest.mark.parametrize("rows", [1, 31, 33, 70])
def test_nothing_behind_the_last_row_is_read(rows: int) -> None:
    """Operands that end where a page begins that may not be touched: whoever does, dies of it."""
    if not hasattr(os, "fork"):
        pytest.skip("a process that may die is forked")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            torch.set_num_threads(1)
            x, y = (end_at_a_wall(rows, width) for width in (50, 41))
            packed = tiles.pack_tiles([torch.randn(41, 50)], [torch.randn(41)])
            assert tiles.multiply_tiles(x, packed).shape == (rows, 41)
            assert tiles.multiply_back(y, packed).shape == (rows, 50)
            assert tiles.multiply_turned(y, x)[0].shape == (41, 50)
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def end_at_a_wall(rows: int, width: int) -> Tensor:
    size = 2 * rows * width
    whole = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    room = mmap.mmap(-1, whole + mmap.PAGESIZE)
    start = ctypes.addressof(ctypes.c_char.from_buffer(room))
    libc = ctypes.CDLL(None)
    assert libc.mprotect(ctypes.c_void_p(start + whole), mmap.PAGESIZE, 0) == 0
    found = torch.frombuffer(
        room, dtype=torch.bfloat16, count=rows * width, offset=whole - size
    ).view(rows, width)
    return found.normal_()


def test_the_number_of_threads_does_not_matter() -> None:
    x, y, w, b = make(700, 600, 1100)
    threads, found = torch.get_num_threads(), []
    for several in (1, 2, 3):
        torch.set_num_threads(several)
        try:
            packed = tiles.pack_tiles([w], [b])
            gradients = tiles.multiply_turned(y, x)
            found.append(
                (tiles.multiply_tiles(x, packed), tiles.multiply_deep(y, packed), *gradients)
            )
        finally:
            torch.set_num_threads(threads)
    for others in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], others, strict=True))


def test_what_is_kept_is_for_this_update_only() -> None:
    w = torch.randn(32, 32)
    packed = tiles.PackedWeights()
    with packed.keep():
        first = packed.pack([w])
        w += 1
        assert packed.pack([w]) is first
    assert not torch.equal(packed.pack([w]).ahead, first.ahead)


@pytest.mark.parametrize(
    "wrong", [torch.randn(4, 8), torch.randn(4, 9).bfloat16(), torch.randn(8, 4).bfloat16().T]
)
def test_other_operands_are_refused(wrong: Tensor) -> None:
    with pytest.raises(AssertionError):
        tiles.multiply_tiles(wrong, tiles.pack_tiles([torch.randn(3, 8)], [torch.randn(3)]))

"""Dropout (paper 5.4) with random bits that are cheap on a CPU.

`bernoulli_` costs more there than a linear map of the same width. Here 16 random bits decide about
a value. In C (`native/train_dropout.c`) they are a function of a key, the row and the column:
kernels that include dropout draw them again in the backward pass instead of keeping masks. Where
there is no compiler, a mask is drawn and values are set to 0 with integer operations. The plain
twin is `torch.nn.Dropout`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from .calls import call, open_kernels

# The probability is rounded to a multiple of 1 / STEPS; kept values are scaled by that.
STEPS = 1 << 15

_INTEGERS = {2: torch.int16, 4: torch.int32}


class DropoutStream:
    """The stream of random bits that all dropout of one network is drawn from."""

    def __init__(self) -> None:
        self.bits = np.random.SFC64(0)
        self.part: tuple[int, int] | None = None  # the first row here, the rows of the whole batch

    def seed(self, *key: int, part: tuple[int, int] | None = None) -> None:
        """Restart the stream, and torch's generators, so that all dropout depends on `key` alone.

        `part` says that only some rows of a batch follow: (the first of them, the rows of the
        batch). Each row then gets the same mask as in the whole batch.
        """
        sequence = np.random.SeedSequence(key)
        self.bits, self.part = np.random.SFC64(sequence), part
        torch.manual_seed(int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1)))

    @property
    def state(self) -> tuple[Any, tuple[int, int] | None]:
        """Return what decides the next draws, but for those of torch's generators."""
        return self.bits.state, self.part

    @state.setter
    def state(self, state: tuple[Any, tuple[int, int] | None]) -> None:
        self.bits.state, self.part = state

    @contextmanager
    def for_other_rows(self) -> Iterator[None]:
        """Draw for rows that are not those of the batch, such as several for each of its pairs."""
        key, before = int(self.bits.random_raw()), self.state
        self.seed(key, self.part[0] if self.part else 0)
        try:
            yield
        finally:
            self.state = before

    def draw(self, share: int) -> Draw:
        """Return the next draw, for a C kernel."""
        return Draw(int(self.bits.random_raw()), share, self.part[0] if self.part else 0)

    def keep_mask(self, shape: torch.Size, share: int) -> Tensor:
        """Return a random int16 mask: -1, all bits set, with probability share / STEPS, else 0."""
        raw = self._read(shape)
        # raw >> 1 is uniform over STEPS values; the sign of the difference fills all bits.
        halved = torch.from_numpy(raw).bitwise_right_shift_(1)
        return halved.sub_(share - STEPS // 2).bitwise_right_shift_(15).view(shape)

    def _read(self, shape: torch.Size) -> npt.NDArray[np.int16]:
        """Return 16 random bits for each value; the bits of rows not computed here are skipped."""
        count, bits = shape.numel(), self.bits
        if self.part is None:
            return bits.random_raw(-(-count // 4)).view(np.int16)[:count]
        (first, rows), width = self.part, shape[1:].numel()
        start, stop = first * width // 4, -(-(first * width + count) // 4)
        bits.random_raw(start, output=False)
        raw = bits.random_raw(stop - start).view(np.int16)[first * width % 4 :][:count]
        bits.random_raw(-(-rows * width // 4) - stop, output=False)
        return raw


def _clear(x: Tensor, mask: Tensor) -> Tensor:
    """Return x where the mask is -1, and 0 where it is 0."""
    integers = _INTEGERS[x.element_size()]
    return (x.contiguous().view(integers) & mask.to(integers)).view(x.dtype)


class _Drop(ctypes.Structure):
    _fields_ = (("key", ctypes.c_uint32 * 2), ("share", ctypes.c_uint32), ("scale", ctypes.c_float))


@dataclass(frozen=True)
class Draw:
    """The key and probability of one dropout, for a C kernel. A share of 0 means no dropout."""

    key: int = 0  # 64 bits
    share: int = 0  # of STEPS, the share of values that are kept
    first: int = 0  # the number of the first row

    def at_rows(self, several: int) -> Draw:
        """Return the draw for a kernel that has `several` rows for each row of the batch."""
        return replace(self, first=self.first * several)

    @property
    def scale(self) -> float:
        return STEPS / self.share if self.share else 1.0

    @property
    def arguments(self) -> tuple[Any, int]:
        """Return what a kernel is called with: a pointer, and the number of the first row."""
        key = (ctypes.c_uint32 * 2)(self.key & 0xFFFFFFFF, self.key >> 32)
        return ctypes.byref(_Drop(key, self.share, self.scale)), self.first


@cache
def _open() -> ctypes.CDLL | None:
    return open_kernels("train_dropout", drop_rows="pi p lll p i")


def drop_rows(x: Tensor, draw: Draw) -> Tensor:
    """Return x, fp32 or bf16, after dropout; rows are all axes but the last."""
    library = _open()
    assert library is not None and x.dtype in (torch.float32, torch.bfloat16)
    x = x.contiguous()
    out, width = torch.empty_like(x), x.size(-1) if x.dim() > 1 else 1
    if not x.numel():
        return out
    rows = x.numel() // width
    drawn = draw.at_rows(rows // len(x)).arguments
    call(library.drop_rows, x, x.dtype == torch.bfloat16, *drawn, rows, width, out)
    return out


class _DropRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, draw: Draw) -> Tensor:
        ctx.draw = draw
        return drop_rows(x, draw)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return drop_rows(grads[0], ctx.draw), None


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, share: int, stream: DropoutStream) -> Tensor:
        mask = stream.keep_mask(x.shape, share)
        ctx.save_for_backward(mask)
        ctx.scale = STEPS / share
        return _clear(x, mask).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (mask,) = ctx.saved_tensors
        return _clear(grads[0], mask).mul_(ctx.scale), None, None


class Dropout(nn.Module):
    """Dropout: in training each value is 0 with probability `p`, and the others are scaled up.

    The random bits come from `stream`.
    """

    def __init__(self, p: float, stream: DropoutStream):
        super().__init__()
        self.p, self.stream = p, stream

    def forward(self, x: Tensor) -> Tensor:
        if not (self.training and self.p):
            return x
        if x.device.type != "cpu" or x.element_size() not in _INTEGERS:
            return self._drop_with_torch(x)
        if x.dtype in (torch.float32, torch.bfloat16) and _open() is not None:
            dropped: Tensor = _DropRows.apply(x, self.draw())  # type: ignore[no-untyped-call]
            return dropped
        result: Tensor = _Dropout.apply(x, self._share, self.stream)  # type: ignore[no-untyped-call]
        return result

    def draw(self) -> Draw:
        """Return the next draw of the stream, for a kernel that includes dropout."""
        if not (self.training and self._share < STEPS):
            return Draw()
        return self.stream.draw(self._share)

    @property
    def _share(self) -> int:
        return round((1 - self.p) * STEPS)

    def _drop_with_torch(self, x: Tensor) -> Tensor:
        """Return x after dropout with torch's own generator, which draws for a whole batch."""
        if self.stream.part is None:
            return functional.dropout(x, self.p)
        first, rows = self.stream.part
        whole = functional.dropout(x.new_ones(rows, *x.shape[1:]), self.p)
        is_kept = whole[first : first + len(x)] != 0
        return torch.where(is_kept, x / (1 - self.p), 0)

    def extra_repr(self) -> str:
        return f"p={self.p}"

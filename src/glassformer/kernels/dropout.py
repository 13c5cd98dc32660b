"""Dropout (paper 5.4), from random bits that are cheap on a processor.

`bernoulli_` costs more there than a linear map of the same width. Here 16 random bits decide about
a value. In C (`native/train_dropout.c`) they are a function of a key, the row and the place in it:
kernels that drop on their way, forward and back, draw them again instead of keeping masks. The
twin draws a mask from a stream and clears with integer operations.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from .calls import call
from .native import load_library

STEPS = (
    1 << 15
)  # the probability is a multiple of 1 / STEPS; what is kept is scaled by the true one

_INTEGERS = {2: torch.int16, 4: torch.int32}


class _Bits:
    """Where the bits come from: one stream, begun anew by `seed_dropout`."""

    stream = np.random.SFC64(0)
    part: tuple[int, int] | None = None  # the first row at work, and the rows of the whole batch


def seed_dropout(*key: int, part: tuple[int, int] | None = None) -> None:
    """Begin the stream anew, on every device: what follows depends on `key` alone.

    With `part`, what follows is about some rows of a batch: (the first of them, how many it has).
    Each row is masked as it would be with all the others beside it.
    """
    sequence = np.random.SeedSequence(key)
    _Bits.stream, _Bits.part = np.random.SFC64(sequence), part
    torch.manual_seed(int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(1)))


def _draw(shape: torch.Size) -> npt.NDArray[np.int16]:
    """16 random bits for each value; those of rows that are not here are drawn and dropped."""
    count = shape.numel()
    if _Bits.part is None:
        return _Bits.stream.random_raw(-(-count // 4)).view(np.int16)[:count]
    first, rows = _Bits.part
    width = shape[1:].numel()
    start, stop, end = first * width // 4, -(-(first * width + count) // 4), -(-rows * width // 4)
    _Bits.stream.random_raw(start, output=False)
    raw = _Bits.stream.random_raw(stop - start).view(np.int16)[first * width % 4 :][:count]
    _Bits.stream.random_raw(end - stop, output=False)
    return raw


def keep_mask(shape: torch.Size, share: int) -> Tensor:
    """int16: -1, all bits set, in `share` of STEPS places; 0 elsewhere."""
    raw = _draw(shape)
    # raw >> 1 is uniform over STEPS values; the sign of the difference fills all bits.
    halved = torch.from_numpy(raw).bitwise_right_shift_(1)
    return halved.sub_(share - STEPS // 2).bitwise_right_shift_(15).view(shape)


def _clear(x: Tensor, mask: Tensor) -> Tensor:
    """x where the mask is -1, 0 where it is 0."""
    integers = _INTEGERS[x.element_size()]
    return (x.contiguous().view(integers) & mask.to(integers)).view(x.dtype)


class _Drop(ctypes.Structure):
    _fields_ = (("key", ctypes.c_uint32 * 2), ("share", ctypes.c_uint32), ("scale", ctypes.c_float))


@dataclass(frozen=True)
class Draw:
    """What a kernel in C needs to know of one dropout. Without a share, nothing falls."""

    key: int = 0  # 64 bits
    share: int = 0  # of STEPS
    first: int = 0  # the number of the first row

    def at_rows(self, several: int) -> Draw:
        """For a kernel that counts so many rows where a batch has one."""
        return replace(self, first=self.first * several)

    @property
    def scale(self) -> float:
        return STEPS / self.share if self.share else 1.0

    @property
    def pointer(self) -> Any:
        key = (ctypes.c_uint32 * 2)(self.key & 0xFFFFFFFF, self.key >> 32)
        return ctypes.byref(_Drop(key, self.share, self.scale))


@cache
def _open() -> ctypes.CDLL | None:
    library = load_library("train_dropout")
    if library is not None:
        library.drop_rows.argtypes = [
            ctypes.c_void_p,
            ctypes.c_int,
            ctypes.c_void_p,
            ctypes.c_long,
            ctypes.c_long,
            ctypes.c_long,
            ctypes.c_void_p,
            ctypes.c_int,
        ]
    return library


def drop_rows(x: Tensor, draw: Draw) -> Tensor:
    """x, fp32 or bf16, without what falls; rows are all but the last axis."""
    library = _open()
    assert library is not None and x.dtype in (torch.float32, torch.bfloat16)
    x = x.contiguous()
    out, width = torch.empty_like(x), x.size(-1) if x.dim() > 1 else 1
    if not x.numel():
        return out
    rows = x.numel() // width
    first = draw.at_rows(rows // len(x)).first
    is_low = x.dtype == torch.bfloat16
    call(library.drop_rows, x, is_low, draw.pointer, first, rows, width, out)
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
    def forward(ctx: Any, x: Tensor, share: int) -> Tensor:
        mask = keep_mask(x.shape, share)
        ctx.save_for_backward(mask)
        ctx.scale = STEPS / share
        return _clear(x, mask).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        (mask,) = ctx.saved_tensors
        return _clear(grads[0], mask).mul_(ctx.scale), None


class Dropout(nn.Module):
    """Zero each value with probability `p` while training, and scale up what stays."""

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not (self.training and self.p):
            return x
        if x.device.type != "cpu" or x.element_size() not in _INTEGERS or compiling():
            return _drop_with_torch(x, self.p)
        if x.dtype in (torch.float32, torch.bfloat16) and _open() is not None:
            dropped: Tensor = _DropRows.apply(x, self.draw())  # type: ignore[no-untyped-call]
            return dropped
        result: Tensor = _Dropout.apply(x, round((1 - self.p) * STEPS))  # type: ignore[no-untyped-call]
        return result

    def draw(self) -> Draw:
        """The next key of the stream, for a kernel that drops on its way."""
        share = round((1 - self.p) * STEPS)
        if not (self.training and share < STEPS):
            return Draw()
        first = _Bits.part[0] if _Bits.part else 0
        return Draw(int(_Bits.stream.random_raw()), share, first)

    def extra_repr(self) -> str:
        return f"p={self.p}"


def _drop_with_torch(x: Tensor, p: float) -> Tensor:
    """From torch's own generator, which fills a whole batch at once."""
    if _Bits.part is None or compiling():
        return functional.dropout(x, p)
    first, rows = _Bits.part
    whole = functional.dropout(x.new_ones(rows, *x.shape[1:]), p)
    is_kept = whole[first : first + len(x)] != 0
    return torch.where(is_kept, x / (1 - p), 0)


def compiling() -> bool:
    return torch.compiler.is_compiling() or torch.compiler.is_exporting()

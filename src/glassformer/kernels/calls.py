"""How kernels in C are called: tensors go as pointers, torch's number of threads goes last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def call(function: Callable[..., int], *arguments: Any) -> None:
    """MemoryError if the function found no room to work in; then it has done nothing."""
    plain = (point(x) if isinstance(x, Tensor) else x for x in arguments)
    if function(*plain, torch.get_num_threads()):
        raise MemoryError("not enough memory for a kernel to work in")


def point(x: Tensor, dtype: torch.dtype | None = None) -> int:
    """The address of numbers that lie one after the other; ValueError if they do not.

    C would read on behind what a view repeats or skips, and behind numbers of fewer bytes.
    """
    if x.is_contiguous() and x.is_cpu and (dtype is None or x.dtype is dtype):
        return x.data_ptr()
    if not x.is_contiguous():
        raise ValueError(f"a kernel was given a view: shape {[*x.shape]}, strides {[*x.stride()]}")
    raise ValueError(f"a kernel was given {x.dtype} on {x.device}: it wants {dtype or ''} on cpu")


def point_apart(x: Tensor) -> int:
    """The address of numbers whose strides the kernel is told."""
    if x.is_cpu:
        return x.data_ptr()
    raise ValueError(f"a kernel was given a tensor on {x.device}: it is for processors")

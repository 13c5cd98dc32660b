"""Calls of C kernels: tensors are passed as pointers, the number of threads comes last."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


def call(function: Callable[..., int], *arguments: Any) -> None:
    """Call a C function with tensors and numbers.

    Raise MemoryError if it could not allocate its scratch memory; then it has changed nothing.
    """
    plain = (point(x) if isinstance(x, Tensor) else x for x in arguments)
    if function(*plain, torch.get_num_threads()):
        raise MemoryError("not enough memory for a kernel to work in")


def point(x: Tensor, dtype: torch.dtype | None = None) -> int:
    """Return the address of a contiguous CPU tensor; raise ValueError for any other.

    C would read beyond the end of a view, or of numbers of fewer bytes than it expects.
    """
    if x.is_contiguous() and x.is_cpu and (dtype is None or x.dtype is dtype):
        return x.data_ptr()
    if not x.is_contiguous():
        raise ValueError(f"a kernel was given a view: shape {[*x.shape]}, strides {[*x.stride()]}")
    raise ValueError(f"a kernel was given {x.dtype} on {x.device}: it wants {dtype or ''} on cpu")


def point_apart(x: Tensor) -> int:
    """Return the address of a CPU tensor whose strides are also passed to the kernel."""
    if x.is_cpu:
        return x.data_ptr()
    raise ValueError(f"a kernel was given a tensor on {x.device}: it is for processors")

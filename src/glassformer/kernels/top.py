"""The largest few of many, and the logarithm of a sum of exponentials: `native/top.c`.

The plain twins are in `decode/top.py`, and take over wherever None comes back.
Letters: R rows; V values in each; C of them wanted.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int, c_int64, c_void_p
from functools import cache

import torch
from torch import Tensor

from . import native
from .calls import point, point_apart

MOST = 64  # wanted; more are found faster by sorting


def find_top(x_RV: Tensor, size: int) -> tuple[Tensor, Tensor] | None:
    """Values and places of the `size` largest of each row; of equals the first."""
    library = _get_library()
    if library is None or not _is_plain(x_RV) or not 0 < size <= min(MOST, x_RV.size(1)):
        return None
    rows, values = x_RV.shape
    value_RC, place_RC = x_RV.new_empty(rows, size), torch.empty(rows, size, dtype=torch.long)
    library.top_find(
        point_apart(x_RV), rows, values, x_RV.stride(0), size, point(value_RC),
        point(place_RC), torch.get_num_threads(),
    )  # fmt: skip
    return value_RC, place_RC


def sum_logs(x_RV: Tensor) -> Tensor | None:
    """As `x_RV.logsumexp(-1, keepdim=True)`."""
    library = _get_library()
    if library is None or not _is_plain(x_RV):
        return None
    rows, values = x_RV.shape
    sum_R1 = x_RV.new_empty(rows, 1)
    library.top_sum_logs(
        point_apart(x_RV), rows, values, x_RV.stride(0), point(sum_R1), torch.get_num_threads()
    )
    return sum_R1


def _is_plain(x_RV: Tensor) -> bool:
    return x_RV.dtype == torch.float32 and x_RV.device.type == "cpu" and x_RV.stride(1) == 1


@cache
def _get_library() -> ctypes.CDLL | None:
    library = native.load("top")
    if library is not None:
        p, q = c_void_p, c_int64
        library.top_sum_logs.argtypes, library.top_sum_logs.restype = (p, q, q, q, p, c_int), None
        library.top_find.argtypes, library.top_find.restype = (p, q, q, q, q, p, p, c_int), None
    return library

"""The largest few of many, and the logarithm of a sum of exponentials: `native/top.c`.

The plain twins are in `decode/top.py`, and take over where None comes back.
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


def survey(
    x_RV: Tensor, size: int, *, first: int = 0, sums: bool = True
) -> tuple[Tensor, Tensor, Tensor] | None:
    """Values and places of the `size` largest of each row, from the place `first` on, of equals
    the first; and x_RV.logsumexp(-1, keepdim=True) of all, unless `sums` is off. In one reading."""
    library = _get_library()
    if library is None or not _is_plain(x_RV) or not 0 <= size <= min(MOST, x_RV.size(1) - first):
        return None
    rows, values = x_RV.shape
    value_RC, place_RC = x_RV.new_empty(rows, size), torch.empty(rows, size, dtype=torch.long)
    sum_R1 = x_RV.new_empty(rows, 1)
    library.top_survey(
        point_apart(x_RV), rows, values, x_RV.stride(0), first, size, point(value_RC),
        point(place_RC), point(sum_R1) if sums else None, torch.get_num_threads(),
    )  # fmt: skip
    return value_RC, place_RC, sum_R1


def _is_plain(x_RV: Tensor) -> bool:
    return x_RV.dtype == torch.float32 and x_RV.device.type == "cpu" and x_RV.stride(1) == 1


@cache
def _get_library() -> ctypes.CDLL | None:
    library = native.load("top")
    if library is not None:
        p, q = c_void_p, c_int64
        library.top_survey.argtypes = (p, q, q, q, q, q, p, p, p, c_int)
        library.top_survey.restype = None
    return library

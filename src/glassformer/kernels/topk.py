"""The largest few of many, and the logarithm of a sum of exponentials: `native/top.c`.

The plain twins are in `decode/top.py`, and take over where None comes back.
Letters: R rows; V values in each; C of them wanted.
"""

from __future__ import annotations

import ctypes
from ctypes import c_int, c_int64, c_void_p
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor

from . import native
from .calls import point, point_apart

MOST = 64  # wanted; more are found faster by sorting


class Best(NamedTuple):
    """What a search needs to know of the logits of each row."""

    value_RC: Tensor  # the largest, largest first; of equals the first
    place_RC: Tensor
    sum_R1: Tensor  # x_RV.logsumexp(-1, keepdim=True), of all


class Question(ctypes.Structure):
    """In C: which of the largest, and where they go."""

    _fields_ = (
        *((name, c_int64) for name in ("values", "first", "size")),
        *((name, c_void_p) for name in ("value", "place", "sum")),
    )


def can_ask(values: int, size: int, first: int) -> bool:
    return 0 <= size <= min(MOST, values - first)


def request_topk(
    rows: int, values: int, size: int, first: int, *, sums: bool = True
) -> tuple[Question, Best]:
    """A question about rows of so many values, and where its answer will be."""
    place_RC = torch.empty(rows, size, dtype=torch.long)
    best = Best(torch.empty(rows, size), place_RC, torch.empty(rows, 1))
    pointers = (point(each) for each in best[: 3 if sums else 2])
    return Question(values, first, size, *pointers), best


def topk_logsumexp(x_RV: Tensor, size: int, *, first: int = 0, sums: bool = True) -> Best | None:
    """The `size` largest of each row, from the place `first` on, and the sum, unless `sums` is
    off, in one reading. None: there is no kernel for it."""
    library, (rows, values) = _get_library(), x_RV.shape
    if library is None or not _is_plain(x_RV) or not can_ask(values, size, first):
        return None
    question, best = request_topk(rows, values, size, first, sums=sums)
    threads = torch.get_num_threads()
    library.top_survey(point_apart(x_RV), rows, x_RV.stride(0), ctypes.byref(question), threads)
    return best


def _is_plain(x_RV: Tensor) -> bool:
    return x_RV.dtype == torch.float32 and x_RV.device.type == "cpu" and x_RV.stride(1) == 1


@cache
def _get_library() -> ctypes.CDLL | None:
    library = native.load_library("top")
    if library is not None:
        p, q = c_void_p, c_int64
        library.top_survey.argtypes = (p, q, q, p, c_int)
        library.top_survey.restype = None
    return library

"""The k largest values of each row and its logsumexp, in one pass: `native/top.c`.

The plain twins are in `decode/rules.py`; they are used where this returns None.

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

MOST = 64  # the most values wanted; sorting is faster for more


TopK = tuple[Tensor, Tensor, Tensor]  # values R C, descending; their places R C; logsumexp R 1


class TopkRequest(ctypes.Structure):
    """The C structure of a request: how many values, and where to write them."""

    _fields_ = (
        *((name, c_int64) for name in ("values", "first", "size")),
        *((name, c_void_p) for name in ("value", "place", "sum")),
    )


def can_topk(values: int, size: int, first: int) -> bool:
    return 0 <= size <= min(MOST, values - first)


def request_topk(
    rows: int, values: int, size: int, first: int, *, sums: bool = True
) -> tuple[TopkRequest, TopK]:
    """Return a request for rows of `values` values, and the tensors that will hold the result."""
    place_RC = torch.empty(rows, size, dtype=torch.long)
    best = torch.empty(rows, size), place_RC, torch.empty(rows, 1)
    pointers = (point(each) for each in best[: 3 if sums else 2])
    return TopkRequest(values, first, size, *pointers), best


def topk_logsumexp(x_RV: Tensor, size: int, *, first: int = 0, sums: bool = True) -> TopK | None:
    """Return the `size` largest of each row, from column `first` on, and the row's logsumexp.

    Without `sums` the logsumexp is not computed. Return None where no kernel serves.
    """
    library, (rows, values) = _get_library(), x_RV.shape
    if library is None or not _is_plain(x_RV) or not can_topk(values, size, first):
        return None
    request, best = request_topk(rows, values, size, first, sums=sums)
    threads = torch.get_num_threads()
    library.top_survey(point_apart(x_RV), rows, x_RV.stride(0), ctypes.byref(request), threads)
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

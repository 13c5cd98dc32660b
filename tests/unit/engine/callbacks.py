"""Networks in Python behind the structure of functions that the search in C calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, c_float, c_int, c_int32, c_int64, c_void_p
from functools import wraps
from typing import Any

import numpy as np
import torch

from glassformer.decode.rules import sum_logs
from glassformer.decode.score import padded
from glassformer.engine import native_structs as structs

OK, FAILED = 0, 6
INTS, FLOATS = POINTER(c_int32), POINTER(c_float)


class TextStruct(ctypes.Structure):
    """`Text` of network.h."""

    _fields_ = ("ids", INTS), ("size", c_int32), ("shortlist", c_void_p)


class BestStruct(ctypes.Structure):
    """`Best` of network.h."""

    _fields_ = (
        ("size", c_int32),
        ("first", c_int32),
        ("value", FLOATS),
        ("id", INTS),
        ("logsumexp", FLOATS),
        ("wanted", INTS),
        ("wanted_logit", FLOATS),
    )


class WatchedStruct(ctypes.Structure):
    """`Watched` of network.h."""

    _fields_ = (
        ("count", c_int32),
        ("heads", INTS),
        ("weights", FLOATS),
        ("stride", c_int64),
        ("apart", c_int64),
    )


BEST, WATCHED = POINTER(BestStruct), POINTER(WatchedStruct)
ADMIT = CFUNCTYPE(c_int, c_void_p, c_int32, POINTER(TextStruct), c_int32)
STEP = CFUNCTYPE(c_int, c_void_p, c_int32, INTS, FLOATS, BEST, WATCHED)
KEEP = CFUNCTYPE(c_int, c_void_p, c_int32, INTS, c_int32)
CLEAR = CFUNCTYPE(None, c_void_p)


def as_array(pointer: Any, *shape: int) -> np.ndarray:
    """Return the memory of C behind a pointer."""
    return np.ctypeslib.as_array(pointer, shape)


class CallbackNetwork:
    """A network that speaks the search protocol of `decode/protocol.py`, as C sees it.

    struct: what C gets. errors: what was raised; C is told that the request was bad.
    """

    def __init__(self, network: Any, vocabulary: int, longest: int = 1000):
        self.network, self.vocabulary, self.state = network, vocabulary, None
        self.errors: list[Exception] = []
        self.kept: list[Any] = []  # what C calls
        self.struct = structs.NetworkStruct(
            vocabulary=vocabulary,
            max_positions=longest,
            admit=self.give(ADMIT, self.guard(self.admit)),
            step=self.give(STEP, self.guard(self.step)),
            keep=self.give(KEEP, self.guard(self.keep)),
            clear=self.give(CLEAR, self.clear),
        )
        self.struct.kept = self.kept  # as long as C may call them

    def give(self, kind: Any, method: Callable[..., Any]) -> int | None:
        """Return the address of a method for C."""
        self.kept.append(kind(method))
        return ctypes.cast(self.kept[-1], ctypes.c_void_p).value

    def guard(self, method: Callable[..., None]) -> Callable[..., int]:
        @wraps(method)
        def call(_: int, *arguments: Any) -> int:
            try:
                with torch.inference_mode():
                    method(*arguments)
            except MemoryError:
                return 1
            except Exception as error:
                self.errors.append(error)
                return FAILED
            return OK

        return call

    def admit(self, count: int, sources: Any, beams: int) -> None:
        source_BS = padded([each.ids[: each.size] for each in sources[:count]], "cpu")
        if self.state is not None:
            assert self.state.beams == beams
            self.network.admit(source_BS, self.state)
            return
        self.state = self.network.start(source_BS)
        if beams > 1:
            self.network.keep(torch.arange(count).repeat_interleave(beams), self.state)

    def step(self, count: int, tokens: Any, logits: Any, best: Any, watched: Any) -> None:
        """Rows with fewer tokens are padded and cut back, as the protocol wants it."""
        rows, ids = as_array(tokens, count, 2).T
        assert (rows[1:] >= rows[:-1]).all()
        new_R = np.bincount(rows, minlength=len(self.state.length_R))
        places = [place for number in new_R for place in range(number)]
        tokens_RQ = torch.zeros(len(new_R), max(new_R), dtype=torch.long)
        tokens_RQ[rows, places] = torch.from_numpy(ids).long()
        length_R = self.state.length_R + torch.from_numpy(new_R)
        found_NV = self.network.step(tokens_RQ, self.state)[rows, places]
        if new_R.min() < new_R.max():
            self.network.rewind(length_R, self.state)
        self.places = [*zip(rows.tolist(), places, strict=True)]
        if logits:
            as_array(logits, count, self.vocabulary)[:] = found_NV
        else:
            fill_best(best.contents, found_NV)
        if watched:
            self.watch(watched.contents, count)

    def watch(self, watched: WatchedStruct, count: int) -> None:
        raise ValueError("no weights to show")

    def keep(self, count: int, rows: Any, beams: int) -> None:
        if not count:
            self.state = None
            return
        self.network.keep(torch.tensor(rows[:count]), self.state)
        assert self.state is not None and self.state.beams == beams

    def clear(self, _: int) -> None:
        self.state = None


def fill_best(best: BestStruct, logits_NV: torch.Tensor) -> None:
    count, vocabulary = logits_NV.shape
    assert 0 <= best.size <= vocabulary - best.first
    as_array(best.logsumexp, count)[:] = sum_logs(logits_NV)[:, 0]
    if best.wanted:
        wanted = torch.from_numpy(as_array(best.wanted, count)).long()
        as_array(best.wanted_logit, count)[:] = logits_NV[range(count), wanted]
    if best.size:
        found = logits_NV[:, best.first :].sort(dim=1, descending=True, stable=True)
        as_array(best.value, count, best.size)[:] = found.values[:, : best.size]
        as_array(best.id, count, best.size)[:] = found.indices[:, : best.size] + best.first

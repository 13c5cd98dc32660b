"""Networks in Python behind the structure of functions that the search in C calls."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, c_float, c_int, c_int32, c_void_p
from functools import wraps
from typing import Any

import numpy as np
import torch

from glassformer.decode.rules import sum_logs
from glassformer.decode.score import padded
from glassformer.engine import native_structs as structs

OK, FAILED = 0, 6
INTS, FLOATS = POINTER(c_int32), POINTER(c_float)


class BestStruct(ctypes.Structure):
    """`Best` of network.h."""

    _fields_ = (
        ("size", c_int32),
        ("first", c_int32),
        ("value", FLOATS),
        ("id", INTS),
        ("logsumexp", FLOATS),
    )


ADMIT = CFUNCTYPE(c_int, c_void_p, c_int32, INTS, INTS, c_int32)
STEP = CFUNCTYPE(c_int, c_void_p, c_int32, c_int32, INTS, FLOATS, POINTER(BestStruct))
KEEP = CFUNCTYPE(c_int, c_void_p, c_int32, INTS, c_int32)
REWIND = WATCH = CFUNCTYPE(c_int, c_void_p, c_int32, INTS)
CLEAR = CFUNCTYPE(None, c_void_p)
ALIGNMENT = CFUNCTYPE(c_void_p, c_void_p, INTS)


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
            rewind=self.give(REWIND, self.guard(self.rewind)),
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

    def admit(self, count: int, tokens: Any, start: Any, beams: int) -> None:
        source_BS = padded([tokens[start[b] : start[b + 1]] for b in range(count)], "cpu")
        if self.state is not None:
            assert self.state.beams == beams
            self.network.admit(source_BS, self.state)
            return
        self.state = self.network.start(source_BS)
        if beams > 1:
            self.network.keep(torch.arange(count).repeat_interleave(beams), self.state)

    def step(self, rows: int, queries: int, tokens: Any, logits: Any, best: Any) -> None:
        tokens_RQ = torch.tensor(tokens[: rows * queries]).view(rows, queries)
        logits_RQV = self.network.step(tokens_RQ, self.state)
        if logits:
            shape = rows * queries * self.vocabulary
            np.ctypeslib.as_array(logits, (shape,))[:] = logits_RQV.numpy().ravel()
            return
        assert queries == 1
        wanted, logits_RV = best.contents, logits_RQV[:, 0]
        assert 0 < wanted.size <= self.vocabulary - wanted.first
        found = logits_RV[:, wanted.first :].sort(dim=1, descending=True, stable=True)
        size = rows * wanted.size
        ids = (found.indices[:, : wanted.size] + wanted.first).numpy().ravel()
        np.ctypeslib.as_array(wanted.value, (size,))[:] = found.values[:, : wanted.size].ravel()
        np.ctypeslib.as_array(wanted.id, (size,))[:] = ids
        np.ctypeslib.as_array(wanted.logsumexp, (rows,))[:] = sum_logs(logits_RV)[:, 0]

    def keep(self, count: int, rows: Any, beams: int) -> None:
        if not count:
            self.state = None
            return
        self.network.keep(torch.tensor(rows[:count]), self.state)
        assert self.state is not None and self.state.beams == beams

    def rewind(self, rows: int, lengths: Any) -> None:
        self.network.rewind(torch.tensor(lengths[:rows]), self.state)

    def clear(self, _: int) -> None:
        self.state = None

    def show(self) -> structs.NetworkStruct:
        """Return the structure with the functions that show attention."""
        self.struct.watch = self.give(WATCH, self.guard(self.watch))
        self.struct.alignment = self.give(ALIGNMENT, self.alignment)
        return self.struct

"""A model in C with the workers that search and score with it; imports no torch."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any

from ..config import Decode, Model
from ..decode.sentences import Budget, Hypothesis, Rows
from ..foundation.shared_library import explain_library, load_library
from ..model.files.weights_file import StoredTensor
from .native import BUDGET, Head, ScoredPair, Workers, score_in_c, search_in_c
from .native_model import NativeEnsemble, NativeModel
from .native_structs import NetworkStruct
from .shortlist import ADVICE, Shortlist

if TYPE_CHECKING:
    from .native import Matrix

TOGETHER = 256  # pairs whose attention is read at once: the weights of all heads are kept so long
SOURCE = "source_embedding.table.weight"
# The output table, under the first name that it has.
OUTPUTS = {
    "three-way": SOURCE,
    "two-way": "target_embedding.table.weight",
    "none": "output_table.weight",
}


class NativeEngine:
    """The packed weights of a model, or of several, and the workers that compute with them.

    Any number of threads may call it at once: each call has workers of its own, which are kept for
    later calls with the memory that they need.
    """

    def __init__(self, model: NativeModel | NativeEnsemble):
        self.model, self._lock, self._idle = model, Lock(), list[Workers]()
        self._find_shortlist: Callable[[], Shortlist] | None = None
        self._shortlist: Shortlist | None = None
        self.close = weakref.finalize(self, _close, model, self._idle)

    @classmethod
    def open(
        cls,
        settings: Model,
        tensors: Mapping[str, StoredTensor],
        precision: str = "int8",
        library: ctypes.CDLL | None = None,
    ) -> NativeEngine:
        """Pack the weights of a model; without a library, take the one for this processor.

        ValueError names the tensor or setting that is wrong. RuntimeError: there is no library.
        """
        library = library or load_library("engine")
        if library is None:
            raise RuntimeError(explain_library("engine"))
        for name in (SOURCE, OUTPUTS[settings.tie]):
            if name not in tensors:
                raise ValueError(f"the model has no tensor {name}")
        vocabularies = tensors[SOURCE].shape[0], tensors[OUTPUTS[settings.tie]].shape[0]
        return cls(NativeModel(library, settings, vocabularies, tensors, precision))

    @property
    def precision(self) -> str:
        return self.model.precision

    def search(
        self, sources: Rows, settings: Decode, *, workers: int = 1, **keywords: Any
    ) -> list[list[Hypothesis]]:
        """Return the best hypotheses of each source; see `native.search_in_c`."""
        shortlist = self._open_shortlist(sources, settings) if settings.shortlist else None
        with self._borrow(workers) as borrowed:
            return search_in_c(borrowed, sources, settings, shortlist=shortlist, **keywords)

    def use_shortlist(self, find: Callable[[], Shortlist]) -> None:
        """Let searches that want a short-list have that which `find` opens."""
        self._find_shortlist = find

    def _open_shortlist(self, sources: Rows, settings: Decode) -> Shortlist | None:
        """Return the short-list of the model; None in fp32, which predicts all tokens.

        ValueError if the model has none, one of another language, or one too short for the beam.
        """
        if self.precision != "int8":
            return None
        with self._lock:
            if self._shortlist is None:
                if self._find_shortlist is None or isinstance(self.model, NativeEnsemble):
                    raise ValueError("shortlist: the model was not read from a folder that has one")
                self._shortlist = self._find_shortlist()
                self.model.list_outputs()
        tags, most = self._shortlist.tags, self._shortlist.common // 2
        if any([*row[: len(tags)]] != tags for row in sources):
            raise ValueError(f"the short-list is for another target language: {ADVICE}")
        if settings.rows > most:
            raise ValueError(f"beam={settings.beam}: at most {most} with this short-list")
        return self._shortlist

    def score(
        self, sources: Rows, targets: Rows, *, workers: int = 1, **keywords: Any
    ) -> list[ScoredPair]:
        """Return the log-probabilities of the tokens of each target; see `native.score_in_c`."""
        with self._borrow(workers) as borrowed:
            return score_in_c(borrowed, sources, targets, **keywords)

    def attend(
        self,
        sources: Rows,
        targets: Rows,
        heads: Sequence[Head],
        *,
        workers: int = 1,
        budget: int | Budget = BUDGET,
    ) -> Iterator[tuple[int, list[Matrix]]]:
        """Yield the index of each pair, and its weights of cross-attention, target + 1 x source.

        There is an array for each of the heads; its row t is that of the query that predicts
        token t, the last one EOS.
        """
        for first in range(0, len(sources), TOGETHER):
            part = slice(first, first + TOGETHER)
            pairs = self.score(
                sources[part], targets[part], heads=heads, workers=workers, budget=budget
            )
            for place, pair in enumerate(pairs, first):
                yield place, [*pair.weights]

    @contextmanager
    def _borrow(self, number: int) -> Iterator[Workers]:
        """Yield workers that no other call uses, as many as are wanted."""
        with self._lock:
            fitting = [each for each in self._idle if len(each.networks) >= number]
            borrowed = min(fitting, key=lambda each: len(each.networks), default=None)
            if borrowed:
                self._idle.remove(borrowed)
        borrowed = borrowed or _hire(self.model, number)
        try:
            yield borrowed._replace(networks=borrowed.networks[:number])
        finally:
            with self._lock:
                self._idle.append(borrowed)


class NativeEnsembleEngine(NativeEngine):
    """Engines of models with one vocabulary as one; short-lists are unknown to it."""

    def __init__(self, members: Sequence[NativeEngine]):
        """Take engines of single models, which keep their own workers beside this."""
        models = [each.model for each in members if isinstance(each.model, NativeModel)]
        super().__init__(NativeEnsemble(models))
        self.members = members

    def attend(
        self, sources: Rows, targets: Rows, heads: Sequence[Head], **keywords: Any
    ) -> Iterator[tuple[int, list[Matrix]]]:
        """Yield what the first member attends to; see `NativeEngine.attend`."""
        return self.members[0].attend(sources, targets, heads, **keywords)

    def _open_shortlist(self, sources: Rows, settings: Decode) -> Shortlist | None:
        return None


def _hire(model: NativeModel | NativeEnsemble, number: int) -> Workers:
    """Return so many workers. MemoryError: there is none for their networks."""
    library, pool = model.library, ctypes.c_void_p()
    library.pool_close.argtypes = (ctypes.c_void_p,)
    library.pool_close.restype = None
    if library.pool_open(ctypes.c_int32(number), ctypes.byref(pool)):
        raise MemoryError("not enough memory for threads")
    workers = Workers(library, [NetworkStruct() for _ in range(number)], pool, model.budget)
    for network in workers.networks:
        try:
            model.open_network(network)
        except MemoryError:
            _dismiss(model, workers)
            raise
    return workers


def _dismiss(model: NativeModel | NativeEnsemble, workers: Workers) -> None:
    for network in workers.networks:
        model.close_network(network)  # one that was not opened has nothing to free
    model.library.pool_close(workers.pool)


def _close(model: NativeModel | NativeEnsemble, idle: list[Workers]) -> None:
    for workers in idle:
        _dismiss(model, workers)
    idle.clear()
    model.close()

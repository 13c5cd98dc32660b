"""The search and the scoring in C: one call for a whole batch of sentences.

The functions are twins of `decode.search` and `decode.score_targets`: the same arguments give the
same results. The C library calls a network through a structure of functions, `native/network.h`.
This module imports neither torch nor NumPy.
"""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate, chain
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, NamedTuple

from ..config import Decode
from ..decode.sentences import (
    Budget,
    Hypothesis,
    NotFiniteError,
    QueuedSentence,
    Rows,
    check_search,
    explain_memory,
    explain_nothing,
    plan_pairs,
    plan_sentences,
)
from . import native_structs as structs

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from .shortlist import Shortlist

    Matrix = memoryview[float] | NDArray[np.float32]

BUDGET = 4096  # tokens at work: rows times the longest of them, padding included
METHODS = {"greedy": 0, "beam": 1, "sample": 2}
PENALTIES = {"none": 0, "gnmt": 1, "power": 2}
# The codes of native/errors.h that are told apart here.
OUT_OF_MEMORY, UNKNOWN_TOKEN, TOO_LONG, NOT_FINITE, CANCELLED, NO_HYPOTHESIS = 1, 2, 3, 4, 5, 9

PLACE, HYPOTHESIS = struct.Struct("qqq"), struct.Struct("iiff")  # structures of native/api.h
NEXT = ctypes.c_int32, ctypes.c_float  # a token that may follow a target, and its log-probability

Progress = Callable[[int], object]
Head = tuple[int, int | None]  # a layer of the decoder, and a head; None: the mean of all


class Workers(NamedTuple):
    """The C library, a network for each worker, and their threads (`native/pool.h`), if several."""

    library: ctypes.CDLL
    networks: Sequence[structs.NetworkStruct]
    pool: ctypes.c_void_p | None = None
    budget: int = BUDGET  # at most so many tokens at work in a search: more are slower

    @property
    def longest(self) -> int:
        """Return the most tokens that the network reads."""
        return int(self.networks[0].max_positions)


class ScoredPair(NamedTuple):
    """The log-probabilities of a given translation; logarithms are natural."""

    log_probs: list[float]  # of each token, and EOS's
    # Of each head that was asked for, (target + 1) x source: row t predicts token t, the last EOS.
    weights: tuple[memoryview[float], ...] = ()
    next_tokens: tuple[tuple[int, float], ...] = ()  # the best after the last one, best first


def search_in_c(
    workers: Workers,
    sources: Rows,
    settings: Decode,
    *,
    n_best: int = 1,
    prefixes: Rows | None = None,
    lines: Sequence[int] | None = None,
    seed: int = 0,
    longest: int | None = None,
    shortlist: Shortlist | None = None,
    budget: int | Budget = BUDGET,
    progress: Progress | None = None,
    lengths: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of each source; see `decode.search` for the arguments.

    shortlist: only its tokens for each source are predicted, and probabilities are of these alone.
    IndexError: a token is not in its vocabulary. MemoryError: there is none for the results.
    """
    check_search(n_best, settings, seed)
    longest = workers.longest if longest is None else min(longest, workers.longest)
    sentences = plan_sentences(sources, prefixes, lines, longest, settings, lengths=lengths)
    keys = (
        [each.line for each in sentences] if settings.search == "sample" else [0] * len(sentences)
    )
    batch = _Batch(sentences, [each.limit for each in sentences], keys)
    batch.struct.shortlist = shortlist and ctypes.addressof(shortlist.struct)
    options = pack_options(settings, n_best, seed)
    results = ctypes.POINTER(structs.ResultsStruct)()
    arguments = ctypes.byref(options), ctypes.byref(results)
    _call(workers, "gf_search", batch, budget, progress, settings, *arguments)
    try:
        return list(_read_results(results.contents, len(sentences)))
    finally:
        workers.library.gf_free(results)


def pack_options(settings: Decode, n_best: int, seed: int) -> structs.OptionsStruct:
    """Return the settings of a search as the C library reads them."""
    return structs.OptionsStruct(
        alpha=settings.alpha,
        temperature=settings.temperature,
        top_p=settings.top_p,
        seed=seed,
        method=METHODS[settings.search],
        penalty=PENALTIES[settings.length_penalty],
        beams=settings.beam if settings.search == "beam" else 1,
        n_best=n_best,
        stops_first=settings.stop == "first",
        min_length=settings.min_length,
        no_repeat_ngram_size=settings.no_repeat_ngram_size,
        top_k=settings.top_k,
    )


def score_in_c(
    workers: Workers,
    sources: Rows,
    targets: Rows,
    *,
    heads: Sequence[Head] = (),
    next_size: int = 0,
    budget: int | Budget = BUDGET,
    progress: Progress | None = None,
) -> list[ScoredPair]:
    """Return the log-probability of each token of each target, as `decode.score_targets` does.

    heads: those whose weights of cross-attention are returned too. next_size: the number of tokens
    wanted that might follow each target.
    """
    pairs = plan_pairs(sources, targets)
    batch, attention = _Batch(pairs), _Attention(heads, pairs)
    starts = [*accumulate((pair.limit for pair in pairs), initial=0)]
    log_probs = (ctypes.c_float * starts[-1])()
    ids, next_log_probs = ((kind * (len(pairs) * next_size))() for kind in NEXT)
    request = structs.WantedStruct(
        log_probs=ctypes.addressof(log_probs),
        heads_count=len(heads),
        next_size=next_size,
        **attention.addresses,
        next_ids=ctypes.addressof(ids),
        next_log_probs=ctypes.addressof(next_log_probs),
    )
    _call(workers, "gf_score", batch, budget, progress, None, ctypes.byref(request))
    if not math.isfinite(sum(log_probs)):
        raise NotFiniteError("what the network computes is not finite: its weights are too large")
    after = [*zip(ids, next_log_probs, strict=True)]
    return [
        ScoredPair(
            log_probs[start : start + pair.limit],
            attention.read(pair),
            tuple(after[pair.index * next_size :][:next_size]),
        )
        for pair, start in zip(pairs, starts, strict=False)
    ]


class _Attention:
    """The weights of the cross-attention of some heads in some pairs, one pair after another."""

    def __init__(self, heads: Sequence[Head], pairs: Sequence[QueuedSentence]):
        self.count, self.addresses = len(heads), dict[str, int]()
        self.weights = array("f")
        if not heads:
            return
        sizes = (len(heads) * len(pair.source) * pair.limit for pair in pairs)
        self.starts = _pack("q", accumulate(sizes, initial=0))
        self.weights = array("f", bytes(4 * self.starts[len(pairs)]))
        self.heads = _pack("i", (n for layer, h in heads for n in (layer, -1 if h is None else h)))
        names = "heads", "weight_starts", "weights"
        kept: list[array[Any]] = [self.heads, self.starts, self.weights]
        self.addresses = {
            name: each.buffer_info()[0] for name, each in zip(names, kept, strict=True)
        }

    def read(self, pair: QueuedSentence) -> tuple[memoryview[float], ...]:
        """Return the weights of each head in a pair."""
        shape = pair.limit, len(pair.source)
        size = shape[0] * shape[1]
        first = self.starts[pair.index] if self.count else 0
        parts = (first + head * size for head in range(self.count))
        flat = memoryview(self.weights).cast("B")
        return tuple(flat[4 * at : 4 * (at + size)].cast("f", shape) for at in parts)


class _Batch:
    """The ids of sentences, one after another, as the C library reads them."""

    def __init__(
        self,
        sentences: Sequence[QueuedSentence],
        limits: Sequence[int] | None = None,
        lines: Sequence[int] | None = None,
    ):
        self.sentences = sentences
        self.source_starts, sources = _join([each.source for each in sentences])
        self.prefix_starts, prefixes = _join([each.prefix for each in sentences])
        self.kept = (  # alive as long as their addresses are
            sources,
            prefixes,
            self.source_starts,
            self.prefix_starts,
            None if limits is None else _pack("i", limits),
            None if lines is None else _pack("Q", lines),
        )
        addresses = (None if each is None else each.buffer_info()[0] for each in self.kept)
        self.struct = structs.BatchStruct(len(sentences), *addresses)


def _pack(kind: str, numbers: Iterable[int]) -> array[int]:
    """Return numbers as C has them, with a 0 at the end, so that there is an address in any case.

    OverflowError: one is too large.
    """
    return array(kind, chain(numbers, (0,)))


def _join(rows: Rows) -> tuple[array[int], array[int]]:
    """Return where each row begins, with the end of the last, and all ids.

    IndexError: an id is too large.
    """
    try:
        ids = _pack("i", chain.from_iterable(rows))
    except OverflowError:
        raise IndexError("a token is not in the vocabulary") from None
    return _pack("q", accumulate(map(len, rows), initial=0)), ids


def _call(
    workers: Workers,
    function: str,
    batch: _Batch,
    budget: int | Budget,
    progress: Progress | None,
    settings: Decode | None,
    *arguments: Any,
) -> None:
    """Call a function of the library, and raise what it or `progress` says.

    `progress` is called in this thread, so that Ctrl-C is noticed there; either ends the search.
    """
    raised: list[BaseException] = []

    def tell(done: int) -> int:
        try:
            if progress and done:
                progress(done)
        except BaseException as error:
            raised.append(error)
        return len(raised)

    tokens = budget.tokens if isinstance(budget, Budget) else budget
    if function == "gf_search":
        tokens = min(tokens, workers.budget)
    networks = (structs.NetworkStruct * len(workers.networks))(*workers.networks)
    call = structs.CallStruct(
        networks=networks,
        pool=workers.pool,
        workers=len(networks),
        budget=tokens,
        progress=structs.Tell(tell),
    )
    called = getattr(workers.library, function)
    with _catch_interrupt(raised):
        code = called(ctypes.byref(call), ctypes.byref(batch.struct), *arguments)
    if isinstance(budget, Budget) and call.budget < tokens:  # memory ran out
        budget.tokens = min(budget.tokens, call.budget)
    if raised:
        raise raised[0]
    if code:
        raise _explain(code, call, batch.sentences, settings)


@contextmanager
def _catch_interrupt(raised: list[BaseException]) -> Iterator[None]:
    """Keep a Ctrl-C that arrives before a callback's first line, which no `try` in it can catch.

    Only the main thread is interrupted, so that no two threads change the hook.
    """
    if current_thread() is not main_thread():
        yield
        return

    def keep(args: sys.UnraisableHookArgs) -> None:
        if isinstance(args.exc_value, KeyboardInterrupt):
            raised.append(args.exc_value)
        else:
            usual(args)

    usual, sys.unraisablehook = sys.unraisablehook, keep
    try:
        yield
    finally:
        sys.unraisablehook = usual


def _explain(
    code: int,
    call: structs.CallStruct,
    sentences: Sequence[QueuedSentence],
    settings: Decode | None,
) -> Exception:
    """Return the error that a code of the library stands for."""
    failed = sentences[call.failed] if call.failed >= 0 else None
    if code in (NOT_FINITE, NO_HYPOTHESIS):
        return explain_nothing(failed.line if failed else None, code == NO_HYPOTHESIS)
    if code == OUT_OF_MEMORY:
        return explain_memory(failed.line, failed.size) if failed else MemoryError()
    if code == UNKNOWN_TOKEN:
        return IndexError("a token is not in the vocabulary")
    if code == TOO_LONG:
        return ValueError("more tokens than the model has positions (positions.max_positions)")
    return RuntimeError(f"the engine refused a request: code {code}")


def _read_results(results: structs.ResultsStruct, count: int) -> Iterator[list[Hypothesis]]:
    """Yield the hypotheses of each sentence. What they are made of is copied."""
    hypotheses = _copy(results.hypotheses, HYPOTHESIS.size * results.hypotheses_count)
    entries = [*HYPOTHESIS.iter_unpack(hypotheses)]
    tokens = array("i", _copy(results.tokens, 4 * results.tokens_count)).tolist()
    log_probs = array("f", _copy(results.log_probs, 4 * results.tokens_count)).tolist()
    for first, start, number in PLACE.iter_unpack(_copy(results.places, PLACE.size * count)):
        best = list[Hypothesis]()
        for length, finished, log_prob, score in entries[first : first + number]:
            end = start + length
            ids = tokens[start : end - 1 if finished else end]
            best.append(Hypothesis(ids, log_prob, score, log_probs[start:end], bool(finished)))
            start = end
        yield best


def _copy(address: int | None, size: int) -> bytes:
    """Return a copy of an array of C."""
    return ctypes.string_at(address, size) if address and size else b""

"""The search and the scoring in C: one call for a whole batch of sentences.

The functions are twins of `decode.search` and `decode.score_targets`: the same arguments give the
same results. The C library calls a network through a structure of functions, `native/network.h`.
This module does not import torch.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..config import Decode
from ..decode.sentences import (
    Budget,
    Hypothesis,
    NotFiniteError,
    Sentence,
    check_search,
    explain_memory,
    explain_nothing,
    plan_sentences,
)
from . import native_structs as structs

BUDGET = 4096  # tokens at work: rows times the longest of them, padding included
METHODS = {"greedy": 0, "beam": 1, "sample": 2}
PENALTIES = {"none": 0, "gnmt": 1, "power": 2}
# The codes of native/errors.h that are told apart here.
OUT_OF_MEMORY, UNKNOWN_TOKEN, TOO_LONG, NOT_FINITE, CANCELLED, NO_HYPOTHESIS = 1, 2, 3, 4, 5, 9

Array = NDArray[Any]
NOTHING: Array = np.empty((0, 0), np.float32)
Progress = Callable[[int], object]


@dataclass(frozen=True)
class Workers:
    """The C library, a network for each worker, and their threads (`native/pool.h`), if several."""

    library: ctypes.CDLL
    networks: Sequence[structs.NetworkStruct]
    pool: ctypes.c_void_p | None = None
    budget: int = BUDGET  # at most so many tokens at work in a search: more are slower

    @property
    def longest(self) -> int:
        """Return the most tokens that the network reads."""
        return int(self.networks[0].max_positions)


@dataclass(frozen=True)
class ScoredPair:
    """The log-probabilities of a given translation; logarithms are natural."""

    log_probs: list[float]  # of each token, and EOS's
    weights_TS: Array  # 0 x 0, or of the attention asked for: a row predicts a token, the last EOS
    next_tokens: list[tuple[int, float]]  # the best tokens after the last one, best first


def search_in_c(
    workers: Workers,
    sources: Sequence[Sequence[int]],
    settings: Decode,
    *,
    n_best: int = 1,
    prefixes: Sequence[Sequence[int]] | None = None,
    lines: Sequence[int] | None = None,
    seed: int = 0,
    longest: int | None = None,
    budget: int | Budget = BUDGET,
    progress: Progress | None = None,
) -> list[list[Hypothesis]]:
    """Return the `n_best` hypotheses of each source; see `decode.search` for the arguments.

    IndexError: a token is not in its vocabulary. MemoryError: there is none for the results.
    """
    check_search(n_best, settings)
    longest = workers.longest if longest is None else min(longest, workers.longest)
    sentences = plan_sentences(sources, prefixes, lines, longest, settings)
    keys = (
        [each.line for each in sentences] if settings.search == "sample" else [0] * len(sentences)
    )
    batch = _Batch(sentences, [each.limit for each in sentences], keys)
    options = structs.OptionsStruct(
        alpha=settings.alpha,
        temperature=settings.temperature,
        top_p=settings.top_p,
        seed=int(np.array(seed, np.uint64)),  # OverflowError instead of another seed
        method=METHODS[settings.search],
        penalty=PENALTIES[settings.length_penalty],
        beams=settings.beam if settings.search == "beam" else 1,
        n_best=n_best,
        stops_first=settings.stop == "first",
        min_length=settings.min_length,
        no_repeat_ngram_size=settings.no_repeat_ngram_size,
        top_k=settings.top_k,
    )
    results = ctypes.POINTER(structs.ResultsStruct)()
    arguments = ctypes.byref(options), ctypes.byref(results)
    _call(workers, "gf_search", batch, budget, progress, settings, *arguments)
    try:
        return list(_read_results(results.contents, len(sentences)))
    finally:
        workers.library.gf_free(results)


def score_in_c(
    workers: Workers,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    attention: tuple[int, int | None] | None = None,
    next_size: int = 0,
    budget: int | Budget = BUDGET,
    progress: Progress | None = None,
) -> list[ScoredPair]:
    """Return the log-probability of each token of each target, as `decode.score_targets` does.

    attention: a layer, and a head or None for the mean of all; the weights of their cross-attention
    are returned too. next_size: the number of tokens wanted that might follow each target.
    """
    if len(sources) != len(targets):
        raise ValueError(f"{len(sources)} sources but {len(targets)} targets")
    pairs = [
        Sentence(index, index, source, target, len(target) + 1)
        for index, (source, target) in enumerate(zip(sources, targets, strict=True))
    ]
    batch = _Batch(pairs)
    sizes = [len(each.source) * each.limit if attention else 0 for each in pairs]
    starts = np.cumsum([0, *sizes], dtype=np.int64)
    weights = np.zeros(starts[-1], np.float32)
    log_probs = np.zeros(int(batch.prefix_starts[-1]) + len(pairs), np.float32)
    ids = np.zeros((len(pairs), next_size), np.int32)
    next_log_probs = np.zeros((len(pairs), next_size), np.float32)
    layer, head = attention or (-1, None)
    wanted = structs.WantedStruct(
        layer=layer,
        head=-1 if head is None else head,
        next_size=next_size,
        weight_starts=starts.ctypes.data,
        weights=weights.ctypes.data,
        next_ids=ids.ctypes.data,
        next_log_probs=next_log_probs.ctypes.data,
    )
    arguments = ctypes.byref(wanted), ctypes.c_void_p(log_probs.ctypes.data)
    _call(workers, "gf_score", batch, budget, progress, None, *arguments)
    if not (np.isfinite(log_probs).all() and np.isfinite(weights).all()):
        raise NotFiniteError("what the network computes is not finite: its weights are too large")
    return [
        ScoredPair(
            log_probs[place + pair.index : place + pair.index + pair.limit].tolist(),
            weights[start:end].reshape(pair.limit, -1) if attention else NOTHING,
            list(zip(after.tolist(), their_log_probs.tolist(), strict=True)),
        )
        for pair, place, start, end, after, their_log_probs in zip(
            pairs, batch.prefix_starts, starts, starts[1:], ids, next_log_probs, strict=False
        )
    ]


class _Batch:
    """The ids of sentences, one after another, as the C library reads them."""

    def __init__(
        self,
        sentences: Sequence[Sentence],
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
            None if limits is None else np.array(limits, np.int32),
            None if lines is None else np.array(lines, np.uint64),
        )
        addresses = (None if each is None else each.ctypes.data for each in self.kept)
        self.struct = structs.BatchStruct(len(sentences), *addresses)


def _join(rows: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    """Return where each row begins, with the end of the last, and all ids.

    IndexError: an id is too large.
    """
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=starts[1:])
    try:
        return starts, np.fromiter(chain.from_iterable(rows), np.int32, int(starts[-1]))
    except OverflowError:
        raise IndexError("a token is not in the vocabulary") from None


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
    code = called(ctypes.byref(call), ctypes.byref(batch.struct), *arguments)
    if isinstance(budget, Budget) and call.budget < tokens:  # memory ran out
        budget.tokens = min(budget.tokens, call.budget)
    if raised:
        raise raised[0]
    if code:
        raise _explain(code, call, batch.sentences, settings)


def _explain(
    code: int, call: structs.CallStruct, sentences: Sequence[Sentence], settings: Decode | None
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
    found = _view(results.hypotheses, structs.HYPOTHESIS, results.hypotheses_count).tolist()
    tokens = _view(results.tokens, np.int32, results.tokens_count).tolist()
    log_probs = _view(results.log_probs, np.float32, results.tokens_count).tolist()
    for first, start, number in _view(results.places, structs.PLACE, count).tolist():
        best = list[Hypothesis]()
        for length, finished, log_prob, score in found[first : first + number]:
            end = start + length
            ids = tokens[start : end - 1 if finished else end]
            best.append(Hypothesis(ids, log_prob, score, log_probs[start:end], bool(finished)))
            start = end
        yield best


def _view(address: int | None, dtype: Any, count: int) -> Array:
    """Return an array of C as it lies in memory."""
    kind = np.dtype(dtype)
    if not address or not count:
        return np.empty(0, kind)
    return np.frombuffer((ctypes.c_char * (count * kind.itemsize)).from_address(address), kind)

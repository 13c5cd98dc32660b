"""The structures that the C library of the engine shares with Python: `native/*.h`, as ctypes."""

import ctypes
from ctypes import POINTER, c_double, c_int, c_int32, c_int64, c_uint64, c_void_p

FUNCTIONS = "admit", "step", "keep", "clear"
Tell = ctypes.CFUNCTYPE(c_int, c_int64)


class NetworkStruct(ctypes.Structure):
    """`Network` of network.h; C alone calls its functions."""

    _fields_ = (
        ("self", c_void_p),
        ("vocabulary", c_int32),
        ("max_positions", c_int32),
        *((name, c_void_p) for name in FUNCTIONS),
    )


class OptionsStruct(ctypes.Structure):
    """`SearchOptions` of search.h."""

    _fields_ = (
        *((name, c_double) for name in ("alpha", "temperature", "top_p")),
        ("seed", c_uint64),
        *((name, c_int32) for name in ("method", "penalty", "beams", "n_best", "stops_first")),
        *((name, c_int32) for name in ("min_length", "no_repeat_ngram_size", "top_k")),
    )


class ShortlistStruct(ctypes.Structure):
    """`Shortlist` of network.h."""

    _fields_ = (("starts", c_void_p), ("ids", c_void_p), ("tokens", c_int32))


class BatchStruct(ctypes.Structure):
    """`Batch` of api.h."""

    _fields_ = (
        ("count", c_int64),
        *((name, c_void_p) for name in ("sources", "prefixes", "source_starts", "prefix_starts")),
        *((name, c_void_p) for name in ("limits", "lines", "shortlist")),
    )


class CallStruct(ctypes.Structure):
    """`Call` of api.h."""

    _fields_ = (
        ("networks", POINTER(NetworkStruct)),
        ("pool", c_void_p),
        ("workers", c_int32),
        ("failed_size", c_int32),
        ("failed", c_int64),
        ("budget", c_int64),
        ("progress", Tell),
    )


class ResultsStruct(ctypes.Structure):
    """`Results` of api.h, as far as it is read here."""

    _fields_ = (
        *((name, c_void_p) for name in ("places", "hypotheses", "tokens", "log_probs")),
        ("hypotheses_count", c_int64),
        ("tokens_count", c_int64),
    )


class WantedStruct(ctypes.Structure):
    """`Wanted` of score.h."""

    _fields_ = (
        ("log_probs", c_void_p),
        *((name, c_int32) for name in ("heads_count", "next_size")),
        *((name, c_void_p) for name in ("heads", "weight_starts", "weights")),
        *((name, c_void_p) for name in ("next_ids", "next_log_probs")),
    )

"""Telling that memory ran out from all else that can go wrong. Imports no torch."""

from __future__ import annotations

# What torch, its allocators, oneDNN, the C++ library and the system say when memory is gone.
SIGNS = (
    "out of memory",
    "not enough memory",
    "can't allocate memory",
    "cannot allocate memory",
    "bad_alloc",
    "can't start new thread",
    "could not create a memory",
    "failed to map segment",
    "cudnn_status_alloc_failed",
    "cublas_status_alloc_failed",
)


def is_out_of_memory(error: BaseException) -> bool:
    """On a GPU torch has an error of its own for it, on a processor a plain RuntimeError; an import
    fails to map a library, and C code that has no room for its error ends without one."""
    if isinstance(error, MemoryError):
        return True
    said = str(error).lower()
    if isinstance(error, SystemError):
        return "without setting an exception" in said or "without exception set" in said
    if not isinstance(error, RuntimeError | OSError | ImportError):
        return False
    return any(sign in said for sign in SIGNS)

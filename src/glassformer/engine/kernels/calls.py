"""The kernels in C for training, one library for each source in `native/`, and their calls.

Tensors are passed as pointers, and the number of threads comes last. Every caller has a twin in
PyTorch for machines without the library.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import torch  # first: its OpenMP is to be in the process, since two would each keep threads
from torch import Tensor

from ...foundation.shared_library import explain_library as explain_library
from ...foundation.shared_library import load_library as load_library

TYPES = {"p": ctypes.c_void_p, "l": ctypes.c_long, "i": ctypes.c_int, "f": ctypes.c_float}


def call(function: Callable[..., int], *arguments: Any) -> None:
    """Call a C function with tensors and numbers.

    Raise MemoryError if it could not allocate its scratch memory; then it has changed nothing.
    """
    plain = (point(x) if isinstance(x, Tensor) else x for x in arguments)
    if function(*plain, torch.get_num_threads()):
        raise MemoryError("not enough memory for a kernel to work in")


def point(x: Tensor, dtype: torch.dtype | None = None) -> int:
    """Return the address of a contiguous CPU tensor; raise ValueError for any other.

    C would read beyond the end of a view, or of numbers of fewer bytes than it expects.
    """
    if x.is_contiguous() and x.is_cpu and (dtype is None or x.dtype is dtype):
        return x.data_ptr()
    if not x.is_contiguous():
        raise ValueError(f"a kernel was given a view: shape {[*x.shape]}, strides {[*x.stride()]}")
    raise ValueError(f"a kernel was given {x.dtype} on {x.device}: it wants {dtype or ''} on cpu")


def point_apart(x: Tensor) -> int:
    """Return the address of a CPU tensor whose strides are also passed to the kernel."""
    if x.is_cpu:
        return x.data_ptr()
    raise ValueError(f"a kernel was given a tensor on {x.device}: it is for processors")


def open_kernels(name: str, **arguments: str) -> ctypes.CDLL | None:
    """Return a library, or None without it; its functions take the arguments that are spelled.

    A letter is one of TYPES; spaces group what belongs together.
    """
    library = load_library(name)
    for function, letters in arguments.items() if library else ():
        getattr(library, function).argtypes = [TYPES[each] for each in letters.replace(" ", "")]
    return library

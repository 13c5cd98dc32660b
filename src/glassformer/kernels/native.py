"""The kernels in C for training: one library for each source in `native/`.

Every caller has a twin in PyTorch for machines without the library.
"""

from __future__ import annotations

import ctypes

import torch  # noqa: F401  its OpenMP is to be in the process first: two would each keep threads

from ..shared_library import explain_library as explain_library
from ..shared_library import load_library as load_library

TYPES = {"p": ctypes.c_void_p, "l": ctypes.c_long, "i": ctypes.c_int, "f": ctypes.c_float}


def open_kernels(name: str, **arguments: str) -> ctypes.CDLL | None:
    """Return a library, or None without it; its functions take the arguments that are spelled.

    A letter is one of TYPES; spaces group what belongs together.
    """
    library = load_library(name)
    for function, letters in arguments.items() if library else ():
        getattr(library, function).argtypes = [TYPES[each] for each in letters.replace(" ", "")]
    return library

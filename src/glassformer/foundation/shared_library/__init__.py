"""The code in C: where its libraries come from, and which one suits this processor."""

from .compiler import PROBE
from .loading import (
    SharedLibrary,
    explain_library,
    find_libraries,
    find_library,
    load_library,
    prepare_libraries,
)

__all__ = [
    "PROBE",
    "SharedLibrary",
    "explain_library",
    "find_libraries",
    "find_library",
    "load_library",
    "prepare_libraries",
]

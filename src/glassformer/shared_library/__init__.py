"""The code in C: where its libraries come from, and which one suits this processor."""

from .loading import (
    SharedLibrary,
    explain_library,
    find_library,
    load_library,
    prepare_libraries,
)

__all__ = [
    "SharedLibrary",
    "explain_library",
    "find_library",
    "load_library",
    "prepare_libraries",
]

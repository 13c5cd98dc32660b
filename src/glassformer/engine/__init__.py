"""Packed networks for fast translation; they implement the search protocol, as `model/` does.

Each name is imported at its first use, so that opening a model needs no PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .choice import Example
    from .engine import Engine
    from .weights import PRECISIONS, Weights

__all__ = ["PRECISIONS", "Engine", "Example", "Weights"]

_HOMES = {"choice": ("Example",), "engine": ("Engine",), "weights": ("PRECISIONS", "Weights")}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

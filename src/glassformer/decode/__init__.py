"""The search for translations, and the scoring of given ones.

The package knows of a network only what `protocol.py` says. Each name is imported at its first use,
so that those of the results need no PyTorch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .budget import Budget
    from .protocol import Network, State
    from .results import Hypothesis, NotFiniteError
    from .run import search
    from .score import score_targets
    from .step import Candidate, Fate, Step

__all__ = [
    "Budget",
    "Candidate",
    "Fate",
    "Hypothesis",
    "Network",
    "NotFiniteError",
    "State",
    "Step",
    "score_targets",
    "search",
]

_HOMES = {
    "budget": ("Budget",),
    "protocol": ("Network", "State"),
    "results": ("Hypothesis", "NotFiniteError"),
    "run": ("search",),
    "score": ("score_targets",),
    "step": ("Candidate", "Fate", "Step"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{module}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

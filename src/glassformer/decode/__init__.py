"""The search for translations, and the scoring of given ones.

run         the search: sentences join a batch, take one step after another, and leave it
sentences   its input and output: sentences, which wait in a queue, and hypotheses
step        one step: the hypotheses before it, its candidates, and which of them are kept
beam        beam search; `sample` has greedy search and sampling
rules       the length penalty, the forbidden tokens and the best of the others
score       the log-probabilities of given translations
protocol    all that the package knows of a network

Each name is imported at its first use, so that `Hypothesis` needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..foundation.lazy import import_lazily

if TYPE_CHECKING:
    from .protocol import Network, State
    from .run import search
    from .score import score_targets
    from .sentences import Budget, Hypothesis, NotFiniteError
    from .step import Candidate, Fate, Step, endings

__all__ = [
    "Budget",
    "Candidate",
    "Fate",
    "Hypothesis",
    "Network",
    "NotFiniteError",
    "State",
    "Step",
    "endings",
    "score_targets",
    "search",
]

_HOMES = {
    "protocol": ("Network", "State"),
    "run": ("search",),
    "score": ("score_targets",),
    "sentences": ("Budget", "Hypothesis", "NotFiniteError"),
    "step": ("Candidate", "Fate", "Step", "endings"),
}

__getattr__ = import_lazily(__name__, _HOMES)

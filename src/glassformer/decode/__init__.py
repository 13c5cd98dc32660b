"""The search for translations, and the scoring of given ones.

The package knows of a network only what `protocol.py` says.
"""

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

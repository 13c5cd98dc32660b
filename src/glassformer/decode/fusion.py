"""A translation model with a language model of its target side: shallow fusion."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .ensemble import Ensemble, EnsembleState
from .protocol import Network


class Fusion(Ensemble):
    """Two networks with one target vocabulary, behind the search protocol.

    log p is that of the translation model plus `weight` times that of the language model, and then
    what makes the sum of p 1 (Gulcehre et al. 2015).
    """

    def __init__(self, translation: Network[Any], language: Network[Any], weight: float) -> None:
        super().__init__([translation, language])
        self.weight = weight

    def step(self, tokens_RQ: Tensor, state: EnsembleState) -> Tensor:
        """Return the fused log-probabilities, R Q V."""
        translation, language = (
            network.step(tokens_RQ, own).float().log_softmax(-1)
            for network, own in zip(self.networks, state.states, strict=True)
        )
        return (translation + self.weight * language).log_softmax(-1)

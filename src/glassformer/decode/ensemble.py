"""Several networks as one: the mean of their probabilities, behind the search protocol."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from .protocol import Network


@dataclass
class EnsembleState:
    """The states of all networks; they are equally long."""

    states: list[Any]

    @property
    def length_R(self) -> Tensor:
        tensor: Tensor = self.states[0].length_R
        return tensor

    @property
    def beams(self) -> int:
        return int(self.states[0].beams)


class Ensemble:
    """Networks with one vocabulary; the probability of a token is the mean of theirs.

    Its logits are the logarithms of these means, so their sum is 1 (Sutskever et al. 2014 averaged
    so too).
    """

    def __init__(self, networks: Sequence[Network[Any]]) -> None:
        self.networks = list(networks)

    def start(self, source_BS: Tensor) -> EnsembleState:
        return EnsembleState([each.start(source_BS) for each in self.networks])

    def step(self, tokens_RQ: Tensor, state: EnsembleState) -> Tensor:
        """Return the logarithms of the mean probabilities, R Q V."""
        results = (
            network.step(tokens_RQ, own).float().log_softmax(-1)
            for network, own in zip(self.networks, state.states, strict=True)
        )
        return reduce(torch.logaddexp, results) - math.log(len(self.networks))

    def keep(self, rows: Tensor, state: EnsembleState) -> None:
        for network, own in zip(self.networks, state.states, strict=True):
            network.keep(rows, own)

    def admit(self, source_BS: Tensor, state: EnsembleState) -> None:
        for network, own in zip(self.networks, state.states, strict=True):
            network.admit(source_BS, own)

    def rewind(self, length_R: Tensor, state: EnsembleState) -> None:
        for network, own in zip(self.networks, state.states, strict=True):
            network.rewind(length_R, own)

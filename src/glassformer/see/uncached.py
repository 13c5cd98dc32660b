"""Decoding that reads everything again at each step: slow, and right under any edit.

Letters: B sentences, one; R rows of a search; S source; Q new pieces; L all pieces of a row;
V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..model import Transformer


@dataclass
class Written:
    """The pieces of each row, all equally many: they belong to one sentence."""

    source_RS: Tensor
    pieces_RL: Tensor
    length_R: Tensor
    beams: int = 1


class Uncached:
    """The search protocol for one sentence, by full passes."""

    def __init__(self, network: Transformer):
        self.network = network

    def start(self, source_BS: Tensor) -> Written:
        return Written(source_BS, source_BS[:, :0], torch.zeros_like(source_BS[:, 0]))

    def step(self, pieces_RQ: Tensor, state: Written) -> Tensor:
        past_RL = state.pieces_RL[:, : int(state.length_R[0])]
        state.pieces_RL = torch.cat((past_RL, pieces_RQ), 1)
        state.length_R = state.length_R + pieces_RQ.size(1)
        logits_RLV = self.network(state.source_RS, state.pieces_RL)
        return logits_RLV[:, -pieces_RQ.size(1) :].float()

    def keep(self, rows: Tensor, state: Written) -> None:
        state.source_RS, state.pieces_RL, state.length_R = (
            x.index_select(0, rows) for x in (state.source_RS, state.pieces_RL, state.length_R)
        )
        state.beams = len(rows)

    def admit(self, source_BS: Tensor, state: Written) -> None:
        raise ValueError("an edited search has one sentence")

    def rewind(self, length_R: Tensor, state: Written) -> None:
        state.length_R = length_R

"""Decoding without a KV cache: it recomputes all rows at each step, so that any edit is exact.

Letters: B sentences, one; R rows of a search; S source; Q new tokens; L all tokens of a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..model import EncoderDecoder
from ..model.masks import padding_mask


@dataclass
class Written:
    """The state of a search: the tokens of each row, all of one length, for one sentence."""

    memory: Any  # what the network's `encode` returned
    source_mask: Tensor
    tokens_RL: Tensor
    length_R: Tensor
    beams: int = 1


class Uncached:
    """A network of the search protocol for one sentence, with full passes of the decoder."""

    def __init__(self, network: EncoderDecoder):
        self.network = network

    def start(self, source_BS: Tensor) -> Written:
        mask = padding_mask(source_BS)
        memory = self.network.encode(source_BS, mask)
        return Written(memory, mask, source_BS[:, :0], torch.zeros_like(source_BS[:, 0]))

    def step(self, tokens_RQ: Tensor, state: Written) -> Tensor:
        past_RL = state.tokens_RL[:, : int(state.length_R[0])]
        state.tokens_RL = torch.cat((past_RL, tokens_RQ), 1)
        state.length_R = state.length_R + tokens_RQ.size(1)
        y_RLD = self.network.decode(state.tokens_RL, state.memory, state.source_mask)
        return self.network.logits(y_RLD)[:, -tokens_RQ.size(1) :].float()

    def keep(self, rows: Tensor, state: Written) -> None:
        state.tokens_RL, state.length_R = (
            x.index_select(0, rows) for x in (state.tokens_RL, state.length_R)
        )
        state.beams = len(rows)

    def admit(self, source_BS: Tensor, state: Written) -> None:
        raise ValueError("an edited search has one sentence")

    def rewind(self, length_R: Tensor, state: Written) -> None:
        state.length_R = length_R

"""Networks for a search that is looked at: one tells its likeliest tokens, one has no KV cache.

Letters: B sentences, one; R rows of a search; S source; Q new tokens; L all tokens of a row;
V vocabulary.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..config import Decode
from ..decode import Step
from ..decode.sample import find_draw_probabilities
from ..model.encoder_decoder import EncoderDecoder
from ..model.masks import padding_mask


class LogitsKeeper:
    """A network of the search protocol that keeps its last logits.

    If `settings` say that the search samples, probabilities are those that it draws with.
    """

    def __init__(self, network: Any, most: int, settings: Decode) -> None:
        self.network, self.most, self.settings = network, most, settings
        self.start, self.keep = network.start, network.keep
        self.admit, self.rewind = network.admit, network.rewind

    def step(self, tokens_RQ: Tensor, state: Any) -> Tensor:
        logits_RQV: Tensor = self.network.step(tokens_RQ, state)
        self.logits_RQV = logits_RQV.clone()  # the search changes its logits in place
        return logits_RQV

    def candidates(self, step: Step) -> list[tuple[int, float]]:
        """Return ids and log-probabilities of the alternatives to the best hypothesis's last token.

        The likeliest is first; that token itself is among them.
        """
        row = int(step.parent_BC[0, 0])
        last = 0 if self.logits_RQV.size(1) == 1 else int(step.before.length_B[0])
        logits_V = self.logits_RQV[row, last]
        log_prob_V = logits_V.log_softmax(-1)
        if self.settings.search == "sample":
            log_prob_V = find_draw_probabilities(logits_V[None], self.settings)[0].log()
        best = log_prob_V.topk(min(self.most, len(log_prob_V)))
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [(id, log_prob) for id, log_prob in pairs if log_prob > -math.inf]


@dataclass
class UncachedState:
    """The state of a search: the tokens of each row, all of one length, for one sentence."""

    memory: Any  # what the network's `encode` returned
    source_mask: Tensor
    tokens_RL: Tensor
    length_R: Tensor
    beams: int = 1


class UncachedNetwork:
    """A network of the search protocol for one sentence, with full passes of the decoder.

    It recomputes all rows at each step, so that any edit is exact.
    """

    def __init__(self, network: EncoderDecoder):
        self.network = network

    def start(self, source_BS: Tensor) -> UncachedState:
        mask = padding_mask(source_BS)
        memory = self.network.encode(source_BS, mask)
        return UncachedState(memory, mask, source_BS[:, :0], torch.zeros_like(source_BS[:, 0]))

    def step(self, tokens_RQ: Tensor, state: UncachedState) -> Tensor:
        past_RL = state.tokens_RL[:, : int(state.length_R[0])]
        state.tokens_RL = torch.cat((past_RL, tokens_RQ), 1)
        state.length_R = state.length_R + tokens_RQ.size(1)
        y_RLD = self.network.decode(state.tokens_RL, state.memory, state.source_mask)
        return self.network.logits(y_RLD)[:, -tokens_RQ.size(1) :].float()

    def keep(self, rows: Tensor, state: UncachedState) -> None:
        state.tokens_RL, state.length_R = (
            x.index_select(0, rows) for x in (state.tokens_RL, state.length_R)
        )
        state.beams = len(rows)

    def admit(self, source_BS: Tensor, state: UncachedState) -> None:
        raise ValueError("an edited search has one sentence")

    def rewind(self, length_R: Tensor, state: UncachedState) -> None:
        state.length_R = length_R

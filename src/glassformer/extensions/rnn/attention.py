"""Attention of a recurrent decoder to all hidden states of the encoder.

The scores are Luong et al.'s (2015, section 3.1) "dot" and "general", or Bahdanau et al.'s (2015,
appendix A.1.2), here "additive". What is done with them is Luong et al.'s: the decoder attends
after its step, and the context vector is combined with its hidden state.

Letters: B sentences; Q positions of the decoder; M those of the encoder; D model width.
"""

import math

import torch
from torch import Tensor, nn

from glassformer.config import Model
from glassformer.foundation.tap import Watchable, tap


class SourceAttention(Watchable):
    """Scores between the decoder's hidden states and the encoder's, and the context vectors."""

    def __init__(self, settings: Model):
        super().__init__()
        width, self.kind = settings.d_model, settings.rnn.attention
        if self.kind != "dot":
            self.to_key = nn.Linear(width, width, bias=False)
        if self.kind == "additive":
            self.to_query = nn.Linear(width, width, bias=False)
            self.to_score = nn.Linear(width, 1, bias=False)

    def forward(
        self, hidden_BQD: Tensor, memory_BMD: Tensor, key_BMD: Tensor, mask: Tensor
    ) -> Tensor:
        """Return the context vectors, B Q D: the encoder's states, averaged by their weights."""
        scores_BHQM = tap(self, "scores", self.score(hidden_BQD, key_BMD)[:, None])  # one head
        mask = tap(self, "mask", mask.expand_as(scores_BHQM))
        weights_BHQM = scores_BHQM.masked_fill(~mask, -math.inf).softmax(-1)
        weights_BHQM = tap(self, "weights", weights_BHQM)
        return tap(self, "output", weights_BHQM[:, 0] @ memory_BMD)

    def keys(self, memory_BMD: Tensor) -> Tensor:
        """Return what the scores compare with, B M D, which is the same at every step."""
        return memory_BMD if self.kind == "dot" else tap(self, "key", self.to_key(memory_BMD))

    def score(self, hidden_BQD: Tensor, key_BMD: Tensor) -> Tensor:
        """Return how well each hidden state fits each key, B Q M."""
        if self.kind != "additive":
            return hidden_BQD @ key_BMD.mT
        query_BQD = tap(self, "query", self.to_query(hidden_BQD))
        sum_BQMD = query_BQD[:, :, None] + key_BMD[:, None]
        scores_BQM: Tensor = self.to_score(sum_BQMD.tanh())[..., 0]
        return scores_BQM


class AttentionalVector(Watchable):
    """The layer tanh(W [context; hidden]), of which the next token is predicted (Luong, eq. 5)."""

    def __init__(self, settings: Model):
        super().__init__()
        self.combine = nn.Linear(2 * settings.d_model, settings.d_model, bias=False)

    def forward(self, context_BQD: Tensor, hidden_BQD: Tensor) -> Tensor:
        """Return the attentional vectors, B Q D."""
        both = torch.cat((context_BQD, hidden_BQD), -1)
        return tap(self, "output", self.combine(both).tanh())

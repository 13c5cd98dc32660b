"""Embeddings to which positions are added otherwise, or not at all, or that are normalized.

Letters: B sentences; L positions; D model width.
"""

import math

import torch
from torch import Tensor, nn

from ...config import BOS, Model
from ...foundation.tap import Watchable, tap
from ..embedding import Embedding
from ..positions import check_reach
from ..residual import make_norm


class MixedEmbedding(Embedding):
    """Scaled token embeddings, multiplied by position vectors or concatenated with them.

    Concatenated they are 2 D numbers, of which a linear map makes D.
    """

    def __init__(self, table: nn.Embedding, settings: Model):
        super().__init__(table, settings)
        self.to_sum: nn.Linear | None = None
        if settings.positions.combine == "concatenate":
            self.to_sum = nn.Linear(2 * settings.d_model, settings.d_model)
            nn.init.xavier_uniform_(self.to_sum.weight)

    def mix(self, words_BLD: Tensor, places_LD: Tensor) -> Tensor:
        """Return what the first layer reads, B L D."""
        if self.to_sum is None:
            return words_BLD * places_LD
        return self.to_sum(torch.cat((words_BLD, places_LD.expand_as(words_BLD)), -1))


class NormedEmbedding(Embedding):
    """The paper's embedding, with a LayerNorm before the first layer (BERT, mBART)."""

    def __init__(self, table: nn.Embedding, settings: Model):
        super().__init__(table, settings)
        self.norm = make_norm(settings)
        self.dropout, self.last_dropout = nn.Dropout(0.0), self.dropout

    def forward(self, ids_BL: Tensor, position_BL: Tensor | None = None) -> Tensor:
        """Return the normalized sums, B L D, after dropout."""
        normed_BLD = self.norm(super().forward(ids_BL, position_BL))
        return self.last_dropout(tap(self, "normed", normed_BLD))


class BareEmbedding(Watchable):
    """Scaled token embeddings alone: attention tells positions, or nothing does."""

    def __init__(self, table: nn.Embedding, settings: Model):
        super().__init__()
        self.table, self.longest = table, settings.positions.max_positions
        self.dropout = nn.Dropout(settings.dropout)

    def forward(self, ids_BL: Tensor, position_BL: Tensor | None = None) -> Tensor:
        """Return the token vectors, B L D, after dropout."""
        check_reach(ids_BL.size(1), self.longest)
        words_BLD = tap(self, "embedded", self.table(ids_BL) * math.sqrt(self.table.embedding_dim))
        return tap(self, "sum", self.dropout(words_BLD))


def begin_with_zeros(table: nn.Embedding) -> None:
    """Make the embedding of <s> zero, and keep it zero in training, as Marian begins a translation.

    So a student with SSRU layers can be written for browsers. What was trained otherwise stays.
    """
    with torch.no_grad():
        table.weight[BOS] = 0
    table.weight.register_hook(_forget_start)


def _forget_start(gradient_VD: Tensor) -> Tensor:
    start = torch.tensor([BOS], device=gradient_VD.device)
    return gradient_VD.index_fill(0, start, 0)

"""Token embeddings (paper 3.4), to which position vectors are added (3.5).

Letters: B sentences; L positions; D model width.
"""

import math

import torch
from torch import Tensor, nn

from ..config import Model
from ..foundation.tap import Watchable, tap
from .positions import check_reach, sinusoids


class Embedding(Watchable):
    """The sum of scaled token embeddings and position vectors.

    Source and target have one each; both may share one table.
    """

    positions_LD: Tensor

    def __init__(self, table: nn.Embedding, settings: Model):
        super().__init__()
        self.table = table  # row i is one-hot(i) times this matrix
        self.dropout = nn.Dropout(settings.dropout)
        if settings.positions.layout == "learned":
            self.positions_LD = nn.Parameter(
                torch.empty(settings.positions.max_positions, settings.d_model)
            )
            nn.init.normal_(self.positions_LD, std=settings.d_model**-0.5)
        else:
            positions_LD = sinusoids(settings.positions, settings.d_model).float()
            self.register_buffer("positions_LD", positions_LD, persistent=False)

    def forward(self, ids_BL: Tensor, position_BL: Tensor | None = None) -> Tensor:
        """Return the sum of token and position vectors, B L D, after dropout.

        Without `position_BL`, positions count from 0.
        """
        words_BLD = tap(self, "embedded", self.table(ids_BL) * math.sqrt(self.table.embedding_dim))
        if position_BL is None:
            check_reach(ids_BL.size(1), len(self.positions_LD))
            places = self.positions_LD[: ids_BL.size(1)]
        else:
            places = self.positions_LD[position_BL]
        mixed_BLD = self.mix(words_BLD, tap(self, "positions", places))
        return tap(self, "sum", self.dropout(mixed_BLD))

    def mix(self, words_BLD: Tensor, places_LD: Tensor) -> Tensor:
        """Return the sum of both, B L D."""
        return words_BLD + places_LD

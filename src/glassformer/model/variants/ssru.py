"""The simpler simple recurrent unit in the place of the decoder's self-attention (Kim et al. 2019).

What a layer knows of the translation so far is one vector of D numbers, its cell, however long the
translation is: a step takes the same time at every position, and needs no keys and values. The two
products do not depend on the cell, so that in training they are computed for all positions at once.

Letters: B sentences; T target positions; R rows of a search; Q new positions; C capacity of a
cache; D model width.
"""

import torch
from torch import Tensor, nn

from ...config import Model
from ...foundation.tap import Watchable, each_position, tap
from ..kv_cache import KVCache
from ..layers import DecoderLayer
from .choice import make_residual


class SSRU(Watchable):
    """A recurrent unit whose gate reads the input alone:

    f = σ(W_f x + b_f); c = f ⊙ c' + (1 - f) ⊙ W x, c' being the cell before; y = max(0, c).
    """

    def __init__(self, settings: Model):
        super().__init__()
        self.to_forget = nn.Linear(settings.d_model, settings.d_model)
        self.to_candidate = nn.Linear(settings.d_model, settings.d_model, bias=False)

    def forward(self, x_BTD: Tensor) -> Tensor:
        """Return the output for all positions, B T D; the cell before the first is zero."""
        before_B1D = torch.zeros_like(x_BTD[:, :1], dtype=torch.float32)
        return self.show(self.run(*self.read(x_BTD), before_B1D))

    def step(self, x_RQD: Tensor, cache: KVCache) -> Tensor:
        """Return the output for the newest positions, R Q D; `cache` gets their cells.

        The cells stand where attention has keys, R 1 C D, so that a row can be cut back.
        """
        assert cache.places is not None
        rows_R1, position_RQ = cache.places
        first_R1 = position_RQ[:, :1]
        before_R1D = cache.own[0][rows_R1, 0, (first_R1 - 1).clamp(min=0)]
        before_R1D = before_R1D.masked_fill(first_R1[..., None] == 0, 0)
        cell_RQD = self.run(*self.read(x_RQD), before_R1D)
        cache.append(cell_RQD[:, None], cell_RQD[:, None, :, :0])
        return self.show(cell_RQD)

    def read(self, x_BTD: Tensor) -> tuple[Tensor, Tensor]:
        """Return the forget gates and the candidates, which need no cell, each B T D."""
        forget_BTD = tap(self, "forget", self.to_forget(x_BTD).sigmoid())
        return forget_BTD, tap(self, "candidate", self.to_candidate(x_BTD))

    def run(self, forget_BTD: Tensor, candidate_BTD: Tensor, cell_B1D: Tensor) -> Tensor:
        """Return the cell after each position, B T D, from the one before the first."""
        cells = []
        for position in each_position(self, range(forget_BTD.size(1))):
            before_B1D = tap(self, "before", cell_B1D)
            forget_B1D = forget_BTD[:, position, None]
            kept_B1D = forget_B1D * before_B1D
            taken_B1D = (1 - forget_B1D) * candidate_BTD[:, position, None]
            cell_B1D = tap(self, "cell", kept_B1D + taken_B1D)
            cells.append(cell_B1D)
        return torch.cat(cells, 1)

    def show(self, cell_BTD: Tensor) -> Tensor:
        """Return what the unit shows of its cell, B T D."""
        return tap(self, "output", cell_BTD.relu())


class SSRUDecoderLayer(DecoderLayer):
    """A decoder layer that reads the translation so far with an SSRU."""

    def __init__(self, settings: Model):
        super().__init__(settings)
        del self.self_attention, self.self_attention_residual
        self.ssru = SSRU(settings)
        self.ssru_residual = make_residual(settings)

    def make_cache(self, memory_BSD: Tensor) -> KVCache:
        """Return a cache with the keys and values of memory, and memory for cells."""
        source = self.cross_attention.keys_values(memory_BSD)
        cells_BCD = memory_BSD.new_zeros(len(memory_BSD), 1, 0, memory_BSD.size(-1)).float()
        return KVCache(source, (cells_BCD, cells_BCD[..., :0]))

    def read_target(self, y_BTD: Tensor, mask: Tensor) -> Tensor:
        """Return what each position knows of itself and of those before it, B T D."""
        return self.ssru_residual(y_BTD, self.ssru)

    def read_newest(self, y_RQD: Tensor, cache: KVCache, mask: Tensor) -> Tensor:
        """Return what the newest positions know of themselves and of those before, R Q D."""
        return self.ssru_residual(y_RQD, lambda y: self.ssru.step(y, cache))


def make_layer(settings: Model) -> DecoderLayer:
    """Return a decoder layer, with the paper's self-attention or with an SSRU."""
    return SSRUDecoderLayer(settings) if settings.decoder == "ssru" else DecoderLayer(settings)

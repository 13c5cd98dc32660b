"""Multi-head attention (paper 3.2).

Letters: B sentences; Q query positions; M memory positions, that is of keys and values;
L positions of either; R rows of a search; D model width; H heads; K width of one head.
"""

import math

from torch import Tensor, nn

from ..config import Model
from ..foundation.tap import Watchable, tap
from .kv_cache import KVCache


class MultiHeadAttention(Watchable):
    """H attention heads side by side, each in a subspace of width K (3.2.2).

    One class serves the paper's three uses (3.2.3): queries come from `x`, keys and values come
    from `memory`, and the caller decides what these are.
    """

    def __init__(self, settings: Model):
        super().__init__()
        d_model, all_heads = settings.d_model, settings.heads * settings.width
        self.heads = settings.heads
        self.to_query = nn.Linear(d_model, all_heads)  # the W_Q of all heads, stacked
        self.to_key = nn.Linear(d_model, all_heads)
        self.to_value = nn.Linear(d_model, all_heads)
        self.to_output = nn.Linear(all_heads, d_model)  # W_O
        self.dropout = nn.Dropout(settings.attention_dropout)

    @property
    def cached_heads(self) -> int:
        """Return how many heads a KV cache has memory for."""
        return self.heads

    def forward(self, x_BQD: Tensor, memory_BMD: Tensor, mask: Tensor) -> Tensor:
        """Return the attention output, B Q D. `mask` is True where a query may attend to a key."""
        return self.attend_to(x_BQD, self.keys_values(memory_BMD), mask)

    def step(self, x_RQD: Tensor, cache: KVCache, mask: Tensor) -> Tensor:
        """Return the self-attention of the newest positions, R Q D; `cache` gets their keys and
        values, and has those of all others."""
        return self.attend_to(x_RQD, cache.append(*self.keys_values(x_RQD)), mask)

    def keys_values(self, memory_BMD: Tensor) -> tuple[Tensor, Tensor]:
        """Return the keys and the values of `memory`, each B H M K."""
        return (
            tap(self, "key", self._split(self.to_key(memory_BMD))),
            tap(self, "value", self._split(self.to_value(memory_BMD))),
        )

    def attend_to(self, x_BQD: Tensor, keys_values: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        """Attend from `x` to keys and values that are already computed; return B Q D.

        Decoding keeps them from step to step.
        """
        q_BHQK = tap(self, "query", self._split(self.to_query(x_BQD)))
        z_BHQK = tap(self, "context", self.attend(q_BHQK, *keys_values, mask))
        return tap(self, "output", self.to_output(z_BHQK.transpose(1, 2).flatten(2)))

    def attend(self, q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, mask: Tensor) -> Tensor:
        """Compute softmax(Q Kᵀ / √d_k) V, B H Q K: equation 1, one step on each line."""
        scores_BHQM = q_BHQK @ k_BHMK.mT / math.sqrt(q_BHQK.size(-1))
        scores_BHQM = tap(self, "scores", scores_BHQM)
        masked_BHQM = scores_BHQM.masked_fill(~tap(self, "mask", mask), -math.inf)
        weights_BHQM = tap(self, "weights", masked_BHQM.softmax(-1))
        return self.dropout(weights_BHQM) @ v_BHMK

    def _split(self, x_BLD: Tensor) -> Tensor:
        return x_BLD.unflatten(-1, (self.heads, -1)).transpose(1, 2)  # B H L K

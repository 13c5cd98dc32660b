"""Multi-head attention with what later work changed in it; each change is a line or two here.

Letters: B sentences; R rows of a search; Q query positions; M memory positions; L positions of
either; D model width; H heads; K width of one head. Where heads share keys and values, k and v have
fewer heads than H.
"""

import math

import torch
from torch import Tensor, nn

from ...config import Model
from ...foundation.tap import tap
from ..attention import MultiHeadAttention
from ..kv_cache import KVCache, Pair
from .distances import RelativePositions, penalties, rotate
from .pattern import pattern_mask


class VariedAttention(MultiHeadAttention):
    """Attention whose heads share keys and values in groups, or whose scores are not scaled.

    One key and value for all heads is multi-query attention (Shazeer 2019); one for each group is
    grouped-query attention (Ainslie et al. 2023).
    """

    def __init__(self, settings: Model):
        super().__init__(settings)
        groups = settings.key_value_heads or settings.heads
        self.share, self.head_width = settings.heads // groups, settings.width
        if self.share > 1:
            self.to_key = nn.Linear(settings.d_model, groups * self.head_width)
            self.to_value = nn.Linear(settings.d_model, groups * self.head_width)
        self.scale = 1.0 if "scale" in settings.ablate else 1 / math.sqrt(self.head_width)

    def keys_values(self, memory_BMD: Tensor) -> Pair:
        """Return the keys and the values of `memory`, each B H M K: shared ones for each head."""
        k_BHMK, v_BHMK = (self._split(to(memory_BMD)) for to in (self.to_key, self.to_value))
        return tap(self, "key", self.spread(k_BHMK)), tap(self, "value", self.spread(v_BHMK))

    def attend(self, q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, mask: Tensor) -> Tensor:
        """Compute equation 1, B H Q K; if its scale is left out, queries make up for it."""
        if self.scale == 1:
            q_BHQK = q_BHQK * math.sqrt(self.head_width)
        return super().attend(q_BHQK, k_BHMK, v_BHMK, mask)

    def spread(self, x_BHLK: Tensor) -> Tensor:
        """Return keys or values for each head, where several share one."""
        return x_BHLK.repeat_interleave(self.share, 1) if self.share > 1 else x_BHLK

    def _split(self, x_BLD: Tensor) -> Tensor:
        return x_BLD.unflatten(-1, (-1, self.head_width)).transpose(1, 2)  # B H L K


class VariedSelfAttention(VariedAttention):
    """Self-attention that is told positions here, or that follows a pattern.

    Rotary positions turn queries and keys; ALiBi takes from the scores; relative positions add to
    keys and values. A pattern hides what is far away; each position always sees itself.
    """

    penalties_H: Tensor | None

    def __init__(self, settings: Model, *, is_causal: bool):
        super().__init__(settings)
        positions, self.is_causal = settings.positions, is_causal
        self.is_rotary = positions.layout == "rotary"
        of_heads = penalties(self.heads).float() if positions.layout == "alibi" else None
        self.register_buffer("penalties_H", of_heads, persistent=False)
        self.relative: RelativePositions | None = None
        if positions.layout == "relative":
            self.relative = RelativePositions(self.head_width, positions.reach)
        self.pattern = settings.attention

    def forward(self, x_BLD: Tensor, memory_BLD: Tensor, mask: Tensor) -> Tensor:
        """Return the output for a whole sequence, B L D; `memory` is x. `mask` hides padding, and
        in a decoder without a pattern what follows."""
        at_BL = torch.arange(x_BLD.size(1), device=x_BLD.device)[None]
        k_BHLK, v_BHLK = self.keys_values_at(memory_BLD, at_BL)
        q_BHLK = self.queries_at(x_BLD, at_BL)
        return self.join(self.attend_at(q_BHLK, k_BHLK, v_BHLK, mask, at_BL, at_BL))

    def step(self, x_RQD: Tensor, cache: KVCache, mask: Tensor) -> Tensor:
        """Return the output for the newest positions, R Q D."""
        assert cache.places is not None
        _, at_RQ = cache.places
        k_RHMK, v_RHMK = cache.append(*self.keys_values_at(x_RQD, at_RQ))
        key_RM = torch.arange(k_RHMK.size(2), device=at_RQ.device)[None]
        q_RHQK = self.queries_at(x_RQD, at_RQ)
        return self.join(self.attend_at(q_RHQK, k_RHMK, v_RHMK, mask, at_RQ, key_RM))

    def queries_at(self, x_BQD: Tensor, at_BQ: Tensor) -> Tensor:
        """Return the queries, B H Q K, of these positions."""
        q_BHQK = tap(self, "query", self._split(self.to_query(x_BQD)))
        return tap(self, "rotated_query", rotate(q_BHQK, at_BQ)) if self.is_rotary else q_BHQK

    def keys_values_at(self, x_BMD: Tensor, at_BM: Tensor) -> Pair:
        """Return the keys and the values of these positions."""
        k_BHMK, v_BHMK = self.keys_values(x_BMD)
        if self.is_rotary:
            k_BHMK = tap(self, "rotated_key", rotate(k_BHMK, at_BM))
        return k_BHMK, v_BHMK

    def hide(self, mask: Tensor, query_BQ: Tensor, key_BM: Tensor) -> Tensor:
        """Return the mask with what the pattern hides as well, B 1 Q M."""
        if self.pattern.pattern == "full":
            return tap(self, "mask", mask)
        distance_BQM = (query_BQ[..., None] - key_BM[:, None])[:, None]
        mask = tap(self, "mask", mask & (distance_BQM >= 0) if self.is_causal else mask)
        pattern = pattern_mask(self.pattern, query_BQ, key_BM).expand(len(mask), -1, -1, -1)
        return mask & tap(self, "pattern", pattern) | (distance_BQM == 0)

    def attend_at(
        self,
        q_BHQK: Tensor,
        k_BHMK: Tensor,
        v_BHMK: Tensor,
        mask: Tensor,
        query_BQ: Tensor,
        key_BM: Tensor,
    ) -> Tensor:
        """Compute attention between positions with these numbers, B H Q K."""
        mask = self.hide(mask, query_BQ, key_BM)
        distance_BQM = query_BQ[..., None] - key_BM[:, None]
        return self.attend_masked(q_BHQK, k_BHMK, v_BHMK, mask, distance_BQM)

    def attend_masked(
        self, q_BHQK: Tensor, k_BHMK: Tensor, v_BHMK: Tensor, mask: Tensor, distance_BQM: Tensor
    ) -> Tensor:
        """Compute attention, B H Q K; `distance` is the query's position less the key's."""
        scores_BHQM = q_BHQK @ k_BHMK.mT
        if self.relative is not None:
            kind_BQM = self.relative.find_kinds(-distance_BQM)
            scores_BHQM = scores_BHQM + self.relative.score(q_BHQK, kind_BQM)
        scores_BHQM = scores_BHQM * self.scale
        if self.penalties_H is not None:
            scores_BHQM = (
                scores_BHQM - self.penalties_H[:, None, None] * distance_BQM.abs()[:, None]
            )
        scores_BHQM = tap(self, "scores", scores_BHQM)
        masked_BHQM = scores_BHQM.masked_fill(~mask, -math.inf)
        weights_BHQM = self.dropout(tap(self, "weights", masked_BHQM.softmax(-1)))
        z_BHQK = weights_BHQM @ v_BHMK
        if self.relative is not None:
            z_BHQK = z_BHQK + self.relative.read(weights_BHQM, kind_BQM)
        return z_BHQK

    def join(self, z_BHQK: Tensor) -> Tensor:
        """Return the output of all heads together, B Q D."""
        z_BHQK = tap(self, "context", z_BHQK)
        return tap(self, "output", self.to_output(z_BHQK.transpose(1, 2).flatten(2)))

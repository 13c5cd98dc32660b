"""The hypotheses under way.

Letters: B sentences; W beam width, R = B * W rows; L pieces, aligned on the right; N best wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor
from torch.nn.functional import pad


@dataclass(frozen=True)
class Live:
    """Where each sentence's hypotheses stand; those of one sentence are equally long.

    Aligned on the right, the newest pieces of all hypotheses, long or short, share a column: to
    append is to concatenate, and the last n pieces of every row are the last n columns.
    """

    pieces_BWL: Tensor  # int64: PAD, then BOS, then the pieces forced and chosen
    piece_log_probs_BWL: Tensor  # fp32; 0 under PAD and BOS
    log_prob_BW: Tensor  # fp32, of the whole hypothesis; -inf: nobody lives in this row
    length_B: Tensor  # int64: pieces so far, BOS not counted
    limit_B: Tensor  # int64: the most pieces allowed, EOS counted
    best_BN: Tensor  # fp32: scores of the best finished hypotheses, best first; -inf: none yet
    finished_B: Tensor  # int64: how many have finished
    keys_BL: Tensor  # int32: what sampling is keyed by, one a position; otherwise L = 0

    @property
    def beams(self) -> int:
        """W."""
        return self.log_prob_BW.size(1)

    @property
    def pieces_RL(self) -> Tensor:
        return self.pieces_BWL.flatten(0, 1)

    @property
    def is_last_B(self) -> Tensor:
        """Whether no piece is allowed after the next."""
        return self.length_B + 1 >= self.limit_B

    def select(self, sentences: Tensor) -> Live:
        """Only these sentences, in this order."""
        return Live(*(getattr(self, f.name).index_select(0, sentences) for f in fields(self)))

    def join(self, other: Live) -> Live:
        """The sentences of both; the padding shrinks to what the longest needs."""
        width = 1 + int(torch.cat((self.length_B, other.length_B)).max())
        both = self._padded(width), other._padded(width)
        return Live(*(torch.cat([getattr(x, f.name) for x in both]) for f in fields(self)))

    def _padded(self, width: int) -> Live:
        missing = width - self.pieces_BWL.size(-1)  # negative: cut
        return replace(
            self,
            pieces_BWL=pad(self.pieces_BWL, (missing, 0)),
            piece_log_probs_BWL=pad(self.piece_log_probs_BWL, (missing, 0)),
        )

"""The hypotheses under way.

Letters: B sentences; W beam width, R = B * W rows; L tokens, aligned on the right; N best wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor
from torch.nn.functional import pad


@dataclass(frozen=True)
class Hypotheses:
    """Where each sentence's hypotheses stand; those of one sentence are equally long.

    Aligned on the right, the newest tokens of all hypotheses, long or short, share a column: to
    append is to concatenate, and the last n tokens of every row are the last n columns.
    """

    tokens_BWL: Tensor  # int64: PAD, then BOS, then the tokens forced and chosen
    token_log_probs_BWL: Tensor  # fp32; 0 under PAD and BOS
    log_prob_BW: Tensor  # fp32, of the whole hypothesis; -inf: nobody lives in this row
    length_B: Tensor  # int64: tokens so far, BOS not counted
    limit_B: Tensor  # int64: the most tokens allowed, EOS counted
    best_BN: Tensor  # fp32: scores of the best finished hypotheses, best first; -inf: none yet
    finished_B: Tensor  # int64: how many have finished
    keys_BL: Tensor  # int32: what sampling is keyed by, one a position; otherwise L = 0

    @property
    def beams(self) -> int:
        """W."""
        return self.log_prob_BW.size(1)

    @property
    def tokens_RL(self) -> Tensor:
        return self.tokens_BWL.flatten(0, 1)

    @property
    def is_last_B(self) -> Tensor:
        """Whether no token is allowed after the next."""
        return self.length_B + 1 >= self.limit_B

    def select(self, sentences: Tensor) -> Hypotheses:
        """Only these sentences, in this order."""
        return Hypotheses(*(getattr(self, f.name).index_select(0, sentences) for f in fields(self)))

    def join(self, other: Hypotheses) -> Hypotheses:
        """The sentences of both; the padding shrinks to what the longest needs."""
        width = 1 + int(torch.cat((self.length_B, other.length_B)).max())
        both = self._padded(width), other._padded(width)
        return Hypotheses(*(torch.cat([getattr(x, f.name) for x in both]) for f in fields(self)))

    def _padded(self, width: int) -> Hypotheses:
        missing = width - self.tokens_BWL.size(-1)  # negative: cut
        return replace(
            self,
            tokens_BWL=pad(self.tokens_BWL, (missing, 0)),
            token_log_probs_BWL=pad(self.token_log_probs_BWL, (missing, 0)),
        )

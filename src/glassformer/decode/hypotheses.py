"""The unfinished hypotheses of a search.

Letters: B sentences; W beam width, R = B * W rows; L tokens, aligned on the right; N best wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor
from torch.nn.functional import pad


@dataclass(frozen=True)
class Hypotheses:
    """The unfinished hypotheses of all sentences; those of one sentence are equally long.

    They are aligned on the right, so that the newest tokens of all hypotheses, long or short,
    share a column: appending is concatenation, and the last n tokens of every row are the last n
    columns.
    """

    tokens_BWL: Tensor  # int64: PAD, then BOS, then the tokens forced and chosen
    token_log_probs_BWL: Tensor  # fp32; 0 under PAD and BOS
    log_prob_BW: Tensor  # fp32, of the whole hypothesis; -inf: the row has no hypothesis
    length_B: Tensor  # int64: tokens so far, BOS not counted
    limit_B: Tensor  # int64: the most tokens allowed, EOS counted
    best_BN: Tensor  # fp32: scores of the best finished hypotheses, best first; -inf: none yet
    finished_B: Tensor  # int64: the number that have finished
    keys_BL: Tensor  # int32: a key of sampling for each position; other searches: L = 0

    @property
    def beams(self) -> int:
        """Return W, the number of rows of each sentence."""
        return self.log_prob_BW.size(1)

    @property
    def tokens_RL(self) -> Tensor:
        return self.tokens_BWL.flatten(0, 1)

    @property
    def is_last_B(self) -> Tensor:
        """Return whether no token is allowed after the next one."""
        return self.length_B + 1 >= self.limit_B

    def select(self, sentences: Tensor) -> Hypotheses:
        """Return the hypotheses of these sentences only, in this order."""
        return Hypotheses(*(getattr(self, f.name).index_select(0, sentences) for f in fields(self)))

    def join(self, other: Hypotheses) -> Hypotheses:
        """Return the hypotheses of both; the padding shrinks to what the longest needs."""
        width = 1 + int(torch.cat((self.length_B, other.length_B)).max())
        both = self._padded(width), other._padded(width)
        return Hypotheses(*(torch.cat([getattr(x, f.name) for x in both]) for f in fields(self)))

    def _padded(self, width: int) -> Hypotheses:
        missing = width - self.tokens_BWL.size(-1)  # negative: columns are cut off
        return replace(
            self,
            tokens_BWL=pad(self.tokens_BWL, (missing, 0)),
            token_log_probs_BWL=pad(self.token_log_probs_BWL, (missing, 0)),
        )

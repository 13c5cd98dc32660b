"""Greedy search, which takes the most probable token at each step.

Letters: B sentences, one row each and one candidate: R = B, W = C = 1; V vocabulary.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..config import Decode
from ..kernels.topk import Best
from ..text import EOS
from .hypotheses import Hypotheses
from .rules import choose_candidates, length_penalty
from .step import Step


def step_greedy(logits: Tensor | Best, live: Hypotheses, settings: Decode) -> Step:
    """Return the step that appends the most probable token. The logits, R V, are overwritten."""
    (logit_R1, token_R1, sum_R1), forbidden = choose_candidates(logits, live, settings)
    return follow(token_R1, logit_R1 - sum_R1, live, settings, forbidden)


def follow(
    token_B1: Tensor,
    token_log_prob_B1: Tensor,
    live: Hypotheses,
    settings: Decode,
    forbidden: tuple[Tensor, Tensor],
) -> Step:
    """Return the step that appends the given tokens, for a search with one row of each sentence."""
    log_prob_B1 = live.log_prob_BW + token_log_prob_B1
    finished_B1 = (token_B1 == EOS) & (log_prob_B1 > -math.inf)
    only_B1 = torch.zeros_like(token_B1)
    return Step(
        before=live,
        parent_BC=only_B1,
        token_BC=token_B1,
        token_log_prob_BC=token_log_prob_B1,
        log_prob_BC=log_prob_B1,
        penalty_B=length_penalty(live.length_B + 1, settings),
        kept_BW=only_B1,
        finished_BC=finished_B1,
        best_BN=live.best_BN,
        stop_B=finished_B1[:, 0] | live.is_last_B,
        forbidden=forbidden,
    )

"""Greedy search: the most probable piece, each time.

Letters: B sentences, one row each and one candidate: R = B, W = C = 1; V vocabulary.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..config import Decode
from ..kernels.top import Best
from ..text import EOS
from .live import Live
from .rules import choose, length_penalty
from .step import Step


def step(logits: Tensor | Best, live: Live, settings: Decode) -> Step:
    """Follow the most probable piece. Writes on the logits, R V."""
    (logit_R1, piece_R1, sum_R1), forbidden = choose(logits, live, settings)
    return follow(piece_R1, logit_R1 - sum_R1, live, settings, forbidden)


def follow(
    piece_B1: Tensor,
    piece_log_prob_B1: Tensor,
    live: Live,
    settings: Decode,
    forbidden: tuple[Tensor, Tensor],
) -> Step:
    """The step of a search with one row a sentence: whatever it chose lives on until EOS."""
    log_prob_B1 = live.log_prob_BW + piece_log_prob_B1
    finished_B1 = (piece_B1 == EOS) & (log_prob_B1 > -math.inf)
    only_B1 = torch.zeros_like(piece_B1)
    return Step(
        before=live,
        parent_BC=only_B1,
        piece_BC=piece_B1,
        piece_log_prob_BC=piece_log_prob_B1,
        log_prob_BC=log_prob_B1,
        penalty_B=length_penalty(live.length_B + 1, settings),
        kept_BW=only_B1,
        finished_BC=finished_B1,
        best_BN=live.best_BN,
        stop_B=finished_B1[:, 0] | live.is_last_B,
        forbidden=forbidden,
    )

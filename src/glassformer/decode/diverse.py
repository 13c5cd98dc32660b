"""Diverse beam search: groups of hypotheses that avoid each other's tokens.

The beam is divided among G groups, which choose one after the other at each step (Vijayakumar et
al. 2018). A token is worth less to a group by `diversity` for each hypothesis of an earlier group
that has just taken it. Only the choice heeds that: log-probabilities and scores are the network's.

Letters: B sentences; W beam width, R = B * W rows; V vocabulary; C candidates.
"""

import math

import torch
from torch import Tensor

from ..config import EOS, Decode
from .beam import close_step
from .rules import choose_candidates
from .step import Hypotheses, Step


def step_diverse(logits_RV: Tensor, before: Hypotheses, settings: Decode) -> Step:
    """Return the step that continues each group's hypotheses. The logits are overwritten."""
    beam, size = before.beams, before.beams // settings.beam_groups
    taken_BV = logits_RV.new_zeros(len(before.length_B), logits_RV.size(1))
    (logit_RC, token_RC, sum_R1), forbidden = choose_candidates(logits_RV, before, settings)
    token_log_prob_BWC = (logit_RC - sum_R1).view(-1, beam, logit_RC.size(1))
    log_prob_BWC = before.log_prob_BW[..., None] + token_log_prob_BWC
    token_BWC = token_RC.view_as(log_prob_BWC)
    rank_C = torch.arange(2 * size, device=logits_RV.device)
    parts = []
    for first in range(0, beam, size):
        rows = slice(first, first + size)
        log_prob_BC, own_BC, token_BC = (
            x_BWC[:, rows].flatten(1) for x_BWC in (log_prob_BWC, token_log_prob_BWC, token_BWC)
        )
        worth_BC = log_prob_BC - settings.diversity * taken_BV.gather(1, token_BC)
        place_BC = worth_BC.sort(dim=1, descending=True, stable=True).indices[:, : 2 * size]
        log_prob_BC, own_BC, token_BC = (
            x_BC.gather(1, place_BC) for x_BC in (log_prob_BC, own_BC, token_BC)
        )
        ends_BC = token_BC == EOS
        finished_BC = ends_BC & (rank_C < size) & (log_prob_BC > -math.inf)
        kept_BW = (rank_C + 2 * size * ends_BC).topk(size, largest=False).indices
        lives_BW = (log_prob_BC.gather(1, kept_BW) > -math.inf).to(taken_BV.dtype)
        taken_BV.scatter_add_(1, token_BC.gather(1, kept_BW), lives_BW)
        parent_BC = first + place_BC // logit_RC.size(1)
        parts.append((parent_BC, token_BC, own_BC, log_prob_BC, finished_BC, kept_BW + 2 * first))
    parent_BC, token_BC, own_BC, log_prob_BC, finished_BC, kept_BW = (
        torch.cat(columns, 1) for columns in zip(*parts, strict=True)
    )
    return close_step(
        before,
        settings,
        forbidden,
        parent_BC=parent_BC,
        token_BC=token_BC,
        token_log_prob_BC=own_BC,
        log_prob_BC=log_prob_BC,
        kept_BW=kept_BW,
        finished_BC=finished_BC,
    )

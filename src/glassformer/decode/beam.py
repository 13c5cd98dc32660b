"""Beam search, which keeps the W best hypotheses of each sentence (paper 6.1).

Letters: B sentences; W beam width, R = B * W rows; V vocabulary; C = 2 W candidates of a
sentence; N best wanted.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..config import EOS, Decode
from .rules import choose_candidates, length_penalty
from .step import Hypotheses, Step


def step_beam(logits_RV: Tensor, before: Hypotheses, settings: Decode) -> Step:
    """Return the step that continues each sentence's hypotheses by its best candidates.

    The logits are overwritten. At most one candidate of a row is EOS, so at least W of the best
    2 W do not end.
    """
    beam = before.beams
    (logit_RC, token_RC, sum_R1), forbidden = choose_candidates(logits_RV, before, settings)
    token_log_prob_BWC = (logit_RC - sum_R1).view(-1, beam, logit_RC.size(1))
    log_prob_BWC = before.log_prob_BW[..., None] + token_log_prob_BWC
    # Of equal ones the first is better, which `topk` does not promise.
    log_prob_BC, place_BC = (
        x_BC[:, : 2 * beam]
        for x_BC in log_prob_BWC.flatten(1).sort(dim=1, descending=True, stable=True)
    )
    token_BC = token_RC.view(len(place_BC), -1).gather(1, place_BC)

    # A candidate that ends is finished if it ranks among the first W; the first W others are kept.
    rank_C = torch.arange(2 * beam, device=place_BC.device)
    ends_BC = token_BC == EOS
    finished_BC = ends_BC & (rank_C < beam) & (log_prob_BC > -math.inf)
    kept_BW = (rank_C + 2 * beam * ends_BC).topk(beam, largest=False).indices

    penalty_B = length_penalty(before.length_B + 1, settings)
    score_BC = (log_prob_BC / penalty_B[:, None]).masked_fill(~finished_BC, -math.inf)
    best_BN = torch.cat((before.best_BN, score_BC), 1).topk(before.best_BN.size(1)).values
    finished_B = before.finished_B + finished_BC.sum(1)
    hope_B = log_prob_BC.gather(1, kept_BW[:, :1])[:, 0]
    return Step(
        before=before,
        parent_BC=place_BC // logit_RC.size(1),
        token_BC=token_BC,
        token_log_prob_BC=token_log_prob_BWC.flatten(1).gather(1, place_BC),
        log_prob_BC=log_prob_BC,
        penalty_B=penalty_B,
        kept_BW=kept_BW,
        finished_BC=finished_BC,
        best_BN=best_BN,
        stop_B=is_done(hope_B, best_BN, finished_B, before, settings) | before.is_last_B,
        forbidden=forbidden,
    )


def is_done(
    hope_B: Tensor, best_BN: Tensor, finished_B: Tensor, before: Hypotheses, settings: Decode
) -> Tensor:
    """Return whether each sentence is done, B.

    `hope_B` is the largest log-probability of the unfinished hypotheses. "first": W hypotheses
    have finished. "exact": no unfinished hypothesis can still enter the N best, because
    log-probabilities only fall, and no penalty exceeds that of the greatest length.
    """
    if settings.stop == "first":
        return (finished_B >= before.beams) | (hope_B == -math.inf)
    return hope_B / length_penalty(before.limit_B, settings) <= best_BN[:, -1]

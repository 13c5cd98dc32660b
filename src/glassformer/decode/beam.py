"""Beam search, which keeps the W best hypotheses of each sentence (paper 6.1).

Letters: B sentences; W beam width, R = B * W rows; V vocabulary; C = 2 W candidates of a
sentence; N best wanted.
"""

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

    return close_step(
        before,
        settings,
        forbidden,
        parent_BC=place_BC // logit_RC.size(1),
        token_BC=token_BC,
        token_log_prob_BC=token_log_prob_BWC.flatten(1).gather(1, place_BC),
        log_prob_BC=log_prob_BC,
        kept_BW=kept_BW,
        finished_BC=finished_BC,
    )


def close_step(
    before: Hypotheses, settings: Decode, forbidden: tuple[Tensor, Tensor], **chosen: Tensor
) -> Step:
    """Return the step with these candidates, `chosen` by the names of `Step`, and what they end.

    A sentence is done if no token may follow, and with stop="first" if W hypotheses have finished;
    with "exact" if no unfinished hypothesis can still enter the N best, because log-probabilities
    only fall, and no penalty exceeds that of the greatest length.
    """
    log_prob_BC, finished_BC = chosen["log_prob_BC"], chosen["finished_BC"]
    penalty_B = length_penalty(before.length_B + 1, settings)
    score_BC = (log_prob_BC / penalty_B[:, None]).masked_fill(~finished_BC, -math.inf)
    best_BN = torch.cat((before.best_BN, score_BC), 1).topk(before.best_BN.size(1)).values
    hope_B = log_prob_BC.gather(1, chosen["kept_BW"]).max(1).values
    if settings.stop == "first":
        is_enough_B = before.finished_B + finished_BC.sum(1) >= before.beams
        is_done_B = is_enough_B | (hope_B == -math.inf)
    else:
        is_done_B = hope_B / length_penalty(before.limit_B, settings) <= best_BN[:, -1]
    stop_B = is_done_B | before.is_last_B
    options = {"penalty_B": penalty_B, "best_BN": best_BN, "stop_B": stop_B}
    return Step(before=before, forbidden=forbidden, **chosen, **options)

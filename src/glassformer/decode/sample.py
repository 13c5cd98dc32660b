"""Greedy search and sampling, which keep one hypothesis of each sentence.

Greedy search takes the most probable token at each step; sampling draws it from the network's
distribution.

Letters: B sentences, one row each: R = B, W = 1; V vocabulary; C tokens left to choose from;
L positions.
"""

import math
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..config import EOS, Decode
from .rules import choose_candidates, find_top, forbid, length_penalty, penalise_repeats, sum_logs
from .step import Hypotheses, Step

GOLDEN = 0x9E3779B9 - 2**32  # 2 ** 32 over the golden ratio: spreads neighbouring tokens apart


def step_greedy(logits_RV: Tensor, before: Hypotheses, settings: Decode) -> Step:
    """Return the step that appends the most probable token. The logits are overwritten."""
    (logit_R1, token_R1, sum_R1), forbidden = choose_candidates(logits_RV, before, settings)
    return follow(token_R1, logit_R1 - sum_R1, before, settings, forbidden)


def step_sample(logits_RV: Tensor, before: Hypotheses, settings: Decode) -> Step:
    """Return the step that appends a token drawn with the key of this line and position.

    The logits, R V, are overwritten.
    """
    penalise_repeats(logits_RV, before.tokens_RL, settings.repetition_penalty)
    normaliser_R1 = sum_logs(logits_RV)
    forbidden = forbid(logits_RV, normaliser_R1, before, settings)
    key_R1 = before.keys_BL.gather(1, before.length_B[:, None])
    token_R1 = draw_token(logits_RV, key_R1, settings.temperature, settings.top_k, settings.top_p)
    logit_R1 = logits_RV.gather(1, token_R1)
    return follow(token_R1, logit_R1 - normaliser_R1, before, settings, forbidden)


def follow(
    token_B1: Tensor,
    token_log_prob_B1: Tensor,
    before: Hypotheses,
    settings: Decode,
    forbidden: tuple[Tensor, Tensor],
) -> Step:
    """Return the step that appends the given tokens, for a search with one row of each sentence."""
    log_prob_B1 = before.log_prob_BW + token_log_prob_B1
    finished_B1 = (token_B1 == EOS) & (log_prob_B1 > -math.inf)
    only_B1 = torch.zeros_like(token_B1)
    return Step(
        before=before,
        parent_BC=only_B1,
        token_BC=token_B1,
        token_log_prob_BC=token_log_prob_B1,
        log_prob_BC=log_prob_B1,
        penalty_B=length_penalty(before.length_B + 1, settings),
        kept_BW=only_B1,
        finished_BC=finished_B1,
        best_BN=before.best_BN,
        stop_B=finished_B1[:, 0] | before.is_last_B,
        forbidden=forbidden,
    )


def draw_token(
    logits_RV: Tensor, key_R1: Tensor, temperature: float, top_k: int, top_p: float
) -> Tensor:
    """Return a token of each row, R 1, drawn from softmax(logits / temperature).

    It is the largest of the logits plus Gumbel noise. The choice is among the `top_k` most probable
    tokens (0: all), and of these the fewest that together have the probability `top_p` (Holtzman
    et al. 2020). Every token has noise of its own. Inverting the cumulative distribution would need
    one random number only, but it has V edges: logits round a little differently in another batch,
    and that would change about one token in a thousand.
    """
    logits_RC, token_RC = _leave(logits_RV, temperature, top_k, top_p)
    noisy_RC = gumbel(key_R1, token_RC).mul_(temperature).add_(logits_RC)
    return token_RC.expand_as(noisy_RC).gather(1, noisy_RC.max(-1, keepdim=True).indices)


def _leave(
    logits_RV: Tensor, temperature: float, top_k: int, top_p: float
) -> tuple[Tensor, Tensor]:
    """Return the logits that are left to choose from, R C, and their tokens, R C or 1 C."""
    size = logits_RV.size(1)
    logits_RC, token_RC = logits_RV, torch.arange(size, device=logits_RV.device)[None]
    if top_k or top_p < 1:
        logits_RC, token_RC = find_top(logits_RV, min(top_k or size, size))
    if top_p < 1:
        probability_RC = (logits_RC / temperature).softmax(-1)
        better_RC = probability_RC.cumsum(-1) - probability_RC
        logits_RC = logits_RC.masked_fill(better_RC >= top_p, -math.inf)
    return logits_RC, token_RC


def find_draw_probabilities(logits_RV: Tensor, settings: Decode) -> Tensor:
    """Return the probabilities that `draw_token` draws with, R V; 0 for tokens left out."""
    logits_RV = logits_RV.float()
    logits_RC, token_RC = _leave(logits_RV, settings.temperature, settings.top_k, settings.top_p)
    probability_RC = (logits_RC / settings.temperature).softmax(-1)
    quantized_RV = torch.zeros_like(logits_RV)
    return quantized_RV.scatter_(1, token_RC.expand_as(probability_RC), probability_RC)


def gumbel(key_R1: Tensor, token_RC: Tensor) -> Tensor:
    """Return Gumbel noise, R C, in fp32: -ln(-ln u) for a hash u in (0, 1) of key and token.

    The hash is Wellons' lowbias32, on int32 that wraps around.
    """
    x_RC = key_R1 + (token_RC * GOLDEN).to(torch.int32)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B - 2**32), (16, 1)):
        x_RC ^= (x_RC >> shift).bitwise_and_(2 ** (32 - shift) - 1)
        x_RC *= factor
    # 1 - u rather than u, so that the rare large values are as finely spaced as all others;
    # and never quite 1, which fp32 would round to.
    rest_RC = x_RC.bitwise_and_(0x7FFFFFFF).float().add_(0.5).mul_(2**-31 * (1 - 2**-24))
    return rest_RC.neg_().log1p_().neg_().log_().neg_()


def make_keys(seed: int, lines: Sequence[int], length: int) -> Tensor:
    """Return an int32 key for each line and position, B L, that does not depend on other lines.

    A counter-based generator keyed by seed and line (Salmon et al. 2011) counts the positions.
    """
    keys = np.empty((len(lines), length), np.int32)
    for row, line in zip(keys, lines, strict=True):
        generator = np.random.Philox(key=np.array([seed, line], np.uint64))
        row[:] = generator.random_raw(length).astype(np.uint32).view(np.int32)
    return torch.from_numpy(keys)

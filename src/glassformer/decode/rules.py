"""The rules of a search: the length penalty, the forbidden tokens and the best of the others.

Letters: B sentences; R rows; V vocabulary; C candidates of a row; L tokens so far, or columns of
a folded row; n tokens of an n-gram.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from ..config import EOS, PAD, Decode
from .sentences import penalise_length
from .step import Hypotheses

CELLS = 1 << 18  # values summed at once, so that they stay in a core's cache
DEPTH = 12  # values in a column; measured to be best for V = 8,000 to 32,000 and C = 2 to 16


class Best(NamedTuple):
    """The largest logits of each row, and what makes log-probabilities of them."""

    value_RC: Tensor  # the largest, in descending order
    place_RC: Tensor
    sum_R1: Tensor  # the logsumexp over all V


def length_penalty(length: Tensor, settings: Decode) -> Tensor:
    """Return the divisor of the log-probability of a hypothesis of n tokens, EOS counted.

    `length` holds n. "gnmt": ((5 + n) / 6) ** alpha (Wu et al. 2016, equation 14; here 6.1);
    "power": n ** alpha. It is never below 1 and never falls as n grows; the exact stop needs that.
    """
    # On a CPU a power in fp32 may depend on its index in the tensor, so on the other sentences.
    n = length.double() if length.is_cpu else length.float()
    penalty: Tensor = penalise_length(n, settings)
    return penalty.float()


def count_rows(settings: Decode) -> int:
    """Return W, the number of hypotheses of each sentence that a search keeps."""
    return settings.beam if settings.search == "beam" else 1


def choose_candidates(
    logits_RV: Tensor, before: Hypotheses, settings: Decode
) -> tuple[Best, tuple[Tensor, Tensor]]:
    """Return the best tokens that each row may choose; and the forbidden ones with their
    log-probabilities.

    The logits are overwritten.
    """
    size = min((2 * settings.beam if settings.search == "beam" else 1), logits_RV.size(1))
    penalise_repeats(logits_RV, before.tokens_RL, settings.repetition_penalty)
    sum_R1 = sum_logs(logits_RV)
    forbidden = forbid(logits_RV, sum_R1, before, settings)
    return Best(*find_top(logits_RV, size), sum_R1), forbidden


def forbid(
    logits_RV: Tensor, normaliser_R1: Tensor, before: Hypotheses, settings: Decode
) -> tuple[Tensor, Tensor]:
    """Write -inf over the forbidden logits; return these tokens and their log-probabilities, R C.

    PAD and BOS, which a search never returns, are forbidden but not listed. A column without a
    forbidden token holds PAD.
    """
    logits_RV[:, :EOS] = -math.inf  # PAD and BOS
    tokens = [before.tokens_RL[:, :0]]
    if settings.min_length:
        too_short_B = before.length_B < settings.min_length
        eos_B = torch.where(too_short_B, EOS, PAD)
        tokens.append(eos_B.repeat_interleave(before.beams)[:, None])
    if settings.no_repeat_ngram_size:
        tokens.append(repeats(before.tokens_RL, settings.no_repeat_ngram_size))
    token_RC = torch.cat(tokens, 1)
    log_prob_RC = logits_RV.gather(1, token_RC) - normaliser_R1
    logits_RV.scatter_(1, token_RC, -math.inf)
    return token_RC, log_prob_RC


def penalise_repeats(logits_RV: Tensor, tokens_RL: Tensor, penalty: float) -> None:
    """Make the tokens that a row has already less likely, in place (Keskar et al. 2019).

    Their logits are divided by the penalty if they are above 0, and else multiplied by it. The
    log-probabilities of the search are those after it.
    """
    if penalty == 1:
        return
    logit_RL = logits_RV.gather(1, tokens_RL)
    less_RL = torch.where(logit_RL > 0, logit_RL / penalty, logit_RL * penalty)
    logits_RV.scatter_(1, tokens_RL, torch.where(tokens_RL > EOS, less_RL, logit_RL))


def repeats(tokens_RL: Tensor, size: int) -> Tensor:
    """Return the tokens, R C, that would complete an n-gram of this size a second time.

    PAD on the left does no harm: a tail that reaches into it occurs only once, or is all PAD and
    forbids no more than PAD or BOS.
    """
    if tokens_RL.size(1) < size:
        return tokens_RL[:, :0]
    ngrams_RCn = tokens_RL.unfold(1, size, 1)
    tail_R1n = tokens_RL[:, None, tokens_RL.size(1) - size + 1 :]
    seen_RC = (ngrams_RCn[..., :-1] == tail_R1n).all(-1)
    return torch.where(seen_RC, ngrams_RCn[..., -1], PAD)


def find_top(x_RV: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Return the `size` largest values of each row, in descending order, and their indices.

    Of equal values the first is taken, which `topk` does not promise. The row is folded into
    columns of DEPTH values. The C largest values lie in the C columns with the largest maxima, or
    in the remainder that fills no column. Only these are searched.
    """
    rank_RV, (rows, values) = _rank(x_RV), x_RV.shape
    columns = values // DEPTH
    if columns < 2 * size:
        place_RC = rank_RV.topk(size).indices
        return x_RV.gather(1, place_RC), place_RC
    highest_RL = rank_RV[:, : columns * DEPTH].view(rows, DEPTH, columns).amax(1)
    column_R1C = highest_RL.topk(size).indices[:, None]
    depth = torch.arange(DEPTH, device=x_RV.device)[:, None]
    remainder = torch.arange(columns * DEPTH, values, device=x_RV.device).expand(rows, -1)
    considered = torch.cat(((column_R1C + columns * depth).flatten(1), remainder), 1)
    place_RC = considered.gather(1, rank_RV.gather(1, considered).topk(size).indices)
    return x_RV.gather(1, place_RC), place_RC


def _rank(x_RV: Tensor) -> Tensor:
    """Return int64 numbers in the order of the fp32 values, and of equal ones the first largest.

    The upper half has the bits of a value: those below 0 are turned round, since their bits grow as
    the values fall. The lower half counts the columns down.
    """
    bits_RV = (x_RV + 0.0).view(torch.int32)  # + 0.0: there is no -0 then
    bits_RV = torch.where(bits_RV < 0, bits_RV ^ 0x7FFFFFFF, bits_RV)
    back_V = torch.arange(x_RV.size(1) - 1, -1, -1, device=x_RV.device)
    return (bits_RV.long() << 32) + back_V


def sum_logs(x_RV: Tensor) -> Tensor:
    """Return `x_RV.logsumexp(-1, keepdim=True)`; on a CPU a few rows at a time."""
    rows = max(CELLS // x_RV.size(1), 1)
    if x_RV.device.type != "cpu":
        return x_RV.logsumexp(-1, keepdim=True)
    return torch.cat([_sum_logs(part_RV) for part_RV in x_RV.split(rows)])


def _sum_logs(x_RV: Tensor) -> Tensor:
    high_R1 = x_RV.amax(-1, keepdim=True)
    return (x_RV - high_R1).exp_().sum(-1, keepdim=True).log_().add_(high_R1)

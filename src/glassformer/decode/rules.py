"""The rules of a search: the length penalty, the longest output and the forbidden tokens.

Letters: B sentences; R rows; V vocabulary; C forbidden candidates of a row; L tokens so far;
n tokens of an n-gram.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..config import Decode
from ..kernels.topk import Best, topk_logsumexp
from ..text import EOS, PAD
from .hypotheses import Hypotheses
from .topk import find_top, sum_logs


def length_penalty(length: Tensor, settings: Decode) -> Tensor:
    """Return the divisor of the log-probability of a hypothesis of n tokens, EOS counted.

    `length` holds n. "gnmt": ((5 + n) / 6) ** alpha (Wu et al. 2016, equation 14; here 6.1);
    "power": n ** alpha. It is never below 1 and never falls as n grows; the exact stop needs that.
    """
    if settings.length_penalty not in ("gnmt", "power"):
        return torch.ones_like(length, dtype=torch.float32)
    # On a CPU a power in fp32 may depend on its index in the tensor, so on the other sentences.
    n = length.double() if length.is_cpu else length.float()
    n = (5 + n) / 6 if settings.length_penalty == "gnmt" else n
    return (n**settings.alpha).float()


def longest_output(source_tokens: int, settings: Decode, longest: int | None) -> int:
    """Return the most tokens, EOS counted, for a source of so many tokens, EOS not counted.

    The paper (6.1) has the length of the input + 50. `longest` is the limit of the network.
    """
    limit = math.ceil(settings.max_ratio * source_tokens) + settings.max_extra
    return limit if longest is None else min(limit, longest)


def count_candidates(settings: Decode) -> int:
    """Return the number of tokens of each row that a step considers.

    The best 2 W of a sentence are among the best 2 W of each of its rows.
    """
    return 2 * settings.beam if settings.search == "beam" else 1


def is_free(settings: Decode) -> bool:
    """Return whether a search chooses the best of all tokens from EOS on, and forbids none."""
    return not (settings.search == "sample" or settings.min_length or settings.no_repeat_ngram_size)


def choose_candidates(
    logits: Tensor | Best, live: Hypotheses, settings: Decode
) -> tuple[Best, tuple[Tensor, Tensor]]:
    """Return the best tokens that each row may choose; and the forbidden ones with their
    log-probabilities.

    Logits, R V, are overwritten. Where the network found the best itself, they are returned.
    """
    nothing = live.tokens_RL[:, :0], live.log_prob_BW.view(-1, 1)[:, :0]
    if isinstance(logits, Best):
        return logits, nothing
    size = min(count_candidates(settings), logits.size(1))
    if is_free(settings) and (found := topk_logsumexp(logits, size, first=EOS)):  # all at once
        return found, nothing
    sum_R1 = sum_logs(logits)
    forbidden = forbid(logits, sum_R1, live, settings)
    return Best(*find_top(logits, size), sum_R1), forbidden


def forbid(
    logits_RV: Tensor, normaliser_R1: Tensor, live: Hypotheses, settings: Decode
) -> tuple[Tensor, Tensor]:
    """Write -inf over the forbidden logits; return these tokens and their log-probabilities, R C.

    PAD and BOS, which a search never returns, are forbidden but not listed. A column without a
    forbidden token holds PAD.
    """
    logits_RV[:, :EOS] = -math.inf  # PAD and BOS
    tokens = [live.tokens_RL[:, :0]]
    if settings.min_length:
        too_short_B = live.length_B < settings.min_length
        eos_B = torch.where(too_short_B, EOS, PAD)
        tokens.append(eos_B.repeat_interleave(live.beams)[:, None])
    if settings.no_repeat_ngram_size:
        tokens.append(repeats(live.tokens_RL, settings.no_repeat_ngram_size))
    token_RC = torch.cat(tokens, 1)
    log_prob_RC = logits_RV.gather(1, token_RC) - normaliser_R1
    logits_RV.scatter_(1, token_RC, -math.inf)
    return token_RC, log_prob_RC


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

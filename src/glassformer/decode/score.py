"""The scoring of given translations: the log-probability of each of their tokens.

Letters: B sentences, one row each: R = B; S source tokens; Q target tokens; V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..config import BOS, EOS, PAD
from ..machine.device import free_memory
from ..machine.out_of_memory import is_out_of_memory
from .protocol import Network, S
from .rules import sum_logs
from .sentences import Budget, NotFiniteError, Queue, Sentence

BUDGET = 4096  # tokens of one side of a batch, padding included


def score_targets(
    network: Network[S],
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    budget: int | Budget = BUDGET,
    device: torch.device | str = "cpu",
    progress: Callable[[int], object] | None = None,
) -> list[list[float]]:
    """Return ln p of each token of each target given its source and the tokens before it.

    The last number is EOS's. Sources end with EOS, targets come without it. Results are in the
    order of the input; `progress` is called with the number done since its last call. Raises
    ValueError where the log-probabilities are not finite.
    """
    if len(sources) != len(targets):
        raise ValueError(f"{len(sources)} sources but {len(targets)} targets")
    pairs = [
        Sentence(index, index, source, target, len(target) + 1)
        for index, (source, target) in enumerate(zip(sources, targets, strict=True))
    ]
    found: list[list[float]] = [[] for _ in pairs]
    queue, lost = Queue(pairs, budget), list[Sentence]()
    while queue.has_work(lost):
        lost = queue.take()
        try:
            scored = _score(network, lost, device)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        else:
            for pair, log_probs in zip(lost, scored, strict=True):
                found[pair.index] = log_probs
            if progress:
                progress(len(lost))
            lost = []
        if lost:
            free_memory()
    return found


def _score(
    network: Network[S], pairs: Sequence[Sentence], device: torch.device | str
) -> list[list[float]]:
    """Return the log-probability of each token of each prefix, and of EOS after it."""
    source_BS = padded([pair.source for pair in pairs], device)
    given_BQ = padded([[BOS, *pair.prefix] for pair in pairs], device)
    wanted_BQ = padded([[*pair.prefix, EOS] for pair in pairs], device)
    logits_BQV = network.step(given_BQ, network.start(source_BS))
    log_probs_BQ = log_probs_of(wanted_BQ, logits_BQV)
    if not log_probs_BQ.isfinite().all():
        raise NotFiniteError("what the network computes is not finite: its weights are too large")
    rows = log_probs_BQ.tolist()
    return [row[: pair.limit] for row, pair in zip(rows, pairs, strict=True)]


def padded(rows: Sequence[Sequence[int]], device: torch.device | str) -> Tensor:
    """Return rows of ids as one int64 tensor, padded with PAD on the right."""
    width = max(map(len, rows))
    filled = [[*row, *[PAD] * (width - len(row))] for row in rows]
    return torch.tensor(filled, dtype=torch.long, device=device)


def log_probs_of(tokens_RQ: Tensor, logits_RQV: Tensor) -> Tensor:
    """Return ln p of the tokens, R Q, from the logits that predict them."""
    logit_RQ = logits_RQV.gather(-1, tokens_RQ[..., None])[..., 0]
    return logit_RQ - sum_logs(logits_RQV.flatten(0, 1)).view_as(logit_RQ)

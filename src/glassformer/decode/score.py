"""The scoring of given translations: the log-probability of each of their tokens.

Letters: B sentences, one row each: R = B; S source tokens; Q target tokens; V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..out_of_memory import is_out_of_memory
from ..text import BOS, EOS, PAD
from .budget import Budget, as_budget
from .protocol import Network, S
from .results import NotFiniteError
from .topk import sum_logs

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
    found: list[list[float]] = [[] for _ in sources]
    sizes = [max(len(s), len(t) + 1) for s, t in zip(sources, targets, strict=True)]
    waiting, room = sorted(range(len(sizes)), key=lambda i: (sizes[i], -i)), as_budget(budget)
    while waiting:
        batch = _take(waiting, sizes, room.tokens)
        try:
            logs: list[list[float]] | None = _score(
                network, [(sources[i], targets[i]) for i in batch], device
            )
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            logs = None
        if logs is None:
            room.shrink(len(batch), sizes[batch[0]], batch[0])
            waiting += reversed(batch)
            continue
        for i, log_probs in zip(batch, logs, strict=True):
            found[i] = log_probs
        if progress:
            progress(len(batch))
    return found


def _score(
    network: Network[S],
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
    device: torch.device | str,
) -> list[list[float]]:
    source_BS = padded([source for source, _ in pairs], device)
    given_BQ = padded([[BOS, *target] for _, target in pairs], device)
    wanted_BQ = padded([[*target, EOS] for _, target in pairs], device)
    logits_BQV = network.step(given_BQ, network.start(source_BS))
    log_probs_BQ = log_probs_of(wanted_BQ, logits_BQV)
    if not log_probs_BQ.isfinite().all():
        raise NotFiniteError("what the network computes is not finite: its weights are too large")
    rows = log_probs_BQ.tolist()
    return [row[: len(target) + 1] for row, (_, target) in zip(rows, pairs, strict=True)]


def padded(rows: Sequence[Sequence[int]], device: torch.device | str) -> Tensor:
    """Return rows of ids as one int64 tensor, padded with PAD on the right."""
    width = max(map(len, rows))
    filled = [[*row, *[PAD] * (width - len(row))] for row in rows]
    return torch.tensor(filled, dtype=torch.long, device=device)


def log_probs_of(tokens_RQ: Tensor, logits_RQV: Tensor) -> Tensor:
    """Return ln p of the tokens, R Q, from the logits that predict them."""
    logit_RQ = logits_RQV.gather(-1, tokens_RQ[..., None])[..., 0]
    return logit_RQ - sum_logs(logits_RQV.flatten(0, 1)).view_as(logit_RQ)


def _take(waiting: list[int], sizes: Sequence[int], room: int) -> list[int]:
    """Remove the next pairs from the end of `waiting`, longest first, and return their indices."""
    count = min(len(waiting), max(1, room // sizes[waiting[-1]]))
    return [waiting.pop() for _ in range(count)]

"""How probable given translations are.

Letters: B sentences, one row each: R = B; S source pieces; Q target pieces; V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ..text import BOS, EOS, PAD
from .protocol import Network, S
from .top import sum_logs

BUDGET = 4096  # pieces a side in one batch, padding included


def score(
    network: Network[S],
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    budget: int = BUDGET,
    device: torch.device | str = "cpu",
    progress: Callable[[int], object] | None = None,
) -> list[list[float]]:
    """ln p of each piece of each target given its source and the pieces before it; EOS's last.

    Sources end with EOS, targets come without it. Results are in the order of the input;
    `progress` is told how many were done since it was last told.
    """
    if len(sources) != len(targets):
        raise ValueError(f"{len(sources)} sources but {len(targets)} targets")
    found: list[list[float]] = [[] for _ in sources]
    for batch in _batches(sources, targets, budget):
        source_BS = padded([sources[i] for i in batch], device)
        given_BQ = padded([[BOS, *targets[i]] for i in batch], device)
        wanted_BQ = padded([[*targets[i], EOS] for i in batch], device)
        logits_BQV = network.step(given_BQ, network.start(source_BS))
        for i, log_probs in zip(batch, log_probs_of(wanted_BQ, logits_BQV).tolist(), strict=True):
            found[i] = log_probs[: len(targets[i]) + 1]
        if progress:
            progress(len(batch))
    return found


def padded(rows: Sequence[Sequence[int]], device: torch.device | str) -> Tensor:
    """Ids of unequal numbers as one tensor, PAD on the right."""
    width = max(map(len, rows))
    filled = [[*row, *[PAD] * (width - len(row))] for row in rows]
    return torch.tensor(filled, dtype=torch.long, device=device)


def log_probs_of(pieces_RQ: Tensor, logits_RQV: Tensor) -> Tensor:
    """ln p of the pieces, R Q, where the logits are about them."""
    logit_RQ = logits_RQV.gather(-1, pieces_RQ[..., None])[..., 0]
    return logit_RQ - sum_logs(logits_RQV.flatten(0, 1)).view_as(logit_RQ)


def _batches(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], budget: int
) -> list[list[int]]:
    """Pairs of similar length together, the longest first."""
    sizes = [max(len(s), len(t) + 1) for s, t in zip(sources, targets, strict=True)]
    batches: list[list[int]] = []
    for i in sorted(range(len(sizes)), key=lambda i: (-sizes[i], i)):
        if batches and (len(batches[-1]) + 1) * sizes[batches[-1][0]] <= budget:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches

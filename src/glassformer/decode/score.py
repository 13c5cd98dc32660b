"""The scoring of given translations: the log-probability of each of their tokens.

Of a text that a network reads both ways, `predict_positions` tells what fits where.

Letters: B sentences, one row each: R = B; S source tokens; Q target tokens; V vocabulary.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import torch
from torch import Tensor

from ..config import BOS, EOS, PAD
from ..foundation.machine.device import free_memory
from ..foundation.machine.out_of_memory import is_out_of_memory
from .protocol import Network, S
from .rules import sum_logs
from .sentences import Budget, NotFiniteError, Queue, QueuedSentence, Rows, plan_pairs

BUDGET = 4096  # tokens of one side of a batch, padding included


def score_targets(
    network: Network[S],
    sources: Rows,
    targets: Rows,
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
    pairs = plan_pairs(sources, targets)
    results: list[list[float]] = [[] for _ in pairs]
    queue, lost = Queue(pairs, budget), list[QueuedSentence]()
    while queue.has_work(lost):
        lost = queue.take()
        try:
            scored = _score(network, lost, device)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        else:
            for pair, log_probs in zip(lost, scored, strict=True):
                results[pair.index] = log_probs
            if progress:
                progress(len(lost))
            lost = []
        if lost:
            free_memory()
    return results


def _score(
    network: Network[S], pairs: Sequence[QueuedSentence], device: torch.device | str
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


def padded(rows: Rows, device: torch.device | str) -> Tensor:
    """Return rows of ids as one int64 tensor, padded with PAD on the right."""
    width = max(map(len, rows))
    filled = [[*row, *[PAD] * (width - len(row))] for row in rows]
    return torch.tensor(filled, dtype=torch.long, device=device)


def log_probs_of(tokens_RQ: Tensor, logits_RQV: Tensor) -> Tensor:
    """Return ln p of the tokens, R Q, from the logits that predict them."""
    logit_RQ = logits_RQV.gather(-1, tokens_RQ[..., None])[..., 0]
    return logit_RQ - sum_logs(logits_RQV.flatten(0, 1)).view_as(logit_RQ)


class WholeReader(Protocol):
    """A network that reads texts whole."""

    def read(self, source_BS: Tensor, target_BT: Tensor) -> Tensor:
        """Return what the last linear map reads, B S D."""
        ...

    def logits(self, y_BTD: Tensor) -> Tensor:
        """Return the logits of all tokens."""
        ...


def predict_positions(
    network: WholeReader,
    rows: Rows,
    positions: Rows,
    *,
    budget: int = BUDGET,
    device: torch.device | str = "cpu",
) -> Iterator[tuple[int, Tensor]]:
    """Yield the index of each text, in any order, and ln p of all tokens at its positions, N V.

    Padding is never predicted. Raises NotFiniteError where something is not finite.
    """
    order = sorted(range(len(rows)), key=lambda index: len(rows[index]))
    while order:
        longest = len(rows[order[-1]])
        taken = [order.pop() for _ in range(min(len(order), max(1, budget // longest)))]
        text_BS = padded([rows[index] for index in taken], device)
        y_BSD = network.read(text_BS, text_BS)
        for place, index in enumerate(taken):
            logits_NV = network.logits(y_BSD[place, list(positions[index])]).float()
            if not logits_NV.isfinite().all():
                raise NotFiniteError("what the network computes is not finite")
            logits_NV[:, PAD] = -torch.inf
            yield index, logits_NV.log_softmax(-1)

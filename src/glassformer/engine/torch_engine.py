"""A network in PyTorch that searches and scores with `decode/`, behind the methods of the C engine.

It computes on GPUs, in bf16, and any network of the search protocol.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from ..config import BOS, Decode
from ..decode import Budget, Hypothesis, Network, NotFiniteError, score_targets, search
from ..decode.score import padded
from ..decode.sentences import Rows
from ..foundation.machine.device import autocast
from ..foundation.tap import record
from ..model.encoder_decoder import EncoderDecoder
from .native import Head, ScoredPair

if TYPE_CHECKING:
    from .native import Matrix


class TorchEngine:
    """A network, and a view of it that computes the same faster; both on `device`.

    threads: of each worker; None: as many as PyTorch has.
    """

    def __init__(
        self,
        network: EncoderDecoder,
        view: Network[Any],
        precision: str,
        device: str,
        threads: int | None = None,
    ):
        self.network, self.view = network, view
        self.precision, self.device, self.threads = precision, device, threads

    def search(
        self, sources: Rows, settings: Decode, *, workers: int = 1, **keywords: Any
    ) -> list[list[Hypothesis]]:
        """Return the best hypotheses of each source; see `decode.search`."""
        keywords |= {"device": self.device, "workers": workers}
        with self._compute(workers):
            return search(self.view, sources, settings, **keywords)

    def score(
        self, sources: Rows, targets: Rows, *, workers: int = 1, **keywords: Any
    ) -> list[ScoredPair]:
        """Return the log-probabilities of the tokens of each target; see `decode.score_targets`."""
        with self._compute(workers):
            scored = score_targets(self.view, sources, targets, device=self.device, **keywords)
        return [ScoredPair(log_probs) for log_probs in scored]

    def attend(
        self,
        sources: Rows,
        targets: Rows,
        heads: Sequence[Head],
        *,
        workers: int = 1,
        budget: int | Budget,
    ) -> Iterator[tuple[int, list[Matrix]]]:
        """Yield the index of each pair, in any order, and its weights: see `NativeEngine`."""
        names = {f"decoder.{layer}.cross_attention.weights" for layer, _ in heads}
        most = budget.tokens if isinstance(budget, Budget) else budget
        for batch in _cut_batches(sources, targets, most):
            source_BS = padded([sources[i] for i in batch], self.device)
            given_BT = padded([[BOS, *targets[i]] for i in batch], self.device)
            with self._compute(workers), record(self.network, names.__contains__) as (view, taken):
                view.read(source_BS, given_BT)
                layers = {name: values[0].float() for name, values in taken.items()}
            if not all(values.isfinite().all() for values in layers.values()):
                raise NotFiniteError(
                    "what the network computes is not finite: its weights are too large"
                )
            for place, i in enumerate(batch):
                results: list[Matrix] = []
                for layer, head in heads:
                    weights_HTS = layers[f"decoder.{layer}.cross_attention.weights"][place]
                    weights_TS = weights_HTS.mean(0) if head is None else weights_HTS[head]
                    cut_TS = weights_TS[: len(targets[i]) + 1, : len(sources[i])]
                    results.append(cut_TS.cpu().numpy())
                yield i, results

    @contextmanager
    def _compute(self, workers: int) -> Iterator[None]:
        """Set the threads, the precision and the inference mode, until the end."""
        before = torch.get_num_threads()
        try:
            if self.threads:
                torch.set_num_threads(self.threads * workers)
            with torch.inference_mode(), autocast(self.precision, self.device):
                yield
        finally:
            torch.set_num_threads(before)


def _cut_batches(sources: Rows, targets: Rows, budget: int) -> Iterator[list[int]]:
    """Yield batches of indices of pairs, of similar length and within the budget of tokens."""
    sizes = [max(len(s), len(t) + 1) for s, t in zip(sources, targets, strict=True)]
    batch: list[int] = []
    for i in sorted(range(len(sizes)), key=sizes.__getitem__):
        if batch and (len(batch) + 1) * sizes[i] > budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch

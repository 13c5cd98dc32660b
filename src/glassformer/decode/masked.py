"""Predictions at given positions of texts, by a network that reads both ways.

Letters: B texts; S positions; D model width; N given positions; V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import torch
from torch import Tensor

from ..config import PAD
from .score import padded
from .sentences import NotFiniteError

BUDGET = 4096  # tokens of a batch, padding included


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
    rows: Sequence[Sequence[int]],
    positions: Sequence[Sequence[int]],
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

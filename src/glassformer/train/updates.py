"""One update of the weights (paper 5): forward, backward, Adam, average.

Letters: B sentences; T target positions; N target positions that are not padding; D model width.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from ..config import PAD, Train
from ..data.batches import Batch
from ..device import autocast
from ..kernels.cross_entropy import smoothed_cross_entropy
from ..kernels.dropout import seed_dropout
from ..model import Transformer
from .optimizer import make_optimizer


@dataclass(frozen=True)
class Outcome:
    """What one update saw."""

    loss: float  # nats a target piece, smoothing included
    gradient_norm: float  # before clipping
    source_pieces: int
    target_pieces: int
    seconds: float

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.gradient_norm) and math.isfinite(self.loss)


class Updater:
    """A model with its optimizer and, where `train.ema` is set, the moving average of its weights.

    The randomness of an update is a function of (seed, step, micro-batch) alone, so that nothing
    between updates can disturb it.
    """

    def __init__(self, model: Transformer, train: Train, device: torch.device, precision: str):
        self.model, self.train = model.to(device), train
        self.device, self.precision = device, precision
        self.averaged = copy.deepcopy(self.model).eval() if train.ema else None
        self.optimizer = make_optimizer(self.model, train, precision)

    @property
    def best_model(self) -> Transformer:
        """What validation and translation use."""
        return self.model if self.averaged is None else self.averaged

    def update(self, step: int, rate: float, batches: Sequence[Batch]) -> Outcome:
        """Update number `step`, counted from 1, from the summed gradient of all micro-batches."""
        began = time.perf_counter()
        self.model.train()
        sources = sum(int((batch.source_BS != PAD).sum()) for batch in batches)
        targets = sum(int((batch.target_BT[:, 1:] != PAD).sum()) for batch in batches)
        loss = torch.zeros((), device=self.device)
        for number, batch in enumerate(batches):
            seed_dropout(self.train.seed, step, number)
            loss += self.backward(batch, targets)
        norm = self._norm()
        outcome = Outcome(loss.item(), norm.item(), sources, targets, time.perf_counter() - began)
        if outcome.is_finite:
            self._step(step, rate, norm)
        self.optimizer.zero_grad()
        return outcome

    def backward(self, batch: Batch, targets: int) -> Tensor:
        """Add the gradient of this batch's share in the mean over `targets` pieces; the share."""
        source_BS = torch.from_numpy(batch.source_BS).to(self.device)
        target_BT = torch.from_numpy(batch.target_BT).to(self.device)
        with autocast(self.precision, self.device):
            y_BTD = self.model.read(source_BS, target_BT[:, :-1])
            wanted_BT = target_BT[:, 1:]
            is_piece_BT = wanted_BT != PAD
            y_ND, table_VD = y_BTD[is_piece_BT], self.model.output_table.weight
            if self.model.output_bias is not None:  # one more column, beside a width of ones
                y_ND = pad(y_ND, (0, 1), value=1.0)
                table_VD = torch.cat((table_VD, self.model.output_bias[:, None]), dim=1)
            wanted_N = wanted_BT[is_piece_BT]
            loss = smoothed_cross_entropy(y_ND, table_VD, wanted_N, self.train.label_smoothing)
        share = loss / targets
        share.backward()
        return share.detach()

    def probe(self, batches: Sequence[Batch]) -> None:
        """Go through the batches that need most memory, and leave no trace."""
        self.model.train()
        for batch in batches:
            self.backward(batch, batch.target_BT.size)
        self.optimizer.zero_grad()

    def _norm(self) -> Tensor:
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        return nn.utils.get_total_norm(gradients)

    def _step(self, step: int, rate: float, norm: Tensor) -> None:
        if self.train.clip:
            nn.utils.clip_grads_with_norm_(self.model.parameters(), self.train.clip, norm)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.step()
        if self.averaged is not None and self.train.ema:
            # Early on, the average forgets its random beginning faster than `ema` says.
            decay = min(self.train.ema, (1 + step) / (10 + step))
            with torch.no_grad():
                torch._foreach_lerp_(
                    list(self.averaged.parameters()), list(self.model.parameters()), 1 - decay
                )

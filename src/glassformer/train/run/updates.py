"""One update of the weights (paper 5): forward, backward, optimizer step, moving average.

Read `Updater.update`; the loss is in loss.py.
"""

import copy
import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import chain

import torch
from torch import Tensor, nn

from ...config import PAD, Train
from ...data.batches import Batch
from ...engine.kernels.fast import KernelState, fast
from ...foundation.machine.device import autocast
from ...foundation.machine.out_of_memory import is_out_of_memory
from ...model.encoder_decoder import EncoderDecoder
from ..plan.hooks import Loss
from .distributed import ALONE, ProcessGroup
from .gradient_checkpointing import recompute_layers
from .loss import batch_loss
from .loss_scaling import LossScale
from .micro_batching import MicroBatching, reserve
from .optimizer import make_optimizer, set_rate
from .sharding import imitate, local, shard, whole


@dataclass(frozen=True)
class Outcome:
    """The outcome of one update, over all processes."""

    loss: float  # nats a target token, smoothing included
    gradient_norm: float  # before clipping
    source_tokens: int
    target_tokens: int
    seconds: float = 0.0

    @property
    def is_finite(self) -> bool:
        return math.isfinite(self.gradient_norm) and math.isfinite(self.loss)


class Updater:
    """A model with its optimizer and, if `train.ema` is set, the moving average of its weights.

    The randomness of an update is a function of (seed, step, micro-batch, row) alone, so it does
    not depend on what happens between updates, or on which process computes which rows.
    """

    def __init__(
        self,
        model: EncoderDecoder,
        train: Train,
        device: torch.device,
        precision: str,
        group: ProcessGroup = ALONE,
        micro_batching: MicroBatching | None = None,
        say: Callable[[str], object] | None = None,
        loss: Loss = batch_loss,
    ):
        self.train, self.device, self.precision, self.loss = train, device, precision, loss
        self.group, self.micro_batching = group, micro_batching or MicroBatching()
        self.is_sharded = train.shard and group.size > 1
        self.plain = imitate(model) if self.is_sharded else None
        self.model, self.kernels = model.train(), KernelState()
        self.averaged = copy.deepcopy(model).eval() if train.ema else None
        if not self.is_sharded:
            for each in filter(None, (model, self.averaged)):
                each.to(device)
        compiled = train.compile
        self.network = fast(model, self.kernels, precision=precision, say=say, is_compiled=compiled)
        if train.gradient_checkpointing:
            recompute_layers(self.network, self.kernels.dropout)
        self.best_model = model if self.averaged is None else self.averaged  # to validate
        if self.is_sharded:  # hooks of a view gather the shards
            shard(self.network, device, group.size)
            self.best_model = self.network
            if self.averaged is not None:
                average = fast(self.averaged, precision=precision)
                self.best_model = shard(average, device, group.size)
        self.optimizer = make_optimizer(self.model, train, precision)
        self.loss_scale = LossScale(precision, device)

    def update(
        self, step: int, rate: float, batches: Sequence[Batch], planned: float = 1.0
    ) -> Outcome:
        """Make update `step`, counted from 1, from the summed gradient of all micro-batches.

        `batches` are this process's share of them. The moving average decays as in `planned`
        updates: see `Plan.position`. Without a finite gradient nothing is changed.
        """
        began = time.perf_counter()
        sources, targets = self._count_tokens(batches)
        loss, norm = self._forward_backward(step, batches, targets), self._norm()
        while self.loss_scale.reduce(self.optimizer, norm):  # fp16 alone
            self.optimizer.zero_grad()
            loss, norm = self._forward_backward(step, batches, targets), self._norm()
        read = torch.stack((loss, whole(norm))).tolist()  # the only wait for a GPU
        outcome = Outcome(read[0], read[1], sources, targets)
        if outcome.is_finite:
            self._clip(outcome.gradient_norm, norm)
            self._step(step, rate, planned)
        self.optimizer.zero_grad()
        return replace(outcome, seconds=time.perf_counter() - began)

    def _forward_backward(self, step: int, batches: Sequence[Batch], targets: int) -> Tensor:
        """Return the loss over all processes, and leave the summed gradients in the parameters.

        If memory runs out, everything is computed again in smaller parts.
        """
        self.network.train()
        # Sharded parameters are gathered and freed, so they are not always the same tensors.
        with nullcontext() if self.is_sharded else self.kernels.packed.keep():
            while (loss := self._try(step, batches, targets)) is None:
                self.optimizer.zero_grad()
        if self.group.size > 1:
            self.group.add([loss, *([] if self.is_sharded else self._gradients())])
        return loss

    def backward(self, batch: Batch, targets: int) -> Tensor:
        """Add the gradient of this batch's share in the mean loss; return that share.

        The mean is over `targets` tokens.
        """
        share = self._measure(batch) / targets
        scale = self.group.size if self.is_sharded else 1  # sharding takes the mean
        self.loss_scale.enlarge(share * scale).backward()
        return share.detach()

    def _clip(self, gradient_norm: float, norm: Tensor) -> None:
        most = self.train.max_grad_norm
        if most and gradient_norm > most:
            nn.utils.clip_grads_with_norm_(self.model.parameters(), most, norm)

    def _step(self, step: int, rate: float, planned: float = 1.0) -> None:
        """Change the weights by the gradient, and their moving average by the weights."""
        set_rate(self.optimizer, rate)
        self.optimizer.step()
        if self.averaged is not None and self.train.ema:
            # Early on, the decay is stronger than `ema`, to forget the random initial weights.
            decay = min(self.train.ema, (1 + step) / (10 + step)) ** planned
            pair = local(self.averaged.parameters()), local(self.model.parameters())
            with torch.no_grad():
                torch._foreach_lerp_(*pair, 1 - decay)

    def probe(self, batches: Sequence[Batch]) -> None:
        """Try the batches that need most memory; weights and gradients stay as they were.

        The future state of the optimizer is allocated meanwhile.
        """
        ballast = [] if self.optimizer.state else self._imitate_optimizer()
        with reserve():
            for batch in batches:
                self._forward_backward(0, [batch], batch.target_BT.size)
        self.optimizer.zero_grad()
        del ballast

    def find_culprits(self, step: int, batches: Sequence[Batch]) -> list[Batch]:
        """Return the pairs, each as a batch, whose loss with this dropout is not finite."""
        results = []
        with torch.no_grad():
            for pair in chain.from_iterable(batch.cut(len(batch.rows)) for batch in batches):
                self._seed(step, pair)
                if not self._measure(pair).isfinite():
                    results.append(pair)
        return results

    def _measure(self, batch: Batch) -> Tensor:
        with autocast(self.precision, self.device):
            return self.loss(self.network, batch, self.train, self.kernels)

    def _seed(self, step: int, batch: Batch) -> None:
        self.kernels.dropout.seed(self.train.seed, step, batch.number, part=batch.part)

    def _count_tokens(self, batches: Sequence[Batch]) -> tuple[int, int]:
        """Return the numbers of source and of target tokens of all processes."""
        sources = sum(int((batch.source_BS != PAD).sum()) for batch in batches)
        targets = sum(int((batch.target_BT[:, 1:] != PAD).sum()) for batch in batches)
        sources, targets = map(int, self.group.sum(sources, targets))
        return sources, targets

    def _imitate_optimizer(self) -> list[Tensor]:
        parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        return [torch.zeros_like(p) for p in parameters for _ in range(2)]

    def _try(self, step: int, batches: Sequence[Batch], targets: int) -> Tensor | None:
        """Return this process's share of the loss; None if memory ran out: then lower the limit."""
        loss = torch.zeros((), device=self.device)
        at_work = None
        try:
            for batch in batches:
                for at_work in self.micro_batching.fit(batch):
                    self._seed(step, at_work)
                    loss += self.backward(at_work, targets)
        except (RuntimeError, MemoryError) as error:
            if at_work is None or not is_out_of_memory(error):
                raise
            if self.is_sharded:  # the other processes wait inside their layers
                raise ValueError("there is not enough memory: lower train.batch_tokens") from None
        else:
            return loss
        self.micro_batching.shrink(at_work)
        return None

    def _gradients(self) -> list[Tensor]:
        """Return a gradient for each trained parameter; zeros if our share gave none."""
        for p in self.model.parameters():
            if p.requires_grad and p.grad is None:
                p.grad = torch.zeros_like(p)
        return [p.grad for p in self.model.parameters() if p.grad is not None]

    def _norm(self) -> Tensor:
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        if self.device.type != "cpu" or self.is_sharded or not gradients:
            return nn.utils.get_total_norm(gradients)
        flat = [gradient.flatten() for gradient in gradients]  # dot is twice as fast
        return torch.stack([gradient.dot(gradient) for gradient in flat]).sum().sqrt()

"""A small training that is remembered wholly, so that it says exactly what each pair taught.

What would change if a pair had counted a little less in training? The derivative of a lead by the
weight of each pair is found by following the training back, update by update, from the last one
to the first: each says what its gradient, and the Hessian of its loss, hand on to the one before
(Maclaurin et al. 2015, "Gradient-based Hyperparameter Optimization through Reversible Learning";
Ilyas and Engstrom 2025, "MAGIC: Near-Optimal Data Attribution for Deep Learning"). Nothing is
estimated; what is left is that leaving a pair out is not a little, but all of its weight.

The training is plain: Adam, a warm-up and a cosine, no dropout, and batches that stay as they are
when pairs are left out of them. What it must remember is the first weights and the batches; some
states on the way save time.

Letters: B pairs of a batch; N all pairs; T target positions; Q leads.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from warnings import catch_warnings, simplefilter

import torch
from torch import Tensor
from torch.func import functional_call, grad, jvp

from glassformer.config import BOS, PAD
from glassformer.decode.score import padded
from glassformer.model.encoder_decoder import EncoderDecoder

from .edges import WordContrast
from .teaching import TokenPair, Weights

BETAS, EPSILON = (0.9, 0.98), 1e-6  # of Adam
REMEMBER = 25  # updates between two states that are remembered
POOL = 8  # batches whose pairs are sorted by length together
Tick = Callable[[int], object]


@dataclass(frozen=True)
class ReplayPlan:
    """The settings of a training."""

    updates: int = 400
    batch: int = 64  # pairs
    rate: float = 4e-3
    warmup: int = 66
    seed: int = 0

    def rate_at(self, update: int) -> float:
        """Return the learning rate: a line up, then a cosine down to zero."""
        if update < self.warmup:
            return self.rate * (update + 1) / self.warmup
        done = (update - self.warmup) / (self.updates - self.warmup)
        return self.rate * (1 + math.cos(math.pi * done)) / 2


class AdamState(NamedTuple):
    """The weights of a network, and Adam's means of gradients and of their squares."""

    weights: Tensor
    mean: Tensor
    square: Tensor


class PairBatch(NamedTuple):
    """The pairs of an update, and what the network reads and should write of them."""

    pairs: Tensor  # their numbers
    source_BS: Tensor
    given_BT: Tensor
    wanted_BT: Tensor

    @property
    def lengths_B(self) -> Tensor:
        return (self.wanted_BT != PAD).sum(1)


class Replay:
    """A training of a network on pairs from its weights as they are, as often as one likes."""

    def __init__(self, network: EncoderDecoder, pairs: Sequence[TokenPair], plan: ReplayPlan):
        self.network, self.pairs, self.plan = network, pairs, plan
        self.shapes = {name: x.shape for name, x in network.named_parameters()}
        self.first = torch.cat([x.detach().flatten() for x in network.parameters()])
        self.batches = [self._pack(numbers) for numbers in self._draw()]

    def _draw(self) -> list[list[int]]:
        """Return the numbers of the pairs of each batch; in a batch lengths are alike."""
        size, batches = self.plan.batch, list[list[int]]()
        generator = torch.Generator().manual_seed(self.plan.seed)
        while len(batches) < self.plan.updates:
            order = torch.randperm(len(self.pairs), generator=generator).tolist()
            own = []
            for start in range(0, len(order), size * POOL):
                pool = sorted(order[start : start + size * POOL], key=self._measure)
                own += [pool[at : at + size] for at in range(0, len(pool), size)]
            batches += [own[n] for n in torch.randperm(len(own), generator=generator).tolist()]
        return batches[: self.plan.updates]

    def _measure(self, number: int) -> int:
        return sum(map(len, self.pairs[number]))

    def _pack(self, numbers: Sequence[int]) -> PairBatch:
        pairs = [self.pairs[n] for n in numbers]
        return PairBatch(
            torch.tensor(numbers),
            padded([pair.source for pair in pairs], "cpu"),
            padded([(BOS, *pair.target[:-1]) for pair in pairs], "cpu"),
            padded([pair.target for pair in pairs], "cpu"),
        )

    def name_weights(self, weights: Tensor) -> Weights:
        """Return the weights by name."""
        parts = weights.split([shape.numel() for shape in self.shapes.values()])
        return {
            name: part.view(shape)
            for (name, shape), part in zip(self.shapes.items(), parts, strict=True)
        }

    def measure_losses(self, weights: Tensor, batch: PairBatch) -> Tensor:
        """Return -ln p of the translation of each pair of a batch, B."""
        sides = batch.source_BS, batch.given_BT
        logits_BTV = functional_call(self.network, self.name_weights(weights), sides)
        log_prob_BTV = logits_BTV.log_softmax(-1)
        log_prob_BT = log_prob_BTV.gather(-1, batch.wanted_BT[..., None])[..., 0]
        return -log_prob_BT.where(batch.wanted_BT != PAD, 0.0).sum(-1)

    def measure_lead(self, weights: Tensor, contrast: WordContrast) -> Tensor:
        """Return the logit of a token less that of its rival."""
        sides = torch.tensor([contrast.source]), torch.tensor([contrast.given])
        logits_V = functional_call(self.network, self.name_weights(weights), sides)[0, -1]
        lead: Tensor = logits_V[contrast.answers[0]] - logits_V[contrast.answers[1]]
        return lead

    def train(self, amount_N: Tensor | None = None) -> Tensor:
        """Return the weights after all updates, with each pair's loss times its amount."""
        return self._run(0, self._start(), self.plan.updates, amount_N)[-1].weights

    def _start(self) -> AdamState:
        return AdamState(self.first, *(torch.zeros_like(self.first) for _ in range(2)))

    def _run(
        self,
        first: int,
        state: AdamState,
        last: int,
        amount_N: Tensor | None,
        every: int | None = None,
    ) -> list[AdamState]:
        """Return states before some of the updates from `first` to `last`, and the last state."""
        states = []
        for update in range(first, last):
            if every and (update - first) % every == 0:
                states.append(state)
            state = self._update(update, state, amount_N)
        return [*states, state]

    def _update(self, update: int, state: AdamState, amount_N: Tensor | None) -> AdamState:
        gradient = self._differentiate(self.batches[update], state.weights, amount_N)
        mean = BETAS[0] * state.mean + (1 - BETAS[0]) * gradient
        square = BETAS[1] * state.square + (1 - BETAS[1]) * gradient.square()
        one, two = (1 - beta ** (update + 1) for beta in BETAS)
        change = (mean / one) / ((square / two).sqrt() + EPSILON)
        return AdamState(state.weights - self.plan.rate_at(update) * change, mean, square)

    def _differentiate(self, batch: PairBatch, weights: Tensor, amount_N: Tensor | None) -> Tensor:
        """Return the gradient of the mean loss of a token."""
        own = weights.detach().requires_grad_()
        amount_B = torch.ones(len(batch.pairs)) if amount_N is None else amount_N[batch.pairs]
        amount_B = amount_B.to(own)
        with torch.enable_grad():
            losses_B = self.measure_losses(own, batch)
            tokens = (amount_B * batch.lengths_B).sum().clamp(min=1e-9)
            return torch.autograd.grad((losses_B * amount_B).sum() / tokens, own)[0]

    def follow_back(
        self, contrasts: Sequence[WordContrast], tick: Tick = lambda done: None
    ) -> Tensor:
        """Return the derivative of each lead after training by the amount of each pair, Q N."""
        remembered = self._run(0, self._start(), self.plan.updates, None, REMEMBER)
        sought = [
            AdamState(
                grad(lambda own, one=each: self.measure_lead(own, one))(remembered[-1].weights),
                *(torch.zeros_like(self.first) for _ in range(2)),
            )
            for each in contrasts
        ]
        result_QN = torch.zeros(len(contrasts), len(self.pairs), dtype=self.first.dtype)
        for part in reversed(range(len(remembered) - 1)):
            first = part * REMEMBER
            last = min(first + REMEMBER, self.plan.updates)
            states = self._run(first, remembered[part], last, None, 1)
            for update in reversed(range(first, last)):
                self._step_back(update, states[update - first], sought, result_QN)
                tick(1)
        return result_QN

    def _step_back(
        self, update: int, state: AdamState, sought: list[AdamState], result_QN: Tensor
    ) -> None:
        """Turn derivatives by what an update gave into those by what it got, and by its pairs."""
        batch = self.batches[update]
        gradient = self._differentiate(batch, state.weights, None)
        lengths_B = batch.lengths_B.to(gradient)
        tokens = lengths_B.sum()

        def measure(own: Tensor) -> tuple[Tensor, Tensor]:
            losses_B = self.measure_losses(own, batch)
            return losses_B.sum() / tokens, losses_B

        for number, each in enumerate(sought):
            way, mean, square = pass_adam(self.plan.rate_at(update), update, state, gradient, each)
            with catch_warnings():
                simplefilter("ignore", DeprecationWarning)
                moved = jvp(grad(measure, has_aux=True), (state.weights,), (way,))[1]
            curved, moved_B = moved
            sought[number] = AdamState(each.weights + curved, mean, square)
            moved_B = moved_B - lengths_B * moved_B.sum() / tokens
            result_QN[number, batch.pairs] += moved_B / tokens


def pass_adam(
    rate: float, update: int, state: AdamState, gradient: Tensor, after: AdamState
) -> tuple[Tensor, Tensor, Tensor]:
    """Return derivatives by an update's gradient, and by Adam's means before it.

    state: before the update. after: derivatives by what came out of it.
    """
    one, two = (1 - beta ** (update + 1) for beta in BETAS)
    mean = BETAS[0] * state.mean + (1 - BETAS[0]) * gradient
    square = BETAS[1] * state.square + (1 - BETAS[1]) * gradient.square()
    root = (square / two).sqrt()
    below = root + EPSILON
    by_mean = after.mean - rate * after.weights / (one * below)
    bend = mean / one / below.square() / (2 * two * root)
    bend = bend.where(square > 0, 0.0)  # a weight that never had a gradient
    by_square = after.square + rate * after.weights * bend
    way = (1 - BETAS[0]) * by_mean + 2 * (1 - BETAS[1]) * gradient * by_square
    return way, BETAS[0] * by_mean, BETAS[1] * by_square

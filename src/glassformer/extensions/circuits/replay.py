"""A training that is followed back, so that it says exactly what each pair taught.

What would change if a pair had counted a little less in training? The derivative of a lead by the
weight of each pair is found by following the training back, update by update, from the last one
to the first: each says what its optimizer, its gradient, and the Hessian of its loss, hand on to
the one before (Maclaurin et al. 2015, "Gradient-based Hyperparameter Optimization through
Reversible Learning"; Ilyas and Engstrom 2025, "MAGIC: Near-Optimal Data Attribution for Deep
Learning"). Nothing is estimated; what is left is that leaving a pair out is not a little, but all
of its weight.

What must be remembered stands in the folder of the training (`run`): settings and seeds, from which
first weights, batches and dropout follow, and the text as token ids. The training is run again to
have its states; every few of them are kept, and those between are computed once more. Whether it is
the training of the model is seen at its end (`measure_gap`): a resumed one may have had other
settings or another text before, and a GPU or bf16 rounds otherwise.

Letters: B pairs of a batch; N all pairs; S source; T target positions; V vocabulary; Q leads.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from warnings import catch_warnings, simplefilter

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, jvp, vjp

from glassformer.config import PAD
from glassformer.data.batches import Batch
from glassformer.data.store import Store
from glassformer.engine.kernels.dropout import Dropout, DropoutStream
from glassformer.foundation.progress import Reporter
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.files.directory import CHECKPOINTS, RECORD, RUN, Tokenizers
from glassformer.train.plan.ideas import IDEAS
from glassformer.train.plan.plan import Plan
from glassformer.train.plan.preparation import find_separator, prepare_run
from glassformer.train.plan.run_folder import read_record, read_settings
from glassformer.train.plan.schedule import rate
from glassformer.train.run.checkpoint import checkpoints, read_progress
from glassformer.train.run.distributed import ALONE
from glassformer.train.run.loss import batch_loss
from glassformer.train.run.optimizer import MOMENTUM, SCALE, Muon, is_table, make_orthogonal
from glassformer.train.run.settle import settle
from glassformer.train.run.setup import Setup
from glassformer.train.run.updates import Updater

from .edges import WordContrast
from .teaching import TokenPair, Weights, add_end

TINY = 1e-30  # keeps the derivative of a square root at 0 finite
Tick = Callable[[int], object]


class TrainingState(NamedTuple):
    """The state of a training between two updates, or derivatives by each number of it."""

    weights: Weights
    moments: Weights  # of the optimizer: "exp_avg.NAME"
    average: Weights  # the moving average of the weights; {} without one


class TapedDropout(Dropout):
    """Dropout with masks that are drawn once, and then used as often as one likes."""

    def __init__(self, p: float, stream: DropoutStream, masks: list[Tensor]):
        super().__init__(p, stream)
        self.masks, self.is_drawing, self.at = masks, False, 0

    def forward(self, x: Tensor) -> Tensor:
        if not (self.training and self.p):
            return x
        if self.is_drawing:
            self.at = len(self.masks)
            self.masks.append(super().forward(torch.ones(x.shape)))
        return x * self.masks[self.at].to(x.dtype)


class Replay:
    """A training that can be run again, without some of its pairs, and followed back."""

    def __init__(self, setup: Setup, plan: Plan, updates: int):
        """`updates`: how many were made until the model was kept."""
        self.setup, self.plan, self.updates = setup, plan, updates
        setup.batches.share = plan.share
        self.updater: Updater = setup.make_updater()
        model = self.updater.model
        self.names = {p: name for name, p in model.named_parameters() if p.requires_grad}
        optimizer = self.updater.optimizer
        matrices = optimizer.param_groups[0]["params"] if isinstance(optimizer, Muon) else ()
        self.matrices = {self.names[p] for p in matrices}
        self.stream, self.masks = DropoutStream(), list[Tensor]()
        self.network, self.dropouts = self._copy(model)
        self.first = self._take_state()
        self.remembered: list[TrainingState] = []

    @classmethod
    def open(cls, model: Path) -> Replay:
        """Return the training of a model directory. ValueError, saying why, if it cannot be."""
        if why := find_obstacle(model):
            raise ValueError(f"{model}: {why}")
        report, device = Reporter(quiet=True), torch.device("cpu")
        prepared = prepare_run(model, report)
        setup, plan = settle(model, prepared, device, ALONE, report, time.perf_counter())
        if setup.loss is not batch_loss:
            raise ValueError(f"{model}: an idea of another paper is in its loss")
        last = read_progress(checkpoints(model / RUN / CHECKPOINTS)[-1])
        return cls(setup, plan, last.best_step)

    def _copy(self, model: EncoderDecoder) -> tuple[EncoderDecoder, list[TapedDropout]]:
        """Return the network as it is written, with dropout that repeats itself."""
        network, taped = copy.deepcopy(model).requires_grad_(False), list[TapedDropout]()
        for module in network.modules():
            for name, part in module.named_children():
                if type(part) is nn.Dropout:
                    taped.append(TapedDropout(part.p, self.stream, self.masks))
                    setattr(module, name, taped[-1])
        return network, taped

    @property
    def pairs(self) -> list[TokenPair]:
        """Return all pairs of the training as ids, with EOS."""
        prepared = self.setup.prepared
        return list_pairs(prepared.store, prepared.config.text.source_eos)

    def read_texts(self) -> list[tuple[str, str]]:
        """Return the text of all pairs."""
        prepared = self.setup.prepared
        separator = find_separator(prepared.config, prepared.tokenizers)
        return decode_pairs(prepared.store, prepared.tokenizers, separator)

    def train(self, left_out: Collection[int] = (), tick: Tick = lambda done: None) -> Weights:
        """Return the weights that are kept at the end of a training without some of its pairs."""
        last = self._run(0, self.first, self.updates, self.updates, left_out, tick)[-1]
        return last.average or last.weights

    def remember(self, tick: Tick = lambda done: None) -> Weights:
        """Train again, keeping some states on the way; return the weights at the end."""
        every = math.isqrt(self.updates - 1) + 1
        self.remembered = self._run(0, self.first, self.updates, every, tick=tick)
        return self.remembered[-1].average or self.remembered[-1].weights

    def measure_gap(self, weights: Weights, own: Mapping[str, Tensor]) -> float:
        """Return how far weights are from a model's own, in parts of the way that training went.

        0 if every bit is the same; infinite if they do not fit each other.
        """
        if any(name not in own or own[name].shape != x.shape for name, x in weights.items()):
            return math.inf
        apart = sum_squares(own[name] - x for name, x in weights.items())
        way = sum_squares(own[name] - x for name, x in self.first.weights.items())
        return math.sqrt(apart / max(way, TINY))

    def _run(
        self,
        first: int,
        state: TrainingState,
        last: int,
        every: int,
        left_out: Collection[int] = (),
        tick: Tick = lambda done: None,
    ) -> list[TrainingState]:
        """Return states before some of the updates from `first` to `last`, and the last state."""
        states = []
        self._put_state(state, first)
        for update in range(first, last):
            if (update - first) % every == 0:
                states.append(self._take_state())
            batches = self._deal(update + 1, left_out)
            self.updater.update(
                update + 1, self._rate(update + 1), batches, self._planned(update + 1)
            )
            tick(1)
        return [*states, self._take_state()]

    def _deal(self, step: int, left_out: Collection[int] = ()) -> list[Batch]:
        """Return the batches of an update, in which pairs that are left out have no target."""
        batches = self.setup.deal(step, self.updater)
        return [without(batch, left_out) for batch in batches] if left_out else batches

    def _rate(self, step: int) -> float:
        width = self.setup.config.model.d_model
        return rate(self.plan.position(step), self.setup.config.train, width, self.plan.planned)

    def _planned(self, step: int) -> float:
        return self.plan.position(step) - self.plan.position(step - 1)

    def _take_state(self) -> TrainingState:
        """Return a copy of the state of the training; an optimizer that did nothing has zeros."""
        updater, kept = self.updater, self.updater.optimizer.state
        weights = {name: p.detach().clone() for p, name in self.names.items()}
        moments = {}
        for p, name in self.names.items():
            keys = ("momentum",) if name in self.matrices else ("exp_avg", "exp_avg_sq")
            for key in keys:
                there = kept[p][key] if p in kept else torch.zeros_like(p)
                moments[f"{key}.{name}"] = there.detach().clone()
        average = dict(updater.averaged.named_parameters()) if updater.averaged else {}
        return TrainingState(
            weights, moments, {name: average[name].detach().clone() for name in weights if average}
        )

    def _put_state(self, state: TrainingState, step: int) -> None:
        """Go to a state after `step` updates."""
        updater = self.updater
        average = dict(updater.averaged.named_parameters()) if updater.averaged else {}
        updater.optimizer.state.clear()
        with torch.no_grad():
            for p, name in self.names.items():
                p.copy_(state.weights[name])
                if average:
                    average[name].copy_(state.average[name])
        for key, value in state.moments.items() if step else ():
            kind, _, name = key.partition(".")
            p = next(p for p, own in self.names.items() if own == name)
            updater.optimizer.state[p][kind] = value.clone()
            if kind == "exp_avg":
                updater.optimizer.state[p]["step"] = torch.tensor(float(step))

    def measure_lead(self, weights: Weights, contrast: WordContrast) -> Tensor:
        """Return the logit of a token less that of its rival."""
        logits_V = self.read_logits(weights, contrast)
        lead: Tensor = logits_V[contrast.answers[0]] - logits_V[contrast.answers[1]]
        return lead

    def read_logits(self, weights: Weights, contrast: WordContrast) -> Tensor:
        """Return the logits of a question, V."""
        sides = torch.tensor([contrast.source]), torch.tensor([contrast.given])
        logits_BTV: Tensor = functional_call(self.network.eval(), weights, sides)
        return logits_BTV[0, -1]

    def measure_losses(self, weights: Weights, batch: Batch) -> Tensor:
        """Return the loss of each pair of a batch, B, with the dropout of the latest draw."""
        smoothing = self.setup.config.train.label_smoothing
        source_BS, target_BT = map(torch.from_numpy, (batch.source_BS, batch.target_BT))
        sides = source_BS, target_BT[:, :-1]
        log_prob_BTV = functional_call(self.network.train(), weights, sides).log_softmax(-1)
        wanted_BT = target_BT[:, 1:]
        right_BT = log_prob_BTV.gather(-1, wanted_BT[..., None])[..., 0]
        loss_BT = (smoothing - 1) * right_BT - smoothing * log_prob_BTV.mean(-1)
        return loss_BT.where(wanted_BT != PAD, 0.0).sum(-1)

    def draw_dropout(self, weights: Weights, step: int, batch: Batch) -> None:
        """Draw the masks that dropout had in an update."""
        self.masks.clear()
        self.stream.seed(self.setup.config.train.seed, step, batch.number, part=batch.part)
        for each in self.dropouts:
            each.is_drawing = True
        with torch.no_grad():
            self.measure_losses(weights, batch)
        for each in self.dropouts:
            each.is_drawing = False

    def differentiate(
        self,
        weights: Weights,
        step: int,
        batches: Sequence[Batch],
        amount_N: Tensor | None = None,
    ) -> Weights:
        """Return the gradient of the mean loss of a token, each pair's loss times its amount."""
        total = {name: torch.zeros_like(x) for name, x in weights.items()}
        own = {name: x.detach().requires_grad_() for name, x in weights.items()}
        amounts = [_read_amounts(batch, amount_N) for batch in batches]
        tokens = sum(
            (amount_B * count_tokens(batch)).sum()
            for amount_B, batch in zip(amounts, batches, strict=True)
        )
        for amount_B, batch in zip(amounts, batches, strict=True):
            self.draw_dropout(weights, step, batch)
            with torch.enable_grad():
                loss = (self.measure_losses(own, batch) * amount_B).sum() / tokens
                grads = torch.autograd.grad(loss, [*own.values()], materialize_grads=True)
            for name, gradient in zip(own, grads, strict=True):
                total[name] += gradient
        return total

    def step(self, step: int, state: TrainingState, gradient: Weights) -> TrainingState:
        """Return the state after an update, as a function that can be differentiated."""
        train = self.setup.config.train
        clipped, speed = clip(gradient, train.max_grad_norm), self._rate(step)
        weights, moments = dict[str, Tensor](), dict[str, Tensor]()
        for name, weight in state.weights.items():
            own = speed * (train.embedding_lr_scale if is_table(name) else 1.0)
            change, new = self._find_change(step, name, state.moments, clipped[name])
            moments |= new
            weights[name] = weight * (1 - own * train.weight_decay) - own * change
        decay = find_decay(train.ema or 0.0, step, self._planned(step))
        average = {
            name: decay * x + (1 - decay) * weights[name] for name, x in state.average.items()
        }
        return TrainingState(weights, moments, average)

    def _find_change(
        self, step: int, name: str, moments: Weights, gradient: Tensor
    ) -> tuple[Tensor, Weights]:
        """Return the change of a weight at a rate of 1, and its new moments."""
        train = self.setup.config.train
        if name in self.matrices:
            key = f"momentum.{name}"
            momentum = moments[key] + (1 - MOMENTUM) * (gradient - moments[key])
            ahead = gradient + MOMENTUM * (momentum - gradient)
            longest = max(gradient.shape)
            return make_orthogonal(ahead[None])[0] * SCALE * longest**0.5, {key: momentum}
        keys = f"exp_avg.{name}", f"exp_avg_sq.{name}"
        mean = train.betas[0] * moments[keys[0]] + (1 - train.betas[0]) * gradient
        square = train.betas[1] * moments[keys[1]] + (1 - train.betas[1]) * gradient.square()
        one, two = (1 - beta**step for beta in train.betas)
        below = (square / two + TINY).sqrt() + train.epsilon
        return mean / one / below, dict(zip(keys, (mean, square), strict=True))

    def follow_back(
        self, contrasts: Sequence[WordContrast], tick: Tick = lambda done: None
    ) -> Tensor:
        """Return the derivative of each lead after training by the amount of each pair, Q N."""
        if not self.remembered:
            self.remember()
        every, end = math.isqrt(self.updates - 1) + 1, self.remembered[-1]
        sought = [self._differentiate_lead(end, each) for each in contrasts]
        result_QN = torch.zeros(len(contrasts), len(self.setup.prepared.store))
        for part in reversed(range(len(self.remembered) - 1)):
            first = part * every
            last = min(first + every, self.updates)
            states = self._run(first, self.remembered[part], last, 1)
            for update in reversed(range(first, last)):
                self.step_back(update + 1, states[update - first], sought, result_QN)
                tick(1)
        return result_QN

    def _differentiate_lead(self, end: TrainingState, contrast: WordContrast) -> TrainingState:
        """Return the derivative of a lead by the last state."""
        gradient: Weights = grad(lambda own: self.measure_lead(own, contrast))(
            end.average or end.weights
        )
        nothing = {name: torch.zeros_like(x) for name, x in end.weights.items()}
        moments = {name: torch.zeros_like(x) for name, x in end.moments.items()}
        return TrainingState(
            *((nothing, moments, gradient) if end.average else (gradient, moments, {}))
        )

    def step_back(
        self, step: int, state: TrainingState, sought: list[TrainingState], result_QN: Tensor
    ) -> None:
        """Turn derivatives by what an update gave into those by what it got, and by its pairs."""
        batches = self._deal(step)
        gradient = self.differentiate(state.weights, step, batches)
        pull = vjp(lambda *before: self.step(step, *before), state, gradient)[1]
        tokens = sum(float(count_tokens(batch).sum()) for batch in batches)
        directions = []
        for number, each in enumerate(sought):
            sought[number], direction = pull(each)
            directions.append(direction)
        for batch in batches:
            self.draw_dropout(state.weights, step, batch)
            for number, direction in enumerate(directions):
                curved, moved_B = self._bend(state.weights, direction, batch, tokens)
                for name, more in curved.items():
                    sought[number].weights[name] += more
                result_QN[number] += scatter(moved_B / tokens, batch, result_QN.size(1))
        for number, direction in enumerate(
            directions
        ):  # a pair that counts less lets others count more
            along = sum(float((gradient[name] * direction[name]).sum()) for name in direction)
            for batch in batches:
                share_B = count_tokens(batch) * along / tokens
                result_QN[number] -= scatter(share_B, batch, result_QN.size(1))

    def _bend(
        self, weights: Weights, direction: Weights, batch: Batch, tokens: float
    ) -> tuple[Weights, Tensor]:
        """Return how the gradient of a batch, and the loss of each pair, change along it."""

        def measure(own: Weights) -> tuple[Tensor, Tensor]:
            losses_B = self.measure_losses(own, batch)
            return losses_B.sum() / tokens, losses_B

        with catch_warnings():  # PyTorch's forward derivatives use what it calls deprecated itself
            simplefilter("ignore", DeprecationWarning)
            result: tuple[Weights, Tensor] = jvp(
                grad(measure, has_aux=True), (weights,), (direction,)
            )[1]
        return result


def find_obstacle(model: Path) -> str:
    """Return why the training of a model cannot be followed back; "" if it can."""
    folder = model / RUN
    if not (folder / RECORD).is_file() or not checkpoints(folder / CHECKPOINTS):
        return f"it has no folder {RUN}, in which a training remembers its text and seeds"
    config = read_settings(folder, read_record(model))
    train, progress = config.train, read_progress(checkpoints(folder / CHECKPOINTS)[-1])
    idea = next((name for name in IDEAS if getattr(train, name, 0)), "")
    is_other = config.model.network != "transformer" or config.model.decoder != "attention"
    reasons = {
        "its network is no Transformer with attention": is_other,
        "it was trained with a plugin": train.plugin,
        "it was trained with train.lora_rank": train.lora_rank,
        "it was trained with train.rdrop_alpha": train.rdrop_alpha,
        f"it was trained with train.{idea}": idea,
        "its learning rate followed the validation loss": train.schedule == "plateau",
        "its training diverged on the way": progress.rate_factor != 1 or progress.skipped_in_all,
        "no model was kept yet": not progress.best_step,
    }
    return next((why for why, is_so in reasons.items() if is_so), "")


def list_pairs(store: Store, has_end: bool) -> list[TokenPair]:
    """Return all pairs of a training as ids, with EOS; has_end: whether sources have it."""
    sides = ((store.source(n, 0), store.target(n, 0)) for n in range(len(store)))
    return [TokenPair(add_end(s.tolist(), has_end), add_end(t.tolist())) for s, t in sides]


def decode_pairs(
    store: Store, tokenizers: Tokenizers, separator: int | None
) -> list[tuple[str, str]]:
    """Return the text of all pairs of a training, without context; see `Store.own_lengths`."""
    numbers, own = range(len(store)), store.own_lengths(separator)
    sources = tokenizers.source.decode_many(store.source(n, 0)[-own[n] :].tolist() for n in numbers)
    targets = tokenizers.target.decode_many(store.target(n, 0).tolist() for n in numbers)
    return [*zip(sources, targets, strict=True)]


def find_decay(ema: float, step: int, planned: float) -> float:
    """Return the decay of the moving average at an update, as `Updater` has it."""
    return min(ema, (1 + step) / (10 + step)) ** planned


def without(batch: Batch, left_out: Collection[int]) -> Batch:
    """Return a batch in which some pairs have no target; the places of the others stay."""
    target_BT = batch.target_BT.copy()
    target_BT[[row in left_out for row in batch.rows.tolist()], 1:] = PAD
    return replace(batch, target_BT=target_BT)


def count_tokens(batch: Batch) -> Tensor:
    """Return the target tokens of each pair, B."""
    return torch.from_numpy((batch.target_BT[:, 1:] != PAD).sum(1))


def scatter(value_B: Tensor, batch: Batch, count: int) -> Tensor:
    """Return values of the pairs of a batch at their numbers among all; a pair may come twice."""
    return torch.zeros(count).index_add(0, torch.from_numpy(batch.rows), value_B.float())


def clip(gradient: Weights, most: float | None) -> Weights:
    """Return a gradient whose length is at most so much."""
    if not most:
        return gradient
    norm = torch.stack([x.square().sum() for x in gradient.values()]).sum().sqrt()
    share = most / (norm + 1e-6) if norm.item() > most else torch.ones(())
    return {name: x * share for name, x in gradient.items()}


def sum_squares(tensors: Iterable[Tensor]) -> float:
    """Return the sum of all squares, in double precision."""
    return sum(float(x.detach().cpu().double().square().sum()) for x in tensors)


def _read_amounts(batch: Batch, amount_N: Tensor | None) -> Tensor:
    rows = torch.from_numpy(batch.rows)
    return torch.ones(len(rows)) if amount_N is None else amount_N[rows]

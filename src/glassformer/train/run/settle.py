"""All that is decided before the first update: once, and written down once.

`preparation` has chosen what depends on the corpus. Here follow the padding, and with minutes the
number of updates, which is measured, with the warm-up and the moving average that depend on it. A
resumed training takes all of it from run/config.toml and run/plan.json, and so gets the same
batches, rates and weights.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import torch

from ...config import Config, Model
from ...data.batches import FEW_SHAPES, Batch, Batches
from ...data.masking import choose_batches
from ...engine.kernels.tiles import has_tiles
from ...foundation.disk import write_text
from ...foundation.machine.device import choose_precision
from ...foundation.plurals import say_count
from ...foundation.progress import Reporter
from ...foundation.shared_library import load_library
from ...model.encoder_decoder import EncoderDecoder
from ...model.files.directory import CHECKPOINTS, CONFIG, RUN, build_model
from ...translator import Translator
from ..ideas.hooks import NONE, Hooks, Loss
from ..plan import plan as planning
from ..plan.auto import MOST_MINUTES, choose_again, count_passes
from ..plan.init_from import freeze, load_initial_weights, load_parts
from ..plan.plan import PLAN, SAMPLE, Costs, Plan, PlanLimits
from ..plan.preparation import Prepared, weigh_parts
from . import validation
from .batch_fit import fit_batch
from .checkpoint import checkpoints
from .distributed import ProcessGroup
from .lora import adapt
from .meter import time_updates
from .micro_batching import MicroBatching
from .objective import choose_loss
from .selection import ENOUGH_TO_CHOOSE
from .updates import Updater
from .validation import Validation, spread_sample

DEFAULT_MINUTES = 20.0
MEASURING = 1 / 40  # of the minutes


@dataclass(frozen=True)
class Setup:
    """A training ready to begin: its text, settings, batches and machine."""

    out: Path
    prepared: Prepared
    config: Config
    device: torch.device
    precision: str
    group: ProcessGroup
    report: Reporter
    batches: Batches
    micro_batching: MicroBatching = field(default_factory=MicroBatching)
    hooks: Hooks = NONE

    @property
    def folder(self) -> Path:
        return self.out / RUN

    @property
    def exact(self) -> str:
        """Return the precision of validation: nothing translates in fp16."""
        return "fp32" if self.precision == "fp16" else self.precision

    @property
    def chosen(self) -> Collection[str]:
        """Return the names of the settings that auto chose."""
        found: Collection[str] = self.prepared.record.get("chosen", ())
        return found

    @property
    def has_parent(self) -> bool:
        return "parent" in self.prepared.record

    def make_updater(self) -> Updater:
        """Return an updater of a fresh model, made by the seed or from the initial model."""
        train, tokenizers = self.config.train, self.prepared.tokenizers
        torch.manual_seed(train.seed)
        model = build_model(self.config, tokenizers)
        load_initial_weights(model, self.folder, tokenizers)
        for said in load_parts(model, self.folder):
            self.report.say_once(f"Weights: {said}")
        freeze(model, train.freeze)
        if train.lora_rank:
            adapt(model)
        how = self.device, self.precision, self.group, self.micro_batching, self.report.say_once
        return Updater(model, train, *how, loss=self.loss)

    @cached_property
    def loss(self) -> Loss:
        """Return what is minimized."""
        tokenizers = self.prepared.tokenizers
        return choose_loss(self.config, self.hooks, self.folder, tokenizers, self.device)

    def probe(self, updater: Updater) -> None:
        """Try the batches that need most memory first: if memory suffices, it does for all."""
        shares = max(1, self.group.size // self.config.train.gradient_accumulation)
        updater.probe([batch.cut(shares)[-1] for batch in self.batches.worst()])

    def deal(self, step: int, updater: Updater) -> list[Batch]:
        """Return this process's micro-batches of update `step`, counted from 1."""
        accumulated = self.config.train.gradient_accumulation
        return self.group.deal(self.batches, step - 1, accumulated, updater.is_sharded)

    def validate(self, model: EncoderDecoder, sentences: int, turn: int) -> Validation:
        """Score a model on so many sentences of the validation text."""
        with self.report.counting("validating", sentences) as count:
            return validation.validate(
                model,
                self.config,
                self.prepared.tokenizers,
                spread_sample(self.prepared.valid, sentences, self.prepared.groups),
                device=str(self.device),
                precision=self.exact,
                turn=turn,
                progress=count,
                group=self.group,
                most_extra=None if self.config.train.steps else self.prepared.usual_extra,
            )

    def make_translator(self, model: EncoderDecoder) -> Translator:
        """Return a translator with a model of this training, as it is."""
        device, precision = str(self.device), self.exact
        tokenizers, first = self.prepared.tokenizers, self.prepared.groups[0]
        config = self.config.narrow(first.pair)
        return Translator(config, tokenizers, model, device=device, precision=precision)

    def tell_contributions(self, step: int) -> dict[str, int]:
        """Return how many pairs of each of several corpora were read up to update `step`."""
        names = [name for name, _ in self.prepared.store.parts]
        if len(names) == 1:
            return {}
        counts = self.batches.count_pairs(step, self.config.train.gradient_accumulation)
        return dict(zip(names, counts, strict=True))

    def say_beginning(self, updater: Updater, steps: int, can_choose: bool) -> None:
        """Report what is about to be trained, and whether a best model can be chosen."""
        if not can_choose:
            self.report.say(
                f"Only {say_count(len(self.prepared.valid[0]), 'pair')} to validate on: under "
                f"{ENOUGH_TO_CHOOSE}, chance would choose the best model, so the last one is kept"
            )
        is_said = self.config.train.minutes is not None  # with how many minutes are enough
        if few := "" if is_said else planning.describe_few(steps, self.has_parent):
            self.report.say(few)
        shared = f", {self.group.size} processes" if self.group.size > 1 else ""
        batches = self.batches.count(0)
        self.report.say(
            f"{sum(p.numel() for p in updater.model.parameters()):,} parameters, "
            f"{batches:,} batch{'es' * (batches != 1)} an epoch, {say_count(steps, 'update')}, "
            f"{self.device} {self.precision}{shared}"
        )


def settle(
    out: Path,
    prepared: Prepared,
    device: torch.device,
    group: ProcessGroup,
    report: Reporter,
    began: float,
    hooks: Hooks = NONE,
) -> tuple[Setup, Plan]:
    """Decide what is still open, and write it down; `began`: the time from which minutes count."""
    precision = choose_precision(prepared.config.train.precision, device)
    config = settle_padding(prepared.config, device, precision, group)
    weights = weigh_parts(config, prepared.store)
    sides = prepared.tokenizers.source, prepared.tokenizers.target

    def make(config: Config) -> Setup:
        batches = choose_batches(config, prepared.store, sides, weights)
        return Setup(out, prepared, config, device, precision, group, report, batches, hooks=hooks)

    if config.train.fit_batch:
        config = fit_batch(config, make)
    setup = make(config)
    config = settle_epochs(config, setup.batches, report, setup.chosen)
    setup = replace(setup, config=config)
    limits = _set_limits(setup)
    found = planning.read_plan(setup.folder, limits) if limits.seconds else None
    if config.train.steps:
        plan = Plan.of_steps(config.train.steps, limits)
    elif found:
        plan = found
    else:
        plan = _measure_plan(setup, limits, began)
        if plan.limits != limits:
            config = config.changed(train={"minutes": (plan.limits.seconds or 0.0) / 60})
        config = choose_again(config, plan.planned, setup.chosen)
        setup, limits = replace(setup, config=config), plan.limits
    path = setup.folder / CONFIG
    if group.is_first and not (path.is_file() and Config.load(path) == config):
        write_text(path, config.to_toml())
    if group.is_first and limits.seconds and not found:
        planning.write_plan(setup.folder, plan)
    return setup, plan


def settle_epochs(
    config: Config, batches: Batches, report: Reporter, chosen: Collection[str]
) -> Config:
    """Return the settings with epochs turned into updates, with a validation after each epoch."""
    train = config.train
    if train.epochs is None:
        return config
    steps = batches.count_updates(train.epochs, train.gradient_accumulation)
    every = train.validate_every or min(
        steps, batches.count_updates(1, train.gradient_accumulation)
    )
    epochs = f"{train.epochs:g} epoch{'s' * (train.epochs != 1)}"
    updates = say_count(steps, "update")
    report.say(f"{epochs}: {updates}, with a validation every {every:,}")
    found = config.changed(train={"epochs": None, "steps": steps, "validate_every": every})
    return choose_again(found, steps, chosen)


def settle_padding(
    config: Config, device: torch.device, precision: str, group: ProcessGroup
) -> Config:
    """Return the settings with `pad_to` chosen; the first process of a group chooses for all."""
    if config.train.pad_to is not None:
        return config
    own = choose_padding(config.model, device, precision) if group.is_first else 0
    return config.changed(train={"pad_to": int(group.sum(own)[0])})


def choose_padding(model: Model, device: torch.device, precision: str) -> int:
    """Return a multiple for lengths: 1 if products need no preparation for each shape.

    They need none with our kernels in C on tiles, and in fp32 with MKL; else it is FEW_SHAPES.
    """
    if device.type != "cpu":
        return FEW_SHAPES
    is_in_c = precision == "bf16" and has_tiles() and model.activation == "relu"
    is_by_mkl = precision == "fp32" and torch.backends.mkl.is_available()
    return 1 if is_in_c or is_by_mkl else FEW_SHAPES


def _set_limits(setup: Setup) -> PlanLimits:
    train = setup.config.train
    return PlanLimits(
        seconds=None if train.steps else (train.minutes or DEFAULT_MINUTES) * 60,
        valid=len(setup.prepared.valid[0]),
        validate_every=train.validate_every,
        has_parent=setup.has_parent,
    )


def _measure_plan(setup: Setup, limits: PlanLimits, began: float) -> Plan:
    """Turn minutes into a first number of updates, by measuring some on a model of its own."""
    assert limits.seconds is not None
    if checkpoints(setup.folder / CHECKPOINTS):
        raise ValueError(f"{setup.folder / PLAN} is missing: begin anew, in another folder")
    updater, clock = setup.make_updater(), setup.group.clock
    setup.probe(updater)
    load_library("engine")  # if it has to be built, then outside what is measured

    def deal(step: int) -> Sequence[Batch]:
        return setup.deal(step, updater)

    update = time_updates(updater, deal, setup.report, limits.seconds * MEASURING, clock)
    start = clock()
    found = setup.validate(updater.best_model, min(SAMPLE, limits.valid), 0)
    pause = clock() - start  # also the first guess for the costs that were not measured
    costs = Costs(update, pause / found.sentences, pause, pause)
    spent = clock() - began
    plan = _extend(setup, planning.begin(limits, spent, costs), spent, costs)
    train = choose_again(setup.config, plan.planned, setup.chosen).train
    setup.report.say(planning.describe_start(plan, spent, train))
    return plan


def _extend(setup: Setup, plan: Plan, spent: float, costs: Costs) -> Plan:
    """Return the plan with more minutes if auto chose too few: it only estimates the speed."""
    if "train.minutes" not in setup.chosen:
        return plan
    chosen = minutes = setup.config.train.minutes or DEFAULT_MINUTES
    passes = count_passes(sum(counts.kept for _, counts in setup.prepared.store.parts))
    wanted = setup.batches.count_updates(passes, setup.config.train.gradient_accumulation)
    while plan.planned < wanted and minutes < MOST_MINUTES:
        minutes = min(math.ceil(1.1 * minutes), MOST_MINUTES)
        plan = planning.begin(replace(plan.limits, seconds=minutes * 60), spent, costs)
    if minutes > chosen:
        setup.report.say(
            f"This machine is slower at present than was estimated: train.minutes={minutes:g} "
            f"instead of {chosen:g}, for {passes:.0f} passes over the pairs"
        )
    return plan

"""A training ready to begin: what was prepared and decided, and what is made of it."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import torch

from ...config import Config
from ...data.batches import Batch, Batches
from ...foundation.extensions import find_addition
from ...foundation.plurals import tell_count
from ...foundation.progress import Reporter
from ...model.encoder_decoder import EncoderDecoder
from ...model.files.directory import RUN, build_model
from ...translator import Translator
from ..plan import plan as planning
from ..plan.hooks import NONE, Hooks, Loss
from ..plan.ideas import find_ideas
from ..plan.init_from import freeze
from ..plan.preparation import PreparedRun
from . import validation
from .distributed import ProcessGroup
from .lora import adapt
from .loss import batch_loss
from .micro_batching import MicroBatching
from .selection import ENOUGH_TO_CHOOSE
from .updates import Updater
from .validation import Validation, spread_sample


@dataclass(frozen=True)
class Setup:
    """A training ready to begin: its text, settings, batches and machine."""

    out: Path
    prepared: PreparedRun
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
        entry: Collection[str] = self.prepared.record.get("chosen", ())
        return entry

    @property
    def has_parent(self) -> bool:
        return "parent" in self.prepared.record

    def make_updater(self) -> Updater:
        """Return an updater of a fresh model, made by the seed or from the initial model."""
        train, tokenizers = self.config.train, self.prepared.tokenizers
        torch.manual_seed(train.seed)
        model = build_model(self.config, tokenizers)
        for part in self.prepared.initial.copy_to(model, tokenizers):
            self.report.say_once(f"Weights: {part}")
        freeze(model, train.freeze)
        if train.lora_rank:
            adapt(model)
        place, fitting = (self.device, self.precision, self.group), self.micro_batching
        return Updater(model, train, *place, fitting, self.report.say_once, self.loss)

    @cached_property
    def loss(self) -> Loss:
        """Return what is minimized: our loss or that of a plugin, with what ideas add to it."""
        loss: Loss = self.hooks.loss or batch_loss
        for idea in find_ideas(self.config, {}):  # those with a weight
            loss = idea.extend_loss(loss, self.folder, self.prepared.tokenizers, self.device)
        return loss

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

    def count_contributions(self, step: int) -> dict[str, int]:
        """Return how many pairs of each of several corpora were read up to update `step`."""
        names = [name for name, _ in self.prepared.store.parts]
        if len(names) == 1:
            return {}
        count = find_addition("count_staged") if self.batches.stages else None
        counts = (count or Batches.count_pairs)(
            self.batches, step, self.config.train.gradient_accumulation
        )
        return dict(zip(names, counts, strict=True))

    def say_beginning(self, updater: Updater, steps: int, can_choose: bool) -> None:
        """Report what is about to be trained, and whether a best model can be chosen."""
        if not can_choose:
            self.report.say(
                f"Only {tell_count(len(self.prepared.valid[0]), 'pair')} to validate on: under "
                f"{ENOUGH_TO_CHOOSE}, chance would choose the best model, so the last one is kept"
            )
        is_said = self.config.train.minutes is not None  # with how many minutes are enough
        if few := "" if is_said else planning.tell_few(steps, self.has_parent):
            self.report.say(few)
        shared = f", {self.group.size} processes" if self.group.size > 1 else ""
        batches = self.batches.count(0)
        self.report.say(
            f"{sum(p.numel() for p in updater.model.parameters()):,} parameters, "
            f"{batches:,} batch{'es' * (batches != 1)} an epoch, {tell_count(steps, 'update')}, "
            f"{self.device} {self.precision}{shared}"
        )

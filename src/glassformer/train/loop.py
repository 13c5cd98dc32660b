"""The training loop: read it from `Loop.run` on."""

from __future__ import annotations

import math
import time
from functools import cache
from pathlib import Path
from typing import Any

import torch

from ..data.batches import Batch
from ..device import choose_precision, free_memory, keep_memory
from ..directory import CONFIG, build_model, write_text
from ..translator import Translator
from . import checkpoint, recovery
from .auto import choose_again
from .checkpoint import Progress
from .distributed import ALONE, ProcessGroup
from .divergence import DivergenceDetector
from .goal import Goal
from .golden import make_golden
from .init_from import adopt, freeze
from .journal import Journal
from .log import Reporter
from .machine import limit_memory
from .meter import Meter
from .micro_batching import MicroBatching
from .padding import make_batches, settle_padding
from .plan import (
    PLAN,
    SAMPLE,
    Costs,
    Plan,
    PlanLimits,
    begin,
    describe_start,
    read_plan,
    settle_again,
    write_plan,
)
from .preparation import CHECKPOINTS, RUN, Prepared
from .resuming import sign_learning
from .schedule import rate
from .signals import listen_for_stop
from .standing import go_to
from .throughput import time_updates
from .updates import Outcome, Updater
from .validation import Validation, spread_sample, validate

DEFAULT_MINUTES = 20.0
LOG_EVERY = 20  # updates
MEASURING = 1 / 40  # of the minutes
NOTABLE = 0.25  # the least relative change in the number of updates that is reported
ENOUGH_TO_CHOOSE = 100  # sentences of the validation text: with fewer, chance would choose


class Loop:
    """The training loop, from the latest checkpoint, if any, to the end.

    Each process of a group runs it and makes the same decisions; only the first one writes.
    """

    def __init__(
        self,
        out: Path,
        prepared: Prepared,
        report: Reporter,
        device: str,
        group: ProcessGroup = ALONE,
        began: float | None = None,
        goal: Goal | None = None,
    ):
        """Set up the loop; `began` is the time.perf_counter() from which minutes count, or now."""
        now = time.perf_counter()
        self.began = group.sum((now if began is None else began) if group.is_first else 0.0)[0]
        self.out, self.folder, self.report, self.group = out, out / RUN, report, group
        self.say_once = cache(report.say)
        self.goal = goal
        self.prepared, self.device = prepared, group.choose_device(device)
        keep_memory()
        self.precision = choose_precision(prepared.config.train.precision, self.device)
        given = prepared.config, self.device, self.precision, group
        self.config = settle_padding(self.folder, *given)
        self.batches, self.room = make_batches(self.config.train, prepared.store), MicroBatching()
        self.updater = self._fresh()
        self.progress = Progress()
        self.spent_before = 0.0  # seconds, until this process took over
        self.can_choose = len(prepared.valid[0]) >= ENOUGH_TO_CHOOSE
        self.culprits: list[dict[str, Any]] = []  # pairs without a finite loss, of the latest skip
        self.stopped = self.is_asked_to_stop = False

    def run(self) -> Progress:
        """Train until the last step, early stopping or a signal; return the progress."""
        self._go_on_from_checkpoint()
        self.spent_before = self.progress.spent
        if not self.can_choose:
            self.report.say(
                f"Only {len(self.prepared.valid[0])} pairs to validate on: under "
                f"{ENOUGH_TO_CHOOSE}, chance would choose the best model, so the last one is kept"
            )
        with limit_memory(self.device, self.group.local_size):
            self._probe()
            self._settle_plan()
            progress = self._train()
        free_memory()  # for the translations that follow
        return progress

    def _train(self) -> Progress:
        journal = self.journal = Journal(self.out, self.prepared, self.config, self.group)
        journal.open(self.progress.step, self.plan)
        journal.look(self.progress.step, self.updater)
        if self._has_parent and not self.progress.step:
            self._validate()  # the scores of the initial model, for comparison
        with listen_for_stop(self._stop), self.report.phase("training", self.steps) as advance:
            while self.progress.step < self.steps and not (self.stopped or self._is_over()):
                step = self.progress.step + 1
                with self.meter.update(), journal.watch.listen(step, self.updater) as norms:
                    outcome = self._update()
                if self.progress.step < step:  # gone back
                    continue
                self._settle_again(step)  # first, since the rest needs the number of updates
                journal.note(step, norms, outcome.gradient_norm)
                if step % LOG_EVERY == 0 or step == self.steps:
                    journal.write(step, self._values(outcome))
                advance(step, self.steps, note=f"loss {outcome.loss:.3f}")
                self._pause(step, outcome)
                self.stopped = bool(self.group.sum(self.is_asked_to_stop)[0])
        self._save()
        return self.progress

    def _pause(self, step: int, outcome: Outcome) -> None:
        """Make a snapshot, a validation and a checkpoint between two updates, as each is due."""
        every, is_validated = self.config.train.checkpoint_every, self.plan.is_validated(step)
        is_validated |= self._has_time_run_out(outcome)
        with self.meter.pause(is_validated):
            self.journal.look(step, self.updater)
            if is_validated:
                self._validate()
            if self.progress.step < step:  # gone back
                return
            if step % every == 0 if every else is_validated:
                self._save()

    def _save(self) -> None:
        self.progress.spent = self._spent()
        self.journal.save(self.progress, self.updater, self.progress.step == self.steps)

    @property
    def steps(self) -> int:
        """Return the number of updates in all, by the latest plan."""
        return self.plan.at(self.progress.step).steps

    @property
    def _has_parent(self) -> bool:
        return "parent" in self.prepared.record

    def _spent(self) -> float:
        """Return the seconds of training so far, without the time while it was stopped."""
        return self.spent_before + self.group.clock() - self.began

    def _fresh(self) -> Updater:
        """Return an updater of a fresh model, made by the seed or from the initial model."""
        torch.manual_seed(self.config.train.seed)
        model = build_model(self.config, self.prepared.tokenizers)
        adopt(model, self.folder, self.prepared.tokenizers)
        freeze(model, self.config.train.freeze)
        how = self.device, self.precision, self.group, self.room, self.say_once
        return Updater(model, self.config.train, *how)

    def _go_on_from_checkpoint(self) -> None:
        found = checkpoint.checkpoints(self.folder / CHECKPOINTS)
        if found:
            self.progress = go_to(found[-1], self.updater)
            self.room.most_cells = self.progress.most_cells
            self.report.say(f"Going on after update {self.progress.step:,}")
        key = sign_learning(self.config, self.prepared.record)
        recovery.recall_return(self.folder, self.progress, key)
        if self.progress.detector.about != key:  # losses of other data or settings do not compare
            uniform = math.log(len(self.prepared.tokenizers.target))
            self.progress.detector = DivergenceDetector(uniform, key)

    def _probe(self) -> None:
        """Try the batches that need most memory first: if memory suffices, it does for all."""
        shares = max(1, self.group.size // self.config.train.gradient_accumulation)
        self.updater.probe([batch.cut(shares)[-1] for batch in self.batches.worst()])
        self._say_room()

    def _say_room(self) -> None:
        """Report once that batches are split to fit into memory, and note it in the progress."""
        most, progress = self.room.most_cells, self.progress
        if most and most != progress.most_cells:
            progress.most_cells = most
            self.report.say(self.room.describe(progress.step + 1))

    def _settle_plan(self) -> None:
        """Set the plan of updates: as given, as written before, or as the minutes allow."""
        train = self.config.train
        minutes = None if train.steps else train.minutes or DEFAULT_MINUTES
        limits = PlanLimits(
            seconds=minutes and minutes * 60,
            valid=len(self.prepared.valid[0]),
            validate_every=train.validate_every,
            has_parent=self._has_parent,
        )
        if minutes is None:
            assert train.steps
            self.plan = Plan.of_steps(train.steps, limits)
        else:
            self.plan = read_plan(self.folder, limits) or self._make_plan(limits)
        self.meter = Meter(self.plan.latest.costs, self.group.clock)
        self.told_steps = self.steps
        self._say_size()

    def _make_plan(self, limits: PlanLimits) -> Plan:
        """Turn minutes into a first number of updates, and write it down."""
        assert limits.seconds is not None
        if self.progress.step:
            raise ValueError(f"{self.folder / PLAN} is missing: begin anew, in another folder")
        most, clock = limits.seconds * MEASURING, self.group.clock
        update = time_updates(self.updater, self._deal, self.report, most, clock)
        began = clock()
        found = self._translate_sample(min(SAMPLE, limits.valid), 0)
        pause = clock() - began  # also the first guess for the costs that were not measured
        self.updater = self._fresh()
        costs = Costs(update, pause / found.sentences, pause, pause)
        plan = begin(limits, self._spent(), costs)
        chosen = self.prepared.record.get("chosen", ())
        self.config = choose_again(self.config, plan.planned, chosen)
        if self.group.is_first:
            write_text(self.folder / CONFIG, self.config.to_toml())
            write_plan(self.folder, plan)
        self.report.say(describe_start(plan, self._spent(), self.config.train))
        return plan

    def _settle_again(self, step: int) -> None:
        """Plan the rest of the updates again, if the plan says that this is due."""
        limits = self.plan.limits
        if limits.seconds is None or not self.plan.is_due(step):
            return
        left = limits.seconds - self._spent()
        costs = self.meter.read()
        self.plan.add(settle_again(self.plan, step, left, costs))
        if self.group.is_first:
            write_plan(self.folder, self.plan)
        self.journal.follow(self.plan)
        if abs(self.steps - self.told_steps) > NOTABLE * self.told_steps:
            was, self.told_steps = self.told_steps, self.steps
            self.report.say(
                f"Update {step:,}: {costs.update:.3f} s an update by now: "
                f"{self.steps:,} updates instead of {was:,}"
            )

    def _say_size(self) -> None:
        shared = f", {self.group.size} processes" if self.group.size > 1 else ""
        self.report.say(
            f"{sum(p.numel() for p in self.updater.model.parameters()):,} parameters, "
            f"{self.batches.count(0):,} batches an epoch, {self.steps:,} updates, "
            f"{self.device} {self.precision}{shared}"
        )

    def _deal(self, step: int) -> list[Batch]:
        """Return this process's micro-batches of update `step`, counted from 1."""
        gradient_accumulation = self.config.train.gradient_accumulation
        return self.group.deal(
            self.batches, step - 1, gradient_accumulation, self.updater.is_sharded
        )

    def _update(self) -> Outcome:
        progress, began_cpu = self.progress, time.process_time()
        step = progress.step + 1
        batches = self._deal(step)
        planned = self.plan.position(step) - self.plan.position(step - 1)
        outcome = self.updater.update(step, self._rate(step), batches, planned)
        progress.step = step
        progress.source_tokens += outcome.source_tokens
        progress.target_tokens += outcome.target_tokens
        progress.seconds += outcome.seconds
        progress.cpu_seconds += self.group.sum(time.process_time() - began_cpu)[0]
        self._say_room()
        if outcome.is_finite:
            progress.skipped = 0
        else:
            self._skip(batches)
        self._watch_for_divergence(outcome)
        return outcome

    def _watch_for_divergence(self, outcome: Outcome) -> None:
        """Go back if the training has diverged, or if it ends without a model and may have."""
        progress = self.progress
        why = progress.detector.observe(outcome.loss if outcome.is_finite else math.nan)
        ends_without = progress.step == self.steps and progress.best is None
        if not why and ends_without and progress.detector.is_blown_up:
            why = f"its last update has a loss of {outcome.loss:,.4g}"
        if why:
            self._go_back(why)

    def _skip(self, batches: list[Batch]) -> None:
        """Count an update that was left out, having no finite gradient; report the first."""
        progress, tokenizers = self.progress, self.prepared.tokenizers
        progress.skipped += 1
        progress.skipped_in_all += 1
        if progress.skipped == 1:
            found = recovery.find_culprits(self.updater, progress.step, batches, tokenizers)
            self.report.say(recovery.tell_culprits(progress.step, found))
            self.journal.write(progress.step, {"not finite": True, "pairs": found})
            self.culprits = found

    def _go_back(self, why: str) -> None:
        """Return to the latest checkpoint and continue with a lower learning rate.

        ValueError if this was done TRIES times before.
        """
        wrong, config = self.progress, self.config
        if wrong.goings_back >= recovery.TRIES:
            shape = config.model.d_model
            raise ValueError(
                recovery.explain_divergence(wrong, why, self.culprits, config.train, shape)
            )
        self.updater, self.progress = self._fresh(), Progress()
        self._go_on_from_checkpoint()
        recovery.learn_from(wrong, self.progress)
        if self.group.is_first:
            recovery.note_return(self.folder, self.progress, self.progress.detector.about)
        self.report.say(recovery.tell_return(wrong, self.progress, why))
        self.journal.open(self.progress.step, self.plan)
        self.journal.write(self.progress.step, {"diverged": why, **self.progress.troubles()})

    def _rate(self, step: int) -> float:
        plan, width = self.plan, self.config.model.d_model
        found = rate(plan.position(step), self.config.train, width, plan.planned)
        return found * self.progress.rate_factor

    def _values(self, outcome: Outcome) -> dict[str, Any]:
        progress = self.progress
        return {
            "loss": outcome.loss,
            "gradient_norm": outcome.gradient_norm,
            "rate": self._rate(progress.step),
            "tokens_per_second": (outcome.source_tokens + outcome.target_tokens) / outcome.seconds,
            "cpu_seconds": progress.cpu_seconds,
            **progress.troubles(),
        }

    def _translate_sample(self, sentences: int, turn: int) -> Validation:
        """Score the model on so many sentences of the validation text."""
        with self.report.counting("validating", sentences) as count:
            return validate(
                self.updater.best_model,
                self.config,
                self.prepared.tokenizers,
                spread_sample(self.prepared.valid, sentences),
                device=str(self.device),
                precision=self.precision,
                turn=turn,
                progress=count,
                group=self.group,
                most_extra=None if self.config.train.steps else self.prepared.usual_extra,
            )

    def _validate(self) -> None:
        """Score the model on the validation text, and keep it if it is the best so far."""
        progress, train = self.progress, self.config.train
        sentences = self.plan.sentences(progress.step)
        with self.meter.validation(sentences):
            found = self._translate_sample(sentences, progress.step)
        if not found.is_finite:
            self.report.say(found.describe(progress.step, note=""))
            if progress.step:
                self._go_back("the validation finds no finite loss, or no translation")
            return
        self.journal.write(progress.step, {f"valid {k}": v for k, v in found.values().items()})
        score = found.by(train.best_by if self.can_choose else "loss")
        is_best = self._count(found, score)
        is_kept = is_best if self.can_choose else self._is_worth_keeping(found.loss)
        self.report.say(found.describe(progress.step, self._tell(found, is_best)))
        if self.goal is not None:
            self._take_exam(self.goal)
            is_kept = True  # the exam is taken by the latest model
        if is_kept:
            progress.best_step = progress.step
            progress.scores, progress.signature = found.values(), found.signature
            progress.scored_sentences = found.sentences
            self.journal.keep_best(self.updater)
            self._try_the_end()

    def _try_the_end(self) -> None:
        """Measure once how long the end of a training takes; nothing is written."""
        if self.meter.is_on and not self.meter.has_ended:
            with self.meter.end():
                if self.group.is_first:
                    make_golden(self.out, self.prepared.valid[0])

    def _count(self, found: Validation, score: float) -> bool:
        """Return whether a score is the best so far, and count the validations since the best.

        A score of more sentences replaces all before it; one of fewer cannot be compared. A model
        whose loss is far above that of a uniform distribution is worse than others at any score.
        """
        progress, ceiling = self.progress, self.progress.detector.ceiling
        if progress.best is None:
            is_best = True
        elif progress.best_sentences and found.sentences != progress.best_sentences:
            if found.sentences < progress.best_sentences:
                return False
            is_best = True
        else:
            former = progress.scores["loss"] <= ceiling, progress.best
            is_best = (found.loss <= ceiling, score) > former
        is_best = is_best and not progress.detector.is_blown_up
        progress.best_sentences = found.sentences
        if is_best:
            progress.best, progress.validations_since_best = score, 0
        else:
            progress.validations_since_best += 1
        return is_best

    def _is_worth_keeping(self, loss: float) -> bool:
        """Return whether to keep a model where none is chosen: if the initial one is not better."""
        if self.progress.detector.is_blown_up:
            return False
        if self._has_parent and not self.progress.step:
            self.progress.parent_loss = loss
            return True
        return self.progress.parent_loss is None or loss < self.progress.parent_loss

    def _tell(self, found: Validation, is_best: bool) -> str:
        valid = len(self.prepared.valid[0])
        of = f" on {found.sentences:,} of {valid:,} pairs" if found.sentences < valid else ""
        return of + (", best so far" if is_best and self.can_choose else "")

    def _has_time_run_out(self, outcome: Outcome) -> bool:
        """Report an update to the goal, if there is one; return whether its time is over."""
        if self.goal is None:
            return False
        if told := self.goal.note(outcome.seconds, *self._to_come()):
            self.report.say(told)
        return self.goal.is_out_of_time

    def _take_exam(self, goal: Goal) -> None:
        translator = Translator(
            self.config,
            self.prepared.tokenizers,
            self.updater.best_model,
            device=str(self.device),
            precision=self.precision,
        )
        told = goal.take_exam(translator, *self._to_come())
        self.report.say(f"update {self.progress.step:,}: {told}")

    def _to_come(self) -> tuple[int, int]:
        """Return the numbers of updates and of validations that are still to come."""
        updates = self.steps - self.progress.step
        return updates, sum(step > self.progress.step for step in self.plan.list_validations())

    def _is_over(self) -> bool:
        if self.goal is not None and self.goal.is_over:
            return True
        patience = self.config.train.patience
        return patience is not None and self.progress.validations_since_best >= patience

    def _stop(self) -> None:
        self.is_asked_to_stop = True
        self.report.say("Stopping after this update; once more stops at once")

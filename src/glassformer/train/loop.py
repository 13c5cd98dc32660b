"""The training loop: read it from `Loop.run` on."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

import torch

from ..data.batches import Batch
from ..device import choose_precision, free_memory, keep_memory
from ..directory import CONFIG, build, write_text
from . import checkpoint, trouble
from .checkpoint import Progress
from .distributed import ALONE, Team
from .divergence import DivergenceDetector
from .faithful import check_shortcuts
from .journal import Journal
from .log import Reporter
from .machine import limit_memory
from .pace import time_updates
from .padding import make_batches, settle_padding
from .parent import adopt, freeze
from .preparation import CHECKPOINTS, RUN, Prepared
from .resuming import sign_learning
from .room import Room
from .schedule import rate
from .standing import go_to
from .stopping import listen_for_stop
from .updates import Outcome, Updater
from .validation import validate

VALIDATIONS = 10  # in a training that does not say how many
DEFAULT_MINUTES = 20.0
LOG_EVERY = 20  # updates
RESERVE = 0.06  # of the minutes, for validations and checkpoints


class Loop:
    """One training, from wherever it stands to its end.

    Each process of a team goes through it and decides the same; the first alone writes.
    """

    def __init__(
        self, out: Path, prepared: Prepared, report: Reporter, device: str, team: Team = ALONE
    ):
        self.out, self.folder, self.report, self.team = out, out / RUN, report, team
        self.prepared, self.device = prepared, team.choose_device(device)
        keep_memory()
        self.precision = choose_precision(prepared.config.train.precision, self.device)
        given = prepared.config, self.device, self.precision, team
        self.config = settle_padding(self.folder, *given)
        self.batches, self.room = make_batches(self.config.train, prepared.store), Room()
        self.updater = self._fresh()
        self.progress = Progress()
        self.culprits: list[dict[str, Any]] = []  # pairs of the latest update gone wrong
        self.stopped = self.is_asked_to_stop = False

    def run(self) -> Progress:
        """Train until the last step, early stopping or a signal; say what comes of it."""
        self._go_on_from_checkpoint()
        with limit_memory(self.device, self.team.local_size):
            self._probe()
            self._settle_steps()
            progress = self._train()
        free_memory()  # what comes now translates
        return progress

    def _train(self) -> Progress:
        train, steps = self.config.train, self.steps
        journal = self.journal = Journal(self.out, self.prepared, self.config, self.team)
        journal.open(self.progress.step, self._validate_every())
        journal.look(self.progress.step, self.updater)
        if "parent" in self.prepared.record and not self.progress.step:
            self._validate()  # what the parent can do, to know whether anything was gained
        with listen_for_stop(self._stop), self.report.phase("training", steps) as advance:
            while self.progress.step < steps and not (self.stopped or self._is_over()):
                step = self.progress.step + 1
                with journal.watch.listen(step, self.updater) as norms:
                    outcome = self._update()
                if self.progress.step < step:  # gone back
                    continue
                journal.note(step, norms, outcome.gradient_norm)
                journal.look(step, self.updater)
                if step % LOG_EVERY == 0 or step == steps:
                    journal.write(step, self._values(outcome))
                advance(step, note=f"loss {outcome.loss:.3f}")
                if step % self._validate_every() == 0 or step == steps:
                    self._validate()
                if self.progress.step < step:
                    continue
                if step % (train.checkpoint_every or self._validate_every()) == 0:
                    journal.save(self.progress, self.updater)
                self.stopped = bool(self.team.sum(self.is_asked_to_stop)[0])
        journal.save(self.progress, self.updater)
        return self.progress

    @property
    def steps(self) -> int:
        assert self.config.train.steps
        return self.config.train.steps

    def _fresh(self) -> Updater:
        """A model as the seed makes it, or as its parent is."""
        torch.manual_seed(self.config.train.seed)
        model = build(self.config, self.prepared.tokenizers)
        adopt(model, self.folder, self.prepared.tokenizers)
        freeze(model, self.config.train.freeze)
        check_shortcuts(model, self.device, self.precision, self.report.say)
        return Updater(model, self.config.train, self.device, self.precision, self.team, self.room)

    def _go_on_from_checkpoint(self) -> None:
        found = checkpoint.checkpoints(self.folder / CHECKPOINTS)
        if found:
            self.progress = go_to(found[-1], self.updater)
            self.room.most_cells = self.progress.most_cells
            self.report.say(f"Going on after update {self.progress.step:,}")
        key = sign_learning(self.config, self.prepared.record)
        trouble.recall_return(self.folder, self.progress, key)
        if self.progress.detector.about != key:  # losses of other data or settings say nothing
            uniform = math.log(len(self.prepared.tokenizers.target))
            self.progress.detector = DivergenceDetector(uniform, key)

    def _probe(self) -> None:
        """The batches that need most memory come first: it runs out now or never."""
        shares = max(1, self.team.size // self.config.train.accumulate)
        self.updater.probe([batch.cut(shares)[-1] for batch in self.batches.worst()])
        self._say_room()

    def _say_room(self) -> None:
        """Batches that have to be cut are told of once, and remembered."""
        most, progress = self.room.most_cells, self.progress
        if most and most != progress.most_cells:
            progress.most_cells = most
            self.report.say(self.room.describe(progress.step + 1))

    def _settle_steps(self) -> None:
        """Turn minutes into a number of updates, once, and write it down."""
        train = self.config.train
        if train.steps is None:
            minutes = train.minutes or DEFAULT_MINUTES
            seconds = time_updates(
                self.updater, self._deal, self.report, minutes * 60, self.team.clock
            )
            self.updater = self._fresh()
            steps = max(1, int(minutes * 60 * (1 - RESERVE) / seconds))
            self.config = self.config.changed(train={"steps": steps, "minutes": None})
            if self.team.is_first:
                write_text(self.folder / CONFIG, self.config.to_toml())
            self.report.say(f"{seconds:.3f} s an update: {steps:,} updates in {minutes:g} minutes")
        shared = f", {self.team.size} processes" if self.team.size > 1 else ""
        self.report.say(
            f"{sum(p.numel() for p in self.updater.model.parameters()):,} parameters, "
            f"{self.batches.count(0):,} batches an epoch, {self.steps:,} updates, "
            f"{self.device} {self.precision}{shared}"
        )

    def _deal(self, step: int) -> list[Batch]:
        """Our share of update `step`, counted from 1."""
        accumulate = self.config.train.accumulate
        return self.team.deal(self.batches, step - 1, accumulate, self.updater.is_sharded)

    def _update(self) -> Outcome:
        progress, began_cpu = self.progress, time.process_time()
        step = progress.step + 1
        batches = self._deal(step)
        outcome = self.updater.update(step, self._rate(step), batches)
        progress.step = step
        progress.source_pieces += outcome.source_pieces
        progress.target_pieces += outcome.target_pieces
        progress.seconds += outcome.seconds
        progress.cpu_seconds += self.team.sum(time.process_time() - began_cpu)[0]
        self._say_room()
        if outcome.is_finite:
            progress.skipped = 0
        else:
            self._skip(batches)
        self._watch_for_divergence(outcome)
        return outcome

    def _watch_for_divergence(self, outcome: Outcome) -> None:
        """Go back if the training has diverged, or may have and ends without a model."""
        progress = self.progress
        why = progress.detector.observe(outcome.loss if outcome.is_finite else math.nan)
        ends_without = progress.step == self.steps and progress.best is None
        if not why and ends_without and progress.detector.is_blown_up:
            why = f"its last update has a loss of {outcome.loss:,.4g}"
        if why:
            self._go_back(why)

    def _skip(self, batches: list[Batch]) -> None:
        """Count an update that was left out, for it had no finite gradient; tell of the first."""
        progress, tokenizers = self.progress, self.prepared.tokenizers
        progress.skipped += 1
        progress.skipped_in_all += 1
        if progress.skipped == 1:
            found = trouble.find_culprits(self.updater, progress.step, batches, tokenizers)
            self.report.say(trouble.tell_culprits(progress.step, found))
            self.journal.write(progress.step, {"not finite": True, "pairs": found})
            self.culprits = found

    def _go_back(self, why: str) -> None:
        """To the latest checkpoint, and on from there with a lower rate."""
        wrong, config = self.progress, self.config
        if wrong.goings_back >= trouble.TRIES:
            shape = config.model.d_model
            raise ValueError(trouble.explain(wrong, why, self.culprits, config.train, shape))
        self.updater, self.progress = self._fresh(), Progress()
        self._go_on_from_checkpoint()
        trouble.learn_from(wrong, self.progress)
        if self.team.is_first:
            trouble.note_return(self.folder, self.progress, self.progress.detector.about)
        self.report.say(trouble.tell_return(wrong, self.progress, why))
        self.journal.open(self.progress.step, self._validate_every())
        self.journal.write(self.progress.step, {"diverged": why, **self.progress.troubles()})

    def _rate(self, step: int) -> float:
        shape, factor = self.config.model, self.progress.rate_factor
        return rate(step, self.config.train, shape.d_model, self.steps) * factor

    def _values(self, outcome: Outcome) -> dict[str, Any]:
        progress = self.progress
        return {
            "loss": outcome.loss,
            "gradient_norm": outcome.gradient_norm,
            "rate": self._rate(progress.step),
            "pieces_per_second": (outcome.source_pieces + outcome.target_pieces) / outcome.seconds,
            "cpu_seconds": progress.cpu_seconds,
            **progress.troubles(),
        }

    def _validate_every(self) -> int:
        return self.config.train.validate_every or -(-self.steps // VALIDATIONS)

    def _validate(self) -> None:
        """Score the model on the validation text, and keep it if it is the best so far."""
        progress, train = self.progress, self.config.train
        with self.report.counting("validating", len(self.prepared.valid[0])) as count:
            found = validate(
                self.updater.best_model,
                self.config,
                self.prepared.tokenizers,
                self.prepared.valid,
                device=str(self.device),
                precision=self.precision,
                turn=progress.step // self._validate_every(),
                progress=count,
                team=self.team,
            )
        if not found.is_finite:
            self.report.say(found.describe(progress.step, is_best=False))
            if progress.step:
                self._go_back("the validation finds no finite loss, or no translation")
            return
        self.journal.write(progress.step, {f"valid {k}": v for k, v in found.values().items()})
        score, ceiling = found.by(train.best_by), progress.detector.ceiling
        is_best = not progress.detector.is_blown_up and (
            progress.best is None
            # whatever its BLEU, a network is of no use whose loss is far above that of a guess
            or (found.loss <= ceiling, score) > (progress.scores["loss"] <= ceiling, progress.best)
        )
        self.report.say(found.describe(progress.step, is_best))
        if not is_best:
            progress.validations_since_best += 1
            return
        progress.best, progress.best_step = score, progress.step
        progress.scores, progress.signature = found.values(), found.signature
        progress.validations_since_best = 0
        self.journal.keep_best(self.updater)

    def _is_over(self) -> bool:
        patience = self.config.train.patience
        return patience is not None and self.progress.validations_since_best >= patience

    def _stop(self) -> None:
        self.is_asked_to_stop = True
        self.report.say("Stopping after this update; once more stops at once")

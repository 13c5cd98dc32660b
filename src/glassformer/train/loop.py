"""The training loop: read it from `Loop.run` on."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from ..data.batches import Batches
from ..device import choose_device, choose_precision, keep_memory
from ..directory import CONFIG, build, save_model, write_text
from . import checkpoint
from .checkpoint import Progress
from .log import Metrics, Reporter
from .pace import measure_pace
from .parent import adopt, freeze
from .preparation import CHECKPOINTS, RUN, Prepared
from .schedule import rate
from .updates import Outcome, Updater
from .validation import Validation, validate
from .watch import Watch

VALIDATIONS = 10  # in a training that does not say how many
DEFAULT_MINUTES = 20.0
LOG_EVERY = 20  # updates
RESERVE = 0.06  # of the minutes, for validations and checkpoints
MOST_SKIPPED = 20  # updates in a row without a finite gradient


class Loop:
    """One training, from wherever it stands to its end."""

    def __init__(self, out: Path, prepared: Prepared, report: Reporter, device: str):
        self.out, self.folder, self.report = out, out / RUN, report
        self.prepared, self.config = prepared, prepared.config
        self.device = choose_device(device)
        keep_memory()
        self.precision = choose_precision(self.config.train.precision, self.device)
        train = self.config.train
        self.batches = Batches(prepared.store, batch_tokens=train.batch_tokens, seed=train.seed)
        self.updater = self._fresh()
        self.progress = Progress()
        self.stopped = False  # asked to stop by a signal

    def run(self) -> Progress:
        """Train until the last step, early stopping or a signal; say what comes of it."""
        self._go_on_from_checkpoint()
        self._probe()
        self._settle_steps()
        train, steps = self.config.train, self.steps
        watch = self._watch()
        metrics = Metrics(self.folder, self.progress.step)
        batches = self.batches.from_step(self.progress.step, train.accumulate)
        watch.look(self.progress.step, self.updater.best_model)
        with self._signals(), self.report.phase("training", steps) as advance:
            while self.progress.step < steps and not (self.stopped or self._is_over()):
                step = self.progress.step + 1
                with watch.listen(step, self.updater) as norms:
                    outcome = self._update(list(islice(batches, train.accumulate)))
                watch.note(step, norms, outcome.gradient_norm)
                watch.look(step, self.updater.best_model)
                if step % LOG_EVERY == 0 or step == steps:
                    metrics.write(step, self._values(outcome))
                advance(step, note=f"loss {outcome.loss:.3f}")
                if step % self._validate_every() == 0 or step == steps:
                    self._validate(metrics)
                if step % (train.checkpoint_every or self._validate_every()) == 0:
                    self._save()
        self._save()
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
        return Updater(model, self.config.train, self.device, self.precision)

    def _go_on_from_checkpoint(self) -> None:
        found = checkpoint.checkpoints(self.folder / CHECKPOINTS)
        if found:
            updater = self.updater
            self.progress = checkpoint.load(
                found[-1], updater.model, updater.averaged, updater.optimizer
            )
            self.report.say(f"Going on after update {self.progress.step:,}")

    def _probe(self) -> None:
        """The batches that need most memory come first: it runs out now or never."""
        self.updater.probe(self.batches.worst())

    def _settle_steps(self) -> None:
        """Turn minutes into a number of updates, once, and write it down."""
        train = self.config.train
        if train.steps is None:
            minutes = train.minutes or DEFAULT_MINUTES
            seconds = self._measure(minutes * 60)
            steps = max(1, int(minutes * 60 * (1 - RESERVE) / seconds))
            self.config = self.config.changed(train={"steps": steps, "minutes": None})
            write_text(self.folder / CONFIG, self.config.to_toml())
            self.report.say(f"{seconds:.3f} s an update: {steps:,} updates in {minutes:g} minutes")
        self.report.say(
            f"{sum(p.numel() for p in self.updater.model.parameters()):,} parameters, "
            f"{self.batches.count(0):,} batches an epoch, {self.steps:,} updates, "
            f"{self.device} {self.precision}"
        )

    def _measure(self, whole: float) -> float:
        """Seconds an update takes here; the model is as fresh afterwards as before."""
        batches = self.batches.from_step(0, self.config.train.accumulate)
        with self.report.phase("measuring") as advance:

            def update(number: int) -> int:
                some = list(islice(batches, self.config.train.accumulate))
                outcome = self.updater.update(1, 0.0, some)
                advance(number)
                return outcome.source_pieces + outcome.target_pieces

            seconds, is_steady = measure_pace(update, whole / 20)
        if not is_steady:
            self.report.say("Other work disturbs the measurement: the time may be missed")
        self.updater = self._fresh()
        return seconds

    def _watch(self) -> Watch:
        prepared = self.prepared
        steps, every = self.steps, self._validate_every()
        watch = Watch(self.folder, self.config, prepared.tokenizers, prepared.valid, steps, every)
        watch.begin(self.progress.step)
        return watch

    def _update(self, batches: list[Any]) -> Outcome:
        progress, began_cpu = self.progress, time.process_time()
        step = progress.step + 1
        now = rate(step, self.config.train, self.config.model.d_model, self.steps)
        outcome = self.updater.update(step, now, batches)
        progress.step = step
        progress.source_pieces += outcome.source_pieces
        progress.target_pieces += outcome.target_pieces
        progress.seconds += outcome.seconds
        progress.cpu_seconds += time.process_time() - began_cpu
        progress.skipped = 0 if outcome.is_finite else progress.skipped + 1
        if progress.skipped >= MOST_SKIPPED:
            raise ValueError(
                f"update {step}: the gradient has not been finite for {MOST_SKIPPED} updates; "
                "try a lower train.learning_rate or train.precision=fp32"
            )
        return outcome

    def _values(self, outcome: Outcome) -> dict[str, float]:
        progress, train = self.progress, self.config.train
        return {
            "loss": outcome.loss,
            "gradient_norm": outcome.gradient_norm,
            "rate": rate(progress.step, train, self.config.model.d_model, self.steps),
            "pieces_per_second": (outcome.source_pieces + outcome.target_pieces) / outcome.seconds,
            "cpu_seconds": progress.cpu_seconds,
        }

    def _validate_every(self) -> int:
        return self.config.train.validate_every or -(-self.steps // VALIDATIONS)

    def _validate(self, metrics: Metrics) -> None:
        """Score the model on the validation text, and keep it if it is the best so far."""
        progress, train = self.progress, self.config.train
        total = len(self.prepared.valid[0])
        done = 0
        with self.report.phase("validating", total) as advance:

            def count(more: int) -> None:
                nonlocal done
                done += more
                advance(done)

            found = validate(
                self.updater.best_model,
                self.config,
                self.prepared.tokenizers,
                self.prepared.valid,
                device=str(self.device),
                precision=self.precision,
                turn=progress.step // self._validate_every(),
                progress=count,
            )
        metrics.write(progress.step, {f"valid {k}": v for k, v in found.values().items()})
        score = found.by(train.best_by)
        is_best = progress.best is None or score > progress.best
        self._say_scores(found, is_best)
        if is_best:
            progress.best, progress.best_step = score, progress.step
            progress.scores, progress.signature = found.values(), found.signature
            progress.validations_since_best = 0
            weights = self.updater.best_model.state_dict()
            save_model(self.out, self.config, self.prepared.tokenizers, weights)
        else:
            progress.validations_since_best += 1

    def _say_scores(self, found: Validation, is_best: bool) -> None:
        source, reference, translation = found.sample
        self.report.say(
            f"update {self.progress.step:,}: valid BLEU {found.bleu:.2f}, chrF2 {found.chrf:.2f}, "
            f"loss {found.loss:.3f}{', best so far' if is_best else ''}\n"
            f"  source       {source}\n  reference    {reference}\n  translation  {translation}"
        )

    def _is_over(self) -> bool:
        patience = self.config.train.patience
        return patience is not None and self.progress.validations_since_best >= patience

    def _save(self) -> None:
        folder, updater, keep = self.folder / CHECKPOINTS, self.updater, self.config.train.keep
        weights = updater.model, updater.averaged
        checkpoint.save(folder, self.progress, *weights, updater.optimizer, keep)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM end the training after the update at hand; a second one at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, frame: FrameType | None) -> None:
            self.stopped = True
            signal.signal(signal.SIGINT, signal.default_int_handler)
            self.report.say("Stopping after this update; once more stops at once")

        former = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for each, handler in former.items():
                signal.signal(each, handler)

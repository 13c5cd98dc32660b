"""The training loop: `Loop.run` from top to bottom, and `Updater.update` for what an update is."""

import math
import time
from typing import Any, Literal

from ...data.batches import Batch
from ...foundation.plurals import tell_count
from ...model.encoder_decoder import EncoderDecoder
from ...model.files.directory import CHECKPOINTS
from ..plan.goal import Goal
from ..plan.hooks import Event
from ..plan.plan import Plan, settle_again, write_plan
from ..plan.schedule import rate
from ..publish.golden import make_golden
from . import checkpoint, recovery
from .checkpoint import go_to
from .divergence import DivergenceDetector
from .journal import Journal
from .meter import Meter
from .progress import Progress
from .resuming import sign_learning
from .selection import ModelSelection
from .setup import Setup
from .updates import Outcome
from .validation import Validation

LOG_EVERY = 20  # updates
NOTABLE = 0.25  # the least relative change in the number of updates that is reported


class Loop:
    """The training loop, from the latest checkpoint, if any, to the end.

    Each process of a group runs it and makes the same decisions; only the first one writes.
    """

    def __init__(self, setup: Setup, plan: Plan, began: float, goal: Goal | None = None):
        """Set up the loop; `began` is the time.perf_counter() from which minutes count."""
        self.setup, self.plan, self.began, self.goal = setup, plan, began, goal
        self.config, self.group, self.report = setup.config, setup.group, setup.report
        setup.batches.share = plan.share
        self.updater, self.progress = setup.make_updater(), Progress()
        self.journal = Journal(setup.out, setup.prepared, setup.config, setup.group)
        self.meter = Meter(plan.latest.costs, setup.group.clock)
        self.spent_before = 0.0  # seconds, until this process took over
        valid = len(setup.prepared.valid[0])
        self.selection = ModelSelection(setup.config.train, valid, setup.has_parent)
        self.culprits: list[dict[str, Any]] = []  # pairs without a finite loss, of the latest skip
        self.rate = setup.hooks.schedule or rate
        self.stopped = self.is_asked_to_stop = self.is_ended_by_callback = False

    def run(self) -> Progress:
        """Train until the last step, early stopping or a signal; return the progress."""
        self._begin()
        with self.report.phase("training", self.steps, self.progress.step) as advance:
            while self.progress.step < self.steps and not (self.stopped or self._is_over):
                updater, step = self.updater, self.progress.step + 1
                batches = self.setup.deal(step, updater)
                planned = self.plan.position(step) - self.plan.position(step - 1)

                # forward, backward, clip, step, average
                with self.meter.update(), self.journal.watch.listen(step, updater) as norms:
                    began_cpu = time.process_time()
                    outcome = updater.update(step, self._rate(step), batches, planned)
                    self._count(outcome, time.process_time() - began_cpu)
                    why = self._judge(outcome, batches)
                if why:
                    self._go_back(why)
                    continue
                self._review_plan(step)  # first, since the rest needs the number of updates

                # log
                self.journal.note(step, norms, outcome.gradient_norm)
                if step % LOG_EVERY == 0 or step == self.steps:
                    self.journal.write(step, self._values(outcome))
                advance(step, self.steps, note=f"loss {outcome.loss:.3f}")
                self._call_back("update", updater.model, self._values(outcome))

                # validate, save
                is_validated = self._has_time_run_out(outcome) or self.plan.is_validated(step)
                with self.meter.pause(is_validated):
                    self.journal.take_snapshot(step, updater)
                    why = self._validate() if is_validated else ""
                    if not why and self._is_saved(step, is_validated):
                        self._save()
                if why:
                    self._go_back(why)
                self.stopped = bool(self.group.sum(self.is_asked_to_stop)[0])
        if not (self.progress.scores or self.stopped):
            self._validate_at_last()
        self._save()
        return self.progress

    def _begin(self) -> None:
        """Go to the latest checkpoint, try the largest batches, and open the files."""
        self._go_on_from_checkpoint()
        self.spent_before = self.progress.spent
        if self.progress.step >= self.steps:
            self._plan_more()
        self.setup.probe(self.updater)
        self._say_room()
        self.setup.say_beginning(self.updater, self.steps, self.selection.can_choose)
        if self.progress.step >= self.steps:
            self.report.say("No update is left: the model is written again, with its scores")
        self.told_steps = self.steps
        self.journal.open(self.progress.step, self.plan)
        self.journal.take_snapshot(self.progress.step, self.updater)
        if self.setup.has_parent and not self.progress.step:
            self._validate()  # the scores of the initial model, for comparison

    def _go_on_from_checkpoint(self) -> None:
        setup, folder = self.setup, self.setup.folder
        result = checkpoint.checkpoints(folder / CHECKPOINTS)
        if result:
            self.progress = go_to(result[-1], self.updater)
            setup.micro_batching.most_cells = self.progress.most_cells
            self.updater.loss_scale.load(self.progress.loss_scale)
            self.report.say(f"Going on after update {self.progress.step:,}")
        key = sign_learning(self.config, setup.prepared.record)
        recovery.recall_return(folder, self.progress, key)
        if self.progress.detector.about != key:  # losses of other data or settings do not compare
            uniform = math.log(self.updater.model.output_table.num_embeddings)
            self.progress.detector = DivergenceDetector(uniform, key)

    @property
    def steps(self) -> int:
        """Return the number of updates in all, by the latest plan."""
        return self.plan.at(self.progress.step).steps

    def _spent(self) -> float:
        """Return the seconds of training so far, without the time while it was stopped."""
        return self.spent_before + self.group.clock() - self.began

    def _rate(self, step: int) -> float:
        plan, width = self.plan, self.config.model.d_model
        result = self.rate(plan.position(step), self.config.train, width, plan.planned)
        return result * self.progress.rate_factor * self.progress.plateau.factor

    def _count(self, outcome: Outcome, cpu_seconds: float) -> None:
        """Add an update to the progress."""
        progress = self.progress
        progress.step += 1
        progress.source_tokens += outcome.source_tokens
        progress.target_tokens += outcome.target_tokens
        progress.seconds += outcome.seconds
        progress.cpu_seconds += self.group.sum(cpu_seconds)[0]
        self._say_room()

    def _judge(self, outcome: Outcome, batches: list[Batch]) -> str:
        """Return why the training has diverged, or ends without a model and may have; else ""."""
        progress = self.progress
        if outcome.is_finite:
            progress.skipped = 0
        else:
            self._skip(batches)
        why = progress.detector.observe(outcome.loss if outcome.is_finite else math.nan)
        ends_without = progress.step == self.steps and progress.best is None
        if not why and ends_without and progress.detector.is_blown_up:
            why = f"its last update has a loss of {outcome.loss:,.4g}"
        return why

    def _skip(self, batches: list[Batch]) -> None:
        """Count an update that was left out, having no finite gradient; report the first."""
        progress, tokenizers = self.progress, self.setup.prepared.tokenizers
        progress.skipped += 1
        progress.skipped_in_all += 1
        if progress.skipped == 1:
            result = recovery.find_culprits(self.updater, progress.step, batches, tokenizers)
            self.report.say(recovery.tell_culprits(progress.step, result))
            self.journal.write(progress.step, {"not finite": True, "pairs": result})
            self.culprits = result

    def _go_back(self, why: str) -> None:
        """Return to the latest checkpoint and continue with a lower learning rate.

        ValueError if this was done TRIES times before.
        """
        wrong = self.progress
        if wrong.goings_back >= recovery.TRIES:
            message = recovery.explain_divergence(wrong, why, self.culprits, self._advise())
            raise ValueError(message)
        self.updater, self.progress = self.setup.make_updater(), Progress()
        self._go_on_from_checkpoint()
        recovery.learn_from(wrong, self.progress)
        if self.group.is_first:
            key = self.progress.detector.about
            recovery.note_return(self.setup.folder, self.progress, key)
        self.report.say(recovery.tell_return(wrong, self.progress, why))
        self.journal.open(self.progress.step, self.plan)
        self.journal.write(self.progress.step, {"diverged": why, **self.progress.troubles()})

    def _advise(self) -> str:
        return recovery.advise(self.config.train, self.config.model.d_model, self.plan.planned)

    def _plan_more(self) -> None:
        """Plan more updates if a training that has ended was given more minutes since then."""
        limits, step = self.plan.limits, self.progress.step
        latest = checkpoint.checkpoints(self.setup.folder / CHECKPOINTS)[-1]
        then, minutes = checkpoint.settings_of(latest), self.config.train.minutes
        if limits.seconds is None or then is None or then.train.minutes == minutes:
            return
        more = settle_again(self.plan, step, limits.seconds - self._spent(), self.meter.read())
        if more.steps > step:
            self.plan.begin_again(more)
            self._write_plan()

    def _write_plan(self) -> None:
        if self.group.is_first:
            write_plan(self.setup.folder, self.plan)

    def _review_plan(self, step: int) -> None:
        """Plan the rest of the updates again, if the plan says that this is due."""
        limits = self.plan.limits
        if limits.seconds is None or not self.plan.is_due(step):
            return
        left = limits.seconds - self._spent()
        costs = self.meter.read()
        self.plan.add(settle_again(self.plan, step, left, costs))
        self._write_plan()
        self.journal.follow(self.plan)
        if abs(self.steps - self.told_steps) > NOTABLE * self.told_steps:
            was, self.told_steps = self.told_steps, self.steps
            self.report.say(
                f"Update {step:,}: {costs.update:.3f} s an update by now: "
                f"{tell_count(self.steps, 'update')} instead of {was:,}"
            )

    def _is_saved(self, step: int, is_validated: bool) -> bool:
        every = self.config.train.checkpoint_every
        return step % every == 0 if every else is_validated

    def _save(self) -> None:
        self.progress.spent = self._spent()
        self.progress.loss_scale = self.updater.loss_scale.state()
        self.journal.save(self.progress, self.updater, self.progress.step == self.steps)

    def _validate(self) -> str:
        """Score the model on the validation text, and keep it if it is the best so far.

        Return why the training has diverged, if it has no finite loss or no translation; else "".
        """
        progress = self.progress
        sentences = self.plan.sentences(progress.step)
        with self.meter.validation(sentences):
            result = self.setup.validate(self.updater.best_model, sentences, progress.step)
        if not result.is_finite:
            self.report.say(result.tell(progress.step, "", self.steps))
            wrong = "the validation finds no finite loss, or no translation"
            return wrong if progress.step else ""
        scores = {**result.values(), **result.values_by_corpus()}
        read = self.setup.count_contributions(progress.step)
        more = {"pairs": read} if read else {}
        self.journal.write(progress.step, {f"valid {k}": v for k, v in scores.items()} | more)
        self._call_back("validation", self.updater.best_model, scores)
        is_best, is_kept = self.selection.consider(progress, result)
        note = self.selection.tell(result, is_best)
        self.report.say(result.tell(progress.step, note, self.steps))
        if read and progress.step:
            parts = (f"{name} {n:,} ({n / sum(read.values()):.0%})" for name, n in read.items())
            self.report.say(f"  pairs read: {', '.join(parts)}")
        if self.goal is not None:
            translator = self.setup.make_translator(self.updater.best_model)
            remark = self.goal.take_exam(translator, *self.plan.to_come(progress.step))
            self.report.say(f"update {progress.step:,}: {remark}")
            is_kept = True  # the exam is taken by the latest model
        self._lower_rate(result)
        if self.selection.rank(progress, result):
            self.journal.keep_among_best(progress.step, self.updater)
        if is_kept:
            progress.best_step = progress.step
            progress.scores, progress.signature = result.values(), result.signature
            progress.scored_sentences = result.sentences
            self.journal.keep_best(self.updater)
            self._try_the_end()
        return ""

    def _validate_at_last(self) -> None:
        """Validate where a training ended before any validation had a model to keep.

        ValueError if this one has none either.
        """
        why = self._validate() or "its loss is far above that of a guess"
        if not self.progress.scores:
            step = self.progress.step
            raise ValueError(f"update {step}: no model is worth keeping ({why}): {self._advise()}")

    def _lower_rate(self, validation: Validation) -> None:
        """Let the rate fall, with the schedule plateau, if the validation loss does not."""
        train, plateau = self.config.train, self.progress.plateau
        is_lower = train.schedule == "plateau" and plateau.observe(
            validation.loss, validation.sentences, train
        )
        if is_lower:
            self.report.say(f"  the loss does not fall: on with {plateau.factor:g} times the rate")

    def _try_the_end(self) -> None:
        """Measure once how long the end of a training takes; nothing is written."""
        if self.meter.is_on and not self.meter.has_ended:
            with self.meter.end():
                if self.group.is_first:
                    make_golden(self.setup.out, *self.setup.prepared.golden)

    def _has_time_run_out(self, outcome: Outcome) -> bool:
        """Report an update to the goal, if there is one; return whether its time is over."""
        if self.goal is None:
            return False
        if remark := self.goal.note(outcome.seconds, *self.plan.to_come(self.progress.step)):
            self.report.say(remark)
        return self.goal.is_out_of_time

    @property
    def _is_over(self) -> bool:
        """Return whether the goal is reached, or no validation has become better for long."""
        is_goal_over = self.goal is not None and self.goal.is_over
        is_goal_over = is_goal_over or self.is_ended_by_callback
        return is_goal_over or self.selection.should_stop_early(self.progress)

    def _call_back(
        self, kind: Literal["update", "validation"], model: EncoderDecoder, values: dict[str, Any]
    ) -> None:
        """Tell the callback of the user, if there is one; it may end the training."""
        if callback := self.setup.hooks.callback:
            is_over = bool(callback(Event(kind, self.progress.step, self.steps, values, model)))
            self.is_ended_by_callback |= bool(self.group.sum(is_over)[0])

    def ask_to_stop(self) -> None:
        """Stop and save after the next update, also if the training has not begun yet."""
        self.is_asked_to_stop = True
        self.report.say("Stopping after this update; once more stops at once")

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

    def _say_room(self) -> None:
        """Report once that batches are split to fit into memory, and note it in the progress."""
        most, progress = self.setup.micro_batching.most_cells, self.progress
        if most and most != progress.most_cells:
            progress.most_cells = most
            self.report.say(self.setup.micro_batching.tell(progress.step + 1))

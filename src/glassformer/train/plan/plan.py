"""The plan of a training in minutes: the number of updates, decided again during training.

The first decision follows a measurement. Each later one follows the time that updates and
validations have taken since then, on a clock that began with the training and stands still while
it is stopped. Every decision is written to run/plan.json with the update after which it holds; a
resumed training uses the decisions in that file, and so gets the same weights.

The learning rate and the moving average follow the first decision. When the number of updates
changes, the rest of the schedule is stretched over the remaining updates: `position` maps an update
to a planned one.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ...config import Train
from ...foundation.disk import read_json, write_json
from ...foundation.plurals import tell_count
from .schedule import warmup_of

PLAN = "plan.json"  # in the run's folder
VALIDATIONS = 10  # in a training without validate_every
FEW = 200  # updates: with fewer, next to nothing is learned
ENOUGH_OF_PLAN = 0.8  # of the updates of the first decision: if fewer were done, that is said
BUSY = 0.75  # of the processors: with less, other programs used them
SAMPLE = 100  # sentences of an early validation
LATE = 0.5  # of the schedule: validations from here on are compared with each other
LATE_SHARE = 0.02  # of the whole time for one of them
MOST_SHARE = 0.25  # of the whole time for all validations, as far as fewer of them can help
MOST_OF_REST = 0.5  # of the time left: if validations would take more, only the last is made
REVIEWS = 10  # a decision is reviewed after this fraction (1 / 10) of the remaining updates,
LEAST_REVIEWS = 50  # or after this fraction (1 / 50) of all updates, if that is sooner


@dataclass(frozen=True)
class Costs:
    """The measured times of a training, in seconds."""

    update: float
    sentence: float  # of the validation text, translated and scored
    pause: float  # beside the sentences of a validation: snapshot, checkpoint, the best model
    end: float  # after the last checkpoint: examples, card


@dataclass(frozen=True)
class Decision:
    """A decision on the number of updates, which holds after update `step`."""

    step: int
    steps: int  # updates in all
    review: int  # the update after which this is decided again
    sentences: int  # of each late validation
    is_only_last: bool = False  # of the coming validations, only the last is made
    costs: Costs | None = None  # None: nothing depends on time


@dataclass(frozen=True)
class PlanLimits:
    """The limits that stay the same throughout a training; `seconds` is None if steps are given."""

    seconds: float | None
    valid: int  # sentences of the validation text
    validate_every: int | None  # updates
    has_parent: bool = False  # an initial model, which is validated before the first update


class Plan:
    """The plan of a training: its decisions, and what follows from them for each update."""

    def __init__(self, limits: PlanLimits, decisions: Sequence[Decision], validations: int):
        self.limits, self.validations = limits, validations  # in all, if not every so many updates
        self.decisions = [decisions[0]]
        self.starts = [0.0]  # the positions at which they were taken
        for each in decisions[1:]:
            self.add(each)

    @classmethod
    def of_steps(cls, steps: int, limits: PlanLimits) -> Plan:
        """Return the plan of a training whose number of updates is given."""
        every = limits.validate_every or -(-steps // VALIDATIONS)
        first = Decision(0, steps, steps, limits.valid)
        return cls(replace(limits, validate_every=every), [first], VALIDATIONS)

    def add(self, decision: Decision) -> None:
        """Add a decision, which holds from its step on."""
        self.starts.append(self.position(decision.step))
        self.decisions.append(decision)

    def begin_again(self, decision: Decision) -> None:
        """Let one decision replace all, as if the training had begun with it."""
        self.decisions, self.starts = [replace(decision, step=0)], [0.0]

    @property
    def planned(self) -> int:
        """Return the number of updates of the first decision, which the schedule is made for."""
        return self.decisions[0].steps

    @property
    def latest(self) -> Decision:
        return self.decisions[-1]

    def at(self, step: int) -> Decision:
        """Return the decision that holds once `step` updates are done."""
        return self.decisions[self._index(step)]

    def position(self, step: int) -> float:
        """Return the planned update that update `step` corresponds to: `planned` for the last."""
        index = self._index(step)
        start, each = self.starts[index], self.decisions[index]
        if step == each.step:
            return start
        return start + (self.planned - start) * (step - each.step) / (each.steps - each.step)

    def share(self, step: int) -> float:
        """Return the share of the training that `step` updates are."""
        return self.position(step) / self.planned

    def is_due(self, step: int) -> bool:
        """Return whether the number of updates is to be decided again after update `step`."""
        return self.limits.seconds is not None and self.latest.review == step < self.latest.steps

    def is_validated(self, step: int) -> bool:
        """Return whether a validation follows update `step`."""
        if step == self.at(step).steps:
            return True
        if self.limits.validate_every:
            return step % self.limits.validate_every == 0
        if self.at(step).is_only_last:
            return False
        return self._count(step) > self._count(step - 1)

    def list_validations(self) -> list[int]:
        """Return the updates that a validation follows, by the latest decision."""
        steps, every = self.latest.steps, self.limits.validate_every
        if every:
            return [*range(every, steps, every), steps]
        numbers = range(1, self._count(steps - 1) + 1)
        validations = {1 + bisect_left(range(1, steps), n, key=self._count) for n in numbers}
        return [*sorted(filter(self.is_validated, validations)), steps]

    def to_come(self, step: int) -> tuple[int, int]:
        """Return the numbers of updates and of validations that follow update `step`."""
        validations = sum(each > step for each in self.list_validations())
        return self.at(step).steps - step, validations

    def sentences(self, step: int) -> int:
        """Return how many sentences the validation after update `step` translates."""
        if self.limits.seconds is None:
            return self.limits.valid
        is_early = 0 < step < self.at(step).steps and not self.is_late(step)
        return min(SAMPLE, self.limits.valid) if is_early else self.at(step).sentences

    def is_late(self, step: int) -> bool:
        """Return whether a validation after update `step` is late: compared with later ones."""
        return self._count(step) > LATE * self.validations

    def _index(self, step: int) -> int:
        return bisect_right(self.decisions, step, key=lambda each: each.step) - 1

    def _count(self, step: int) -> int:
        """Return how many validations belong before the end of update `step`."""
        return int(self.position(step) * self.validations / self.planned)


def begin(limits: PlanLimits, spent: float, costs: Costs) -> Plan:
    """Return the first plan of a training, from the measured costs."""
    assert limits.seconds is not None
    one = costs.pause + min(SAMPLE, limits.valid) * costs.sentence
    validations = max(1, min(VALIDATIONS, int(MOST_SHARE * limits.seconds / one)))
    nothing = Plan(limits, [Decision(0, 1, 1, 0)], validations)
    return Plan(limits, [settle_again(nothing, 0, limits.seconds - spent, costs)], validations)


def settle_again(plan: Plan, step: int, left: float, costs: Costs) -> Decision:
    """Return the decision after update `step` on how many updates fit into `left` seconds."""
    limits = plan.limits
    is_fixed = step and (limits.has_parent or plan.is_late(step))  # to stay comparable
    sentences = plan.latest.sentences if is_fixed else _afford(limits, costs)
    late = costs.pause + sentences * costs.sentence
    room, update, is_only_last = left - costs.end - late, costs.update, False
    if limits.validate_every:
        update += late / limits.validate_every
    else:
        before = _cost_before_last(plan, step, costs, late)
        is_only_last = before > MOST_OF_REST * max(room, 0.0)
        room -= 0.0 if is_only_last else before
    more = max(0 if step else 1, int(room / update))
    soon = min(more // REVIEWS, (plan.planned if step else more) // LEAST_REVIEWS)
    return Decision(step, step + more, step + max(1, soon), sentences, is_only_last, costs)


def _cost_before_last(plan: Plan, step: int, costs: Costs, late: float) -> float:
    """Return the seconds that the coming validations take, without the last."""
    done = plan.position(step) / plan.planned if step else 0.0
    coming = [n / plan.validations for n in range(1, plan.validations)]
    early = costs.pause + min(SAMPLE, plan.limits.valid) * costs.sentence
    return sum(late if each > LATE else early for each in coming if each > done)


def _afford(limits: PlanLimits, costs: Costs) -> int:
    """Return how many sentences a late validation has time for."""
    assert limits.seconds is not None
    affordable = int(LATE_SHARE * limits.seconds / max(costs.sentence, 1e-9))
    return min(limits.valid, max(SAMPLE, affordable))


def tell_start(plan: Plan, spent: float, train: Train) -> str:
    """Return the message on the first decision."""
    costs, limits = plan.latest.costs, plan.limits
    assert costs and limits.seconds is not None
    minutes = limits.seconds / 60
    warmup = warmup_of(train, plan.planned)
    part = f"{warmup:,}" if warmup < plan.planned else "all"
    message = (
        f"{costs.update:.3f} s an update: {tell_count(plan.planned, 'update')} "
        f"in {minutes:g} minute{'s' * (minutes != 1)}, "
        f"{part} of them warm-up"
    )
    if plan.planned < FEW:
        enough = (spent + FEW * costs.update + costs.end) / (1 - MOST_SHARE) / 60
        enough = math.ceil(10 * enough) / 10 if enough < 10 else math.ceil(enough)
        message += (
            f"\nFewer than {FEW} updates teach a model next to nothing: "
            f"on this machine, {enough:g} minute{' is' if enough == 1 else 's are'} enough "
            f"for {FEW}"
        )
    return message


def tell_few(steps: int, has_parent: bool = False) -> str:
    """Return a warning of a number of updates that teaches next to nothing; "" if it is enough."""
    if steps >= FEW or has_parent:
        return ""
    return (
        f"{tell_count(steps, 'update')}: fewer than {FEW} teach a model next to nothing. "
        "Give more --steps, --epochs or --minutes"
    )


def tell_shortfall(plan: Plan, step: int, cpu_share: float | None) -> str:
    """Return how many fewer updates there were than planned, and why; "" if they were nearly all.

    cpu_share: the processor time that the updates had, as a share of their time on the clock times
    their threads; None where updates are not computed by the processor.
    """
    if plan.limits.seconds is None or step >= ENOUGH_OF_PLAN * plan.planned:
        return ""
    why = "updates took longer than at the beginning"
    if cpu_share is not None and cpu_share < BUSY:
        why = f"other programs used the machine, too: updates had {100 * cpu_share:.0f} % of it"
    minutes = math.ceil(plan.limits.seconds / 60 * plan.planned / max(step, 1))
    return (
        f"{step:,} of {plan.planned:,} planned updates were done, since {why}. "
        f"At this speed, {tell_count(minutes, 'minute')} would be needed for all of them"
    )


def write_plan(folder: Path, plan: Plan) -> None:
    """Write the decisions to the run's folder."""
    decisions = [asdict(each) for each in plan.decisions]
    write_json(folder / PLAN, {"validations": plan.validations, "decisions": decisions})


def read_plan(folder: Path, limits: PlanLimits) -> Plan | None:
    """Return the plan of a training that has begun; ValueError if the file is damaged."""
    path = folder / PLAN
    if not path.is_file():
        return None
    payload = read_json(path)
    try:
        decisions = [_read_decision(each) for each in payload["decisions"]]
        steps = [each.step for each in decisions]
        if steps[0] != 0 or steps != sorted(set(steps)) or payload["validations"] < 1:
            raise ValueError
        return Plan(limits, decisions, int(payload["validations"]))
    except (KeyError, TypeError, IndexError, AttributeError, ValueError):
        message = "damaged: it does not say how many updates were planned"
        raise ValueError(f"{path}: {message}") from None


def _read_decision(fields: Mapping[str, Any]) -> Decision:
    """Return a decision as it was written; ValueError, TypeError or KeyError if it is none."""
    numbers = {name: fields[name] for name in ("step", "steps", "review", "sentences")}
    is_whole = all(isinstance(each, int) for each in numbers.values())
    if not is_whole or fields["steps"] < max(1, fields["step"]):
        raise ValueError
    costs = Costs(**{name: float(seconds) for name, seconds in fields["costs"].items()})
    return Decision(**numbers, is_only_last=bool(fields["is_only_last"]), costs=costs)

"""A night: the steps of the plan, one after the other, until a model is published."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from glassformer.config import Config
from glassformer.data.files import count_lines, read_lines
from glassformer.foundation.disk import write_text
from glassformer.foundation.machine.properties import look_at_machine
from glassformer.foundation.progress import Reporter
from glassformer.model.files.directory import locate
from glassformer.train import Summary
from glassformer.train.plan.auto import (
    MOST_MINUTES,
    PARENTS,
    CorpusStats,
    choose_settings,
    count_passes,
    measure_corpus,
)
from glassformer.train.run.process import listen_for_stop

from ..averaging.soup import make_soup
from ..honest.held_out import spread_evenly
from .ending import MARGIN, EndWeights, measure_weights, weigh_texts
from .parents import choose_dropout, choose_parent, compare_sizes, read_layers
from .planning import (
    MEMBERS,
    SHORTEST,
    Circumstances,
    PlannedStep,
    StepResult,
    choose_base,
    explain_dropped,
    find_enough,
    list_coming,
    measure_gain,
    pays,
    plan_steps,
    read_scores,
)
from .publishing import finish
from .state import DATA, STEPS, NightState, count_left, write_state
from .texts import PARTS, NightTexts, gather_text, read_through, write_parts
from .trainings import (
    TrainingJob,
    make_corpus,
    measure_copies,
    measure_speed,
    read_spent,
    run_training,
    score_models,
    time_sentence,
)

if TYPE_CHECKING:
    from ..cluster.ray_calls import Cluster

SINGLE = ("auto", "parent", *MEMBERS, "soup", "student", "polish")
MEASURED = 10.0  # minutes of a night from which on the speed is measured, not estimated
LEAST_MINUTES = 2.0  # of a training by auto
LEAST_LINES, SAMPLE = 20, 30  # translated in any case; translated to measure the speed
MOST_MONO = 2  # times the pairs: lines of a text in one language that are translated
BT, NONE = "bt", "none"
# Pairs that models make: their names, and the tags before their sources.
MADE: tuple[tuple[str, str | None], ...] = (
    ("mono-back", BT),
    ("mono-forward", None),
    ("turned", None),
    ("forward", None),
)
SLOW = 0.3  # of the learning rate, where the best model goes on with the pairs
BEST = 3  # members of a soup in any case
NEAR = 1.0  # chrF++ that a further member may be behind the best
SHAPES = ("model.", "text.")  # settings of these are those of a parent


class StoppedNight(Exception):
    """A night that was asked to stop: Ctrl-C, or SIGTERM; the message says how to go on."""


class Night:
    """A night in its folder; `run` makes step after step and keeps the state after each."""

    def __init__(
        self,
        folder: Path,
        state: NightState,
        report: Reporter,
        device: str = "auto",
        cluster: Cluster | None = None,
    ):
        self.folder, self.state, self.report, self.device = folder, state, report, device
        self.cluster = cluster
        self.request = state.request
        self.langs = self.request.source_lang, self.request.target_lang
        self.texts = NightTexts(folder / DATA)
        self.clock: Callable[[], float] = time.monotonic
        self.latest = self.clock()

    def run(self) -> Path:
        """Make all steps that are missing, and return the folder of the published model.

        StoppedNight after Ctrl-C or SIGTERM.
        """
        if self.state.is_cleared:
            return self.folder / "model"
        try:  # on a cluster, the trainings end with Ray, and have their checkpoints
            with listen_for_stop(_interrupt):
                return self.make_all()
        except KeyboardInterrupt:
            raise self.stopped from None

    def make_all(self) -> Path:
        """Make all steps that are missing, and the end."""
        self.prepare()
        self.look_for_copies()
        while steps := self.plan():
            for step in steps:
                self.say(f"{step.name}, about {_tell_minutes(step.minutes)}: {step.why}")
            self.state.begun[: len(steps)] = steps
            write_state(self.folder, self.state)
            self.keep(self.make(*steps) if len(steps) == 1 else self.train_together(steps))
            self.look_for_copies()
        self.choose()
        return finish(self)

    def plan(self) -> list[PlannedStep]:
        """Return the next steps: those that were stopped, with no more minutes than are left.

        Of more than there are workers now, each has its share of these.
        """
        self.count_begun()
        left, begun, at = count_left(self.state), self.state.begun, self.circumstances
        if not begun:
            self.explain_changes(at, left)
            return plan_steps(at, self.state.steps, left)
        left = (left - at.measured_reserve) / -(-len(begun) // at.workers)
        steps = list[PlannedStep]()
        for step in begun[: at.workers]:
            minutes = min(step.minutes, left + self.state.counted[step.name])
            steps.append(replace(step, minutes=max(SHORTEST, minutes)))
        return steps

    def count_begun(self) -> None:
        """Count what trainings had spent before a kill, once for those that ran at a time."""
        counted = self.state.counted
        spent = {step.name: read_spent(self.place(step.name)) for step in self.state.begun}
        more = (minutes - counted.get(name, 0.0) for name, minutes in spent.items())
        self.state.spent += 60 * max(0.0, max(more, default=0.0))
        self.state.counted = spent

    def explain_changes(self, at: Circumstances, left: float) -> None:
        """Say which steps, and which text, are left out of the plan, and why."""
        done, coming = self.state.steps, list_coming(at, self.state.steps, left)
        names = {each.name for each in done}
        dropped = [each for each in self.state.announced if each not in {*names, *coming}]
        for reason, steps in explain_dropped(at, done, dropped).items():
            self.say(f"{', '.join(steps)} left out: {reason}")
        self.state.announced = coming
        if at.has_more and "made" not in {*names, *coming} and not self.state.unused:
            enough = _tell_minutes(find_enough(at))
            why = f"to translate it, a night of these pairs needs about {enough}"
            self.leave_out(self.texts_in_one, why)
        elif "made" in coming:
            self.state.unused = ""

    @property
    def texts_in_one(self) -> list[str]:
        """Return the paths of the text in one language."""
        return [*filter(None, (self.request.mono_source, self.request.mono_target))]

    def leave_out(self, paths: Sequence[str], why: str) -> None:
        """Say that text in one language is not used, and keep it for the card."""
        text = f"{' and '.join(Path(path).name for path in paths)} not used: {why}"
        if text != self.state.unused:
            self.say(text)
            self.state.unused = text

    @property
    def circumstances(self) -> Circumstances:
        request = self.request
        return Circumstances(
            self.state.minutes,
            self.state.usual,
            bool(self.state.parent),
            request.size is not None,
            self.cluster.workers if self.cluster else 1,
            self.state.cost,
            self.state.pairs,
            self.state.copied,
            bool(self.texts_in_one),
            *self.time_end(),
        )

    def time_end(self) -> tuple[float, float]:
        """Return the minutes of the end, and those of the test text in it; 0 if not measured."""
        if not self.state.pace:
            return 0.0, 0.0
        pace = MARGIN * self.state.pace / 60
        return pace * self.weights.total, pace * self.weights.test

    @cached_property
    def weights(self) -> EndWeights:
        return measure_weights(self.texts, self.langs[0])

    @property
    def stopped(self) -> StoppedNight:
        """Return the error that says how a night goes on that was told to stop."""
        return StoppedNight(f"Stopped. The same command, or --out {self.folder}, goes on")

    def place(self, name: str) -> Path:
        """Return the folder of the model of a step."""
        return self.folder / STEPS / name

    def say(self, text: str) -> None:
        """Say a choice with its reason, and keep it for the report."""
        self.report.say(f"\n== {text}")
        if text not in self.state.said[-1:]:  # after a kill, a step is begun again
            self.state.said.append(text)

    def keep(self, results: Sequence[StepResult] = ()) -> None:
        """Count the time since the last step, and write the state."""
        self.state.spent -= self.state.under_way
        seconds, self.state.under_way = self.state.under_way + self.read_clock(), 0.0
        counted = [self.state.counted.pop(each.name, 0.0) for each in results]
        since = [each.minutes - before for each, before in zip(results, counted, strict=True)]
        minutes = max(seconds / 60, *since, 0)
        for each, before in zip(results, counted, strict=True):
            self.state.steps.append(replace(each, minutes=before + minutes))
            self.state.chosen, self.state.ended = "", {}
            score = "" if each.score is None else f": chrF++ {each.score:.2f}"
            self.say(f"{each.name} took {before + minutes:.1f} minutes{score}")
            self.state.begun = [step for step in self.state.begun if step.name != each.name]
        self.state.spent += 60 * minutes
        write_state(self.folder, self.state)

    def read_clock(self) -> float:
        """Return the seconds since the clock was read last."""
        now = self.clock()
        seconds, self.latest = now - self.latest, now
        return seconds

    def count_shard(self, lines: int) -> None:
        """Count the time of a step that is no training, so that a kill loses little of it."""
        seconds = self.read_clock()
        self.state.spent += seconds
        self.state.under_way += seconds
        write_state(self.folder, self.state)

    def prepare(self) -> None:
        """Check and split the pairs, and estimate what auto takes, unless that was done."""
        request = self.request
        if not self.texts.is_complete:
            inputs = request.data, request.valid, request.test
            for path in self.texts_in_one:
                read_through(path)  # before hours go into what comes before it
            self.texts, remark = write_parts(self.folder / DATA, *inputs, self.langs, request.seed)
            self.say(remark)
        if self.state.parent is None:
            self.choose_parent()
        if not (self.state.usual and self.state.pairs):  # earlier versions did not note the pairs
            self.estimate_usual()
            self.say(f"auto takes about {self.state.usual:.1f} minutes for these pairs here")
            self.keep()
        if not self.state.pace:
            self.time_shipped()
            self.keep()

    def look_for_copies(self) -> None:
        """Measure how many of its pairs the first model repeats, if a step depends on it."""
        at = self.circumstances
        left = count_left(self.state) - at.reserve
        is_known = self.state.copied is not None or at.has_more or at.has_own_size
        if is_known or self.state.begun or not self.scores or left < at.need:
            return
        model = self.place(choose_base(self.state.steps))
        self.state.copied = measure_copies(model, self.texts.read("train"))
        self.say(f"of its own pairs, the first model repeats {100 * self.state.copied:.0f} %")
        self.keep()

    def time_shipped(self) -> None:
        """Measure how fast a shipped model translates here, until one of these pairs is there."""
        sources = spread_evenly(self.texts.read("test")[0], SAMPLE)
        seconds = time_sentence([locate(PARENTS[0])], sources, self.clock)
        self.state.pace = seconds * len(sources) / weigh_texts(sources)

    def choose_parent(self) -> None:
        """Choose the model to start from: the one asked for, or a shipped one that fits."""
        asked, changes = self.request.parent, self.request.changes
        self.state.parent = "" if asked == NONE else asked or ""
        has_shape = self.request.size or any(each.startswith(SHAPES) for each in changes)
        if asked is None and not has_shape:
            texts = self.texts.read("train")
            self.state.parent = choose_parent(self.langs, texts)
            self.state.reverse_parent = choose_parent(self.langs[::-1], texts[::-1])
            if self.state.parent:
                self.say(
                    f"{self.state.parent} is there to start from: it knows one of the languages, "
                    "and all are written alike (--from none: the pairs alone)"
                )

    def estimate_usual(self) -> None:
        """Estimate the minutes that auto takes, more where other programs use the processors.

        A training from a parent takes as many times that as its model has more weights. A longer
        night measures both.
        """
        stats = measure_corpus(zip(*self.texts.read("train"), strict=True))
        self.state.pairs = stats.pairs
        if self.state.minutes >= MEASURED:
            self.measure_usual(stats)
            return
        raw = {"recipe": "auto", "size": self.request.size or "auto"}
        machine = look_at_machine(self.folder)
        config = Config.read(raw, self.request.changes)
        config = choose_settings(config, stats, machine)[0]
        busy = 1 + measure_load() if machine.device == "cpu" else 1.0
        self.state.usual = float(config.train.minutes or 1.0) * busy
        if self.state.parent:
            self.state.cost = compare_sizes(self.state.parent, config)

    def measure_usual(self, stats: CorpusStats) -> None:
        """Measure what auto takes, and what a training from a parent takes, by a few updates."""
        self.report.say("A few updates show how fast trainings are here")
        speed = self.measure_speed("auto")
        minutes = 2 * stats.tokens * count_passes(stats.pairs) / speed / 60
        self.state.usual = min(max(LEAST_MINUTES, minutes), MOST_MINUTES)
        if self.state.parent:
            self.state.cost = max(1.0, speed / self.measure_speed("parent"))

    def measure_speed(self, name: str) -> float:
        """Return the tokens a second of the first updates of a step's training."""
        folder = self.folder / "speed"
        shutil.rmtree(folder, ignore_errors=True)
        few = [folder / part for part in ("valid.source", "valid.target")]
        for path, lines in zip(few, self.texts.read("valid"), strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, "".join(f"{line}\n" for line in lines[:2]))
        job = self.describe(name, self.state.minutes)
        job = replace(job, out=folder / "model", valid=[str(path) for path in few])
        speed = measure_speed(job, self.device)
        shutil.rmtree(folder, ignore_errors=True)
        return speed

    def make(self, step: PlannedStep) -> list[StepResult]:
        """Make a step; return the chrF++ of its model, and the minutes that are known of it."""
        name, minutes = step.name, step.minutes
        if name == "made":
            self.make_pairs(minutes)
        elif name == "taught":
            source = self.texts.name("train")[0]
            self.translate("taught", self.list_teachers(), "forward", source, minutes)
        elif name == "soup":
            return [StepResult(name, 0.0, self.make_soup())]
        elif name == "ensemble":
            return [StepResult(name, 0.0, self.score_ensemble())]
        else:
            return [self.judge(name, run_training(self.describe(name, minutes), self.device))]
        return [StepResult(name, 0.0)]

    def train_together(self, steps: Sequence[PlannedStep]) -> list[StepResult]:
        """Train the models of several steps at a time, on the machines of a cluster."""
        assert self.cluster
        jobs = [(self.describe(step.name, step.minutes), self.device) for step in steps]
        self.report.say(
            f"{len(jobs)} trainings at a time; run/metrics.jsonl of each says how it goes"
        )
        summaries = self.cluster.call(run_training, jobs)
        return [self.judge(*each) for each in zip([s.name for s in steps], summaries, strict=True)]

    def judge(self, name: str, summary: Summary) -> StepResult:
        """Return the result of a training: its minutes, and the chrF++ of a model of these pairs.

        StoppedNight if it was told to stop.
        """
        if not summary.is_finished:
            raise self.stopped
        spent = summary.progress.spent / 60
        if name == "reverse":
            return StepResult(name, spent)
        return StepResult(name, spent, self.score([self.place(name)]))

    def score(self, models: Sequence[Path]) -> float:
        """Return the chrF++ of a model, or an ensemble, on the validation text.

        It shows how fast a model translates, too.
        """
        pairs = self.texts.read("valid")
        began = self.clock()
        score = score_models(models, pairs)["chrF++"]
        if len(models) == 1:
            self.state.pace = (self.clock() - began) / weigh_texts(pairs[0])
        return score

    def describe(self, name: str, minutes: float) -> TrainingJob:
        """Return the training of a step."""
        request, valid = self.request, self.texts.name("valid")
        job = TrainingJob(
            self.place(name),
            self.langs,
            [(self.texts.name("train"), None)],
            valid,
            minutes,
            request.seed,
            changes=request.changes,
        )
        parent = Path(self.state.parent) if self.state.parent else None
        if name == "auto":
            return replace(job, size=request.size)
        is_by_heart = self.circumstances.is_by_heart  # so each training makes many passes
        dropout = choose_dropout(inf if is_by_heart else minutes, self.state.usual)
        if name == "parent":
            return replace(job, parent=parent, changes=[dropout, *request.changes])
        if name == "reverse":
            turned = [(self.texts.name("train")[::-1], None)]
            job = replace(job, langs=self.langs[::-1], corpora=turned, valid=valid[::-1])
            if self.state.reverse_parent:
                start, changes = Path(self.state.reverse_parent), [dropout, *request.changes]
                return replace(job, parent=start, changes=changes)
            return job
        if name == "polish":
            best = self.place(self.best)
            return replace(job, parent=best, has_new_tokens=False, pace=SLOW)
        if choose_base(self.state.steps) == "parent" and not (name == "student" and request.size):
            job = replace(job, parent=parent, changes=[dropout, *request.changes])
        if name == "student":
            more = MADE[:2] if pays(self.state.steps) else ()
            corpora = self.list_corpora(("taught", None), *more)
            return replace(job, size=request.size, corpora=corpora)
        if is_by_heart and not job.parent:
            job = replace(job, parent=self.place("auto"), has_new_tokens=False)
        elif not is_by_heart and pays(self.state.steps):
            job = replace(job, corpora=self.list_corpora(*MADE))
        has_pairs_alone = bool(job.parent) and len(job.corpora) == 1  # as the first one had
        number = MEMBERS.index(name) + has_pairs_alone
        return replace(job, seed=request.seed + number)

    def list_corpora(self, *more: tuple[str, str | None]) -> list[tuple[Sequence[str], str | None]]:
        """Return the pairs of people, and those made pairs that are there, with their tags.

        Of what a model makes that knows nothing yet, no pair is kept: such a file is a header.
        """
        there = [(self.made(name), tag) for name, tag in more]
        return [
            (self.texts.name("train"), None),
            *(
                ([str(path)], tag)
                for path, tag in there
                if path.is_file() and count_lines(path) > 1
            ),
        ]

    def made(self, name: str) -> Path:
        return self.folder / "made" / f"{name}.tsv"

    def make_pairs(self, minutes: float) -> None:
        """Translate both sides of the pairs, and the texts in one language."""
        base, reverse = [self.place(choose_base(self.state.steps))], [self.place("reverse")]
        source, target = self.texts.name("train")
        jobs = [("turned", reverse, "back", target), ("forward", base, "forward", source)]
        if path := self.request.mono_target:
            jobs.append(("mono-back", reverse, "back", self.gather("target", path)))
        if path := self.request.mono_source:
            jobs.append(("mono-forward", base, "forward", self.gather("source", path)))
        for name, models, kind, text in jobs:
            self.translate(name, models, kind, text, minutes / len(jobs))

    def gather(self, side: str, path: str) -> str:
        """Write the lines of a text in one language that are in no part of the pairs.

        None is a relative of a line of the validation or test text.
        """
        number = ("source", "target").index(side)
        train, valid, test = (self.texts.read(part)[number] for part in PARTS)
        most = MOST_MONO * len(train)
        lines = gather_text(path, most, train, [*valid, *test])
        out = self.folder / "made" / f"mono.{side}"
        text = "".join(f"{line}\n" for line in lines)
        if not out.is_file() or out.read_text(encoding="utf-8") != text:
            out.parent.mkdir(parents=True, exist_ok=True)
            write_text(out, text)
        self.say(
            f"{Path(path).name}: {len(lines):,} lines, of {most:,} at most, none in the pairs, and "
            "none nearly in their validation or test text"
        )
        if not lines:
            self.leave_out([path], "no line of it is new")
        return str(out) if lines else ""

    def translate(
        self, name: str, models: Sequence[Path], kind: str, text: str, minutes: float
    ) -> None:
        """Write pairs that models make of a text, or of as much of it as there is time for."""
        if not text or self.made(name).is_file():
            return
        part = self.made(name).with_suffix(f".{kind}")
        if not part.is_file():
            part.parent.mkdir(parents=True, exist_ok=True)
            lines = list(read_lines(Path(text)))
            sample = lines[:: max(1, len(lines) // SAMPLE)]
            seconds = time_sentence(models, sample, self.clock)
            few = lines[: max(LEAST_LINES, int(60 * minutes / seconds))]
            write_text(part, "".join(f"{line}\n" for line in few))
            self.say(f"{name}: {len(few):,} of {len(lines):,} lines are translated in the time")
        make_corpus(models, kind, part, self.made(name), self.report, self.count_shard)

    @property
    def scores(self) -> dict[str, float]:
        return read_scores(self.state.steps)

    def list_members(self) -> list[Path]:
        """Return the models of a soup or an ensemble: those with the tokens of the better pairs."""
        names = [name for name in self.scores if name in MEMBERS]
        base = choose_base(self.state.steps)
        if self.circumstances.is_by_heart:
            names = [*[base] * (base == "parent"), *names]  # what they started from is none of them
        elif not pays(self.state.steps):
            names = [base, *(name for name in names if name != "member-1")]
        return [self.place(name) for name in names]

    def list_teachers(self) -> list[Path]:
        """Return the models that teach: the ensemble, if it is better than its best member."""
        if "ensemble" in self.scores and measure_gain(self.scores) > 0:
            return self.list_members()
        return [self.place(self.find_best(SINGLE))]

    def make_soup(self) -> float | None:
        """Make the mean of the weights of the best members, and of those nearly as good.

        Return its chrF++; None of fewer than two members, or if they started from nothing.
        """
        members = sorted(self.list_members(), key=lambda each: -self.scores[each.name])
        least = self.scores[members[0].name] - NEAR
        near = [m for n, m in enumerate(members) if n < BEST or self.scores[m.name] >= least]
        out = self.place("soup")
        shutil.rmtree(out, ignore_errors=True)
        try:
            make_soup(near, out)
        except ValueError as error:
            self.say(f"no soup: {error}")
            return None
        self.say(f"soup: the mean of the weights of {', '.join(each.name for each in near)}")
        return self.score([out])

    def score_ensemble(self) -> float:
        """Return the chrF++ of the ensemble; of fewer than two members, that of the best."""
        members = self.list_members()
        if len(members) < 2:
            return max(self.scores.values())
        return self.score(members)

    def find_best(self, names: Sequence[str]) -> str:
        """Return which of these steps has the best model; of equals the first."""
        return max((name for name in names if name in self.scores), key=self.scores.__getitem__)

    @property
    def best(self) -> str:
        """Return the best step whose model has the size that was asked for."""
        return self.find_best([name for name in SINGLE if self.has_asked_size(name)])

    def has_asked_size(self, name: str) -> bool:
        """Return whether the model of a step is as large as auto's, if a size is asked for."""
        if self.request.size is None or name not in self.scores:
            return True
        return read_layers(self.place(name)) == read_layers(self.place("auto"))

    def choose(self) -> None:
        """Say which model is the result."""
        if not self.state.chosen:
            self.state.chosen = self.best
            others = ", ".join(f"{name} {score:.2f}" for name, score in self.scores.items())
            are_all = all(map(self.has_asked_size, self.scores.keys() & {*SINGLE}))
            size = "" if are_all else f" of the size {self.request.size}"
            self.say(
                f"{self.best} is the result, the best model{size} on the validation text ({others})"
            )
            self.keep()


def _interrupt() -> None:
    raise KeyboardInterrupt


def measure_load() -> float:
    """Return how many processes want each processor already.

    The load is that of the whole machine, also where this process may use only some of it.
    """
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return load / (os.cpu_count() or 1)


def _tell_minutes(minutes: float) -> str:
    if minutes < 60:
        return f"{minutes:.1f} minutes"
    return f"{int(minutes // 60)} h {int(minutes % 60)} min"


def drop_steps(folder: Path, state: NightState) -> None:
    """Remove what only the night itself needed, and note that it cannot go on."""
    state.is_cleared = True
    write_state(folder, state)
    for name in (STEPS, "made"):
        shutil.rmtree(folder / name, ignore_errors=True)


def describe_state(state: NightState) -> dict[str, Any]:
    """Return the steps and the choices for JSON."""
    return {
        "steps": [vars(each) for each in state.steps],
        "chosen": state.chosen,
        "outcome": state.outcome,
        "said": state.said,
        "minutes": round(state.spent / 60, 2),
    }

"""The plan of a night: which step comes next, for how many minutes, and why.

The unit is what the recipe auto takes for these pairs on this machine (`usual`). A training from a
larger model, the parent, takes a multiple of it (`cost`). Of all programs, the longest is made in
which each training has what it needs: twice the unit, or nearly the multiple. With less, one
training has all minutes to itself: that from a parent, if there is one, or auto. In a longer night,
a model of the other direction makes further pairs, and a second training learns from them too; in
the longest, several such models, as an ensemble, teach a last one. Each step is decided once the
one before it has been measured on the validation text. With a parent and few pairs, auto is left
out: where that was measured, it was behind (docs/experiments.md).

A model that has seen few pairs often enough repeats their translations word by word: what it would
make of their sources are the pairs once more. Then, and without other text, what is left of the
time is for trainings of the same pairs with other seeds, from the parent or else from the first
model itself, for the mean of their weights.

Sources: back-translation (Sennrich et al. 2016), tagged (Caswell et al. 2019); data diversification
(Nguyen et al. 2020); distillation of an ensemble (Kim and Rush 2016; Freitag et al. 2017); the
mean of several models' weights (Wortsman et al. 2022).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

LONGEST, LONGEST_SHARE = 1.5, 1 / 8  # of its need, of all minutes: more is for others to use
POLISH = 0.75  # of the need of a training, at most
END, MOST_END = 0.06, 0.25  # of all minutes, for the end (publishing, the test): at least, at most
MOST_TEST = 0.5  # of all minutes, for the test text alone, which is translated as a whole
LEAST = 2.0  # of `usual`: a program in which a training has less is not made
LEAST_PARENT = 0.9  # the same of a training from a parent, as a share of what it costs
MOST_COST = 5.0  # times `usual`
FEW = 20_000  # pairs: with more, auto may be as good as a start from a parent
LEAST_ALONE = 0.75  # of `usual`: with less, a parent, which is larger, makes too few updates
SHORTEST = 0.05  # minutes: of the first training in any case
BY_HEART = 0.8  # of their pairs: models that repeat so many have nothing to add to them
MEMBERS = [f"member-{number}" for number in range(1, 8)]  # the most, of pairs known by heart
LONGER = 1.1  # times the minutes that were tried before, to find those that are enough
ENOUGH = 0.6  # of the need of another training: of pairs known by heart
GAIN = 0.3  # chrF++ that an ensemble has to gain for its distillation
# Shares of the time that is left; what a step does not need goes to the later ones.
SHARES = {
    "auto": 3.0,
    "parent": 3.0,
    "reverse": 2.0,
    "made": 1.0,
    "member-1": 4.0,
    "member-2": 3.0,
    "member-3": 3.0,
    "soup": 0.2,
    "ensemble": 0.2,
    "taught": 0.5,
    "student": 4.0,
    "polish": 1.0,
}
# What is left out first where time is short.
OPTIONAL = (("member-3",), ("member-2", "soup", "ensemble", "taught", "student"), ("polish",))
UNTIMED = {"made", "soup", "ensemble", "taught"}  # these are cut to the time that there is
SHORT = {"reverse", "polish"}  # these trainings need less time than that of auto
NAMES = {*SHARES, *MEMBERS}  # of all steps
TOGETHER = (("auto", "parent", "reverse"), ("member-2", "member-3"))  # none needs another of them


@dataclass(frozen=True)
class Circumstances:
    """The circumstances of a night that a plan depends on, besides the steps that were made."""

    minutes: float  # in all
    usual: float  # minutes that the recipe auto takes
    has_parent: bool = False  # there is a model to start from
    has_own_size: bool = False  # the size is given: only models of it can be the result
    workers: int = 1  # trainings at a time
    cost: float = 1.0  # of a training from the parent, in times `usual`
    pairs: int = 0
    copied: float | None = None  # of its own pairs: those that the first model repeats
    has_more: bool = False  # there is text in one language, too
    end: float = 0.0  # minutes of the end, as they were measured
    test: float = 0.0  # of these, those of the test text

    @property
    def is_by_heart(self) -> bool:
        """Return whether models would make the pairs that there are, and no others."""
        return (self.copied or 0.0) >= BY_HEART and not self.has_more

    @property
    def has_branches(self) -> bool:
        """Return whether what is left of the time is for other seeds of the same pairs."""
        return self.is_by_heart and not self.has_own_size

    @property
    def need(self) -> float:
        """Return the least minutes of a training of a program with several."""
        parent = LEAST_PARENT * min(self.cost, MOST_COST) if self.has_parent else 0.0
        return self.usual * max(LEAST, parent)

    @property
    def reserve(self) -> float:
        """Return the minutes that are kept for the end."""
        return max(END * self.minutes, self.measured_reserve)

    @property
    def measured_reserve(self) -> float:
        """Return how many of the minutes that the end was measured to take are kept for it."""
        test = min(self.test, MOST_TEST * self.minutes)
        return max(test, min(self.end, MOST_END * self.minutes))


@dataclass(frozen=True)
class StepResult:
    """A step that was made: its minutes, and the chrF++ of its model on the validation text.

    score: None for a step that makes no model.
    """

    name: str
    minutes: float
    score: float | None = None


@dataclass(frozen=True)
class PlannedStep:
    """The next step, its minutes, and why it is made."""

    name: str
    minutes: float
    why: str


def plan_steps(at: Circumstances, done: Sequence[StepResult], left: float) -> list[PlannedStep]:
    """Return the next step, and those that are made with it; none once only the end is to come.

    left: the minutes that are left of all.
    """
    scores = read_scores(done)
    if scores and at.has_branches:
        return _plan_branches(at, done, scores, max(0.0, left - at.reserve))
    minutes = choose_program(at, done, left)
    steps = [*minutes]
    if not steps:
        return []
    whys = [_explain(each, scores) for each in steps]
    if not scores:
        minutes[steps[0]] = max(SHORTEST, minutes[steps[0]])
        whys[0] = _tell_program(at, steps, minutes[steps[0]])
    return _pair(steps, minutes, whys, at.workers)


def choose_program(at: Circumstances, done: Sequence[StepResult], left: float) -> dict[str, float]:
    """Return the minutes of each step to come, of the longest program that there is time for."""
    scores = read_scores(done)
    for steps in list_programs(at, {each.name for each in done}, scores):
        minutes = share_minutes(steps, max(0.0, left - at.reserve), at)
        if not steps:
            continue
        first = len(steps) == 1 or minutes[steps[0]] >= at.need
        if _suffices(minutes, at.need) if scores else first:
            return minutes
    return {}


def list_coming(at: Circumstances, done: Sequence[StepResult], left: float) -> list[str]:
    """Return the names of the steps that are to come, as far as they are known."""
    if read_scores(done) and at.has_branches:
        return [*MEMBERS, "soup"]
    return [*choose_program(at, done, left)]


def find_enough(at: Circumstances) -> float:
    """Return the minutes of a night in which models make pairs, for the time is enough."""
    minutes = at.usual
    while "made" not in choose_program(replace(at, minutes=minutes), [], minutes):
        minutes *= LONGER
    return minutes


def explain_dropped(
    at: Circumstances, done: Sequence[StepResult], names: Sequence[str]
) -> dict[str, list[str]]:
    """Return why steps that were to come are left out: the names by the reason."""
    scores, reasons = read_scores(done), dict[str, list[str]]()
    gain = measure_gain(scores) if "ensemble" in scores else GAIN
    for name in names:
        reason = "too little time is left"
        if at.has_branches:
            reason = "the first model knows its pairs by heart"
        elif name in ("taught", "student") and gain < GAIN:
            reason = (
                f"together, the models are at {gain:+.1f} chrF++ from the best single one: from "
                f"{GAIN:+.1f} on, they would teach one model"
            )
        elif name == "soup" and scores.get("auto", 0.0) > scores.get("parent", 100.0):
            reason = "models that start from nothing have no start in common"
        reasons.setdefault(reason, []).append(name)
    return reasons


def _plan_branches(
    at: Circumstances, done: Sequence[StepResult], scores: dict[str, float], left: float
) -> list[PlannedStep]:
    """Return further trainings with other seeds; after the last, the mean of their weights."""
    names = [name for name in MEMBERS if name not in scores]
    shortest = ENOUGH * at.need
    most = min(len(names), int(left / shortest) * at.workers)
    if most:
        minutes = min(left / -(-most // at.workers), LONGEST * at.need)
        why = _explain("branch", scores)
        return [PlannedStep(name, minutes, why) for name in names[: min(most, at.workers)]]
    is_over = len(names) == len(MEMBERS) or any(each.name == "soup" for each in done)
    return [] if is_over else [PlannedStep("soup", left, _explain("soup", scores))]


def _pair(
    steps: Sequence[str], minutes: dict[str, float], whys: Sequence[str], workers: int
) -> list[PlannedStep]:
    """Return the steps that come first, with their minutes and reasons."""
    first = group_steps(steps, workers)[0]
    return [PlannedStep(name, minutes[name], why) for name, why in zip(first, whys, strict=False)]


def group_steps(steps: Sequence[str], workers: int) -> list[list[str]]:
    """Return the steps in their order, those together that are made at a time."""
    groups = list[list[str]]()
    for name in steps:
        kin = next((each for each in TOGETHER if name in each), ())
        if groups and groups[-1][0] in kin and len(groups[-1]) < workers:
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups


def share_minutes(steps: Sequence[str], left: float, at: Circumstances) -> dict[str, float]:
    """Return the minutes of each step; one with others behind it has no more than it needs."""
    results = dict[str, float]()
    groups = group_steps(steps, at.workers)
    longest = max(LONGEST * at.need, LONGEST_SHARE * at.minutes)
    weights = [max(SHARES[name] for name in group) for group in groups]
    for place, group in enumerate(groups):
        share = left * weights[place] / sum(weights[place:])
        minutes = share if place == len(groups) - 1 else min(share, longest)
        if group == ["polish"]:
            minutes = min(share, POLISH * at.need)
        results |= dict.fromkeys(group, minutes)
        left -= minutes
    return results


def _suffices(minutes: dict[str, float], need: float) -> bool:
    """Return whether each training of a program has enough time."""
    return all(
        each >= need * (SHARES[name] / SHARES["auto"] if name in SHORT else 1)
        for name, each in minutes.items()
        if name not in UNTIMED
    )


def list_programs(
    at: Circumstances, named: set[str], scores: dict[str, float]
) -> Iterator[list[str]]:
    """Yield the programs of the steps that are still worth their time, the longest first.

    named: the steps that were made.
    """
    left_out = set[str]()
    if not at.has_parent or scores.get("auto", 0.0) > scores.get("parent", 100.0):
        left_out = {"soup"}  # what starts from nothing has no start in common
    if not at.has_own_size and "ensemble" in named and measure_gain(scores) < GAIN:
        left_out |= {"taught", "student"}
    for more in ((), *OPTIONAL):
        left_out |= {*more} - ({"taught", "student"} if at.has_own_size else set())
        yield [each for each in list_all(at) if each not in named | left_out]
    if named & {"auto", "parent"}:
        yield [*({"polish"} - named)]
        return
    yield [start_alone(at)]


def start_alone(at: Circumstances) -> str:
    """Return the one training of a short night: from a parent, unless it would be cut too short."""
    is_parent = at.has_parent and not at.has_own_size and at.minutes >= LEAST_ALONE * at.usual
    return "parent" if is_parent else "auto"


def list_all(at: Circumstances) -> list[str]:
    """Return the names of all steps, in their order."""
    is_parent_best = at.has_parent and at.pairs <= FEW and not at.has_own_size
    left_out = "auto" if is_parent_best else "" if at.has_parent else "parent"
    return [name for name in SHARES if name != left_out]


def read_scores(done: Sequence[StepResult]) -> dict[str, float]:
    """Return the chrF++ of each step that made a model."""
    return {each.name: each.score for each in done if each.score is not None}


def measure_gain(scores: dict[str, float]) -> float:
    """Return how much better the ensemble is than the best single model, in chrF++."""
    single = max(score for name, score in scores.items() if name != "ensemble")
    return scores.get("ensemble", single) - single


def pays(done: Sequence[StepResult]) -> bool:
    """Return whether the pairs that models made have helped, or are not judged yet."""
    scores = read_scores(done)
    if "member-1" not in scores:
        return True
    return scores["member-1"] >= scores[choose_base(done)]


def choose_base(done: Sequence[StepResult]) -> str:
    """Return which of the models of the pairs alone is better: auto, or that from a parent."""
    scores = read_scores(done)
    return max(("auto", "parent"), key=lambda name: scores.get(name, -1.0))


def _explain(step: str, scores: dict[str, float]) -> str:
    if not scores:
        return REASONS[step]
    known = ", ".join(f"{name} {score:.1f}" for name, score in scores.items())
    return f"{REASONS[step]} (chrF++ on the validation text so far: {known})"


REASONS = {
    "auto": "the model that the others are compared with",
    "parent": "a start from another model is worth twice the pairs, where it helps",
    "reverse": "a model of the other direction makes further pairs",
    "made": "further pairs: translations of both sides, and of the text in one language",
    "member-1": "the first model of these pairs: it shows whether they help",
    "branch": "the first model knows its pairs by heart, so others learn them with other seeds",
    "soup": "the mean of the weights of models with one start often errs less than each",
    "member-2": "another seed of the better pairs, for an ensemble",
    "member-3": "a third seed: there is time for it",
    "ensemble": "together, models of several seeds err less",
    "taught": "the ensemble translates the sources, to teach one model",
    "student": "one model learns what the ensemble knows",
    "polish": "the best model goes on with the pairs that people wrote",
}


def _tell_program(at: Circumstances, steps: Sequence[str], minutes: float) -> str:
    if minutes <= SHORTEST:
        return "no time is left but for a first model"
    share = at.minutes / at.usual
    times = f"{share:.1f} times" if share >= 0.1 else "less than a tenth of"
    message = f"the time is {times} what auto takes for these pairs"
    if len(steps) == 1:
        which = ", from a model that is there" if steps == ["parent"] else ""
        return f"{message}: all of it is for one training{which}"
    return f"{message}, which is enough for {', '.join(steps[1:])}"

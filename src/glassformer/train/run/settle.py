"""All that is decided before the first update: once, and written down once.

`preparation` has chosen what depends on the corpus. Here follow the padding, and with minutes the
number of updates, which is measured, with the warm-up and the moving average that depend on it. A
resumed training takes all of it from run/config.toml and run/plan.json, and so gets the same
batches, rates and weights.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from ...config import Config, Model
from ...data.batches import FEW_SHAPES, Batch, Batches
from ...data.masking import choose_batches
from ...engine.kernels.tiles import has_tiles
from ...foundation.disk import write_text
from ...foundation.extensions import need_addition
from ...foundation.machine.device import choose_precision
from ...foundation.plurals import tell_count
from ...foundation.progress import Reporter
from ...foundation.shared_library import load_library
from ...model.files.directory import CHECKPOINTS, CONFIG
from ..plan import plan as planning
from ..plan.auto import MOST_MINUTES, choose_again, count_passes
from ..plan.hooks import NONE, Hooks
from ..plan.plan import PLAN, SAMPLE, Costs, Plan, PlanLimits
from ..plan.preparation import PreparedRun, weigh_parts
from .batch_fit import fit_batch
from .checkpoint import checkpoints
from .distributed import ProcessGroup
from .meter import time_updates
from .setup import Setup

DEFAULT_MINUTES = 20.0
MEASURING = 1 / 40  # of the minutes


def settle(
    out: Path,
    prepared: PreparedRun,
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
        if config.data.stage:
            need_addition("stages", "data.stage")(batches, config, prepared.store, sides, weights)
        return Setup(out, prepared, config, device, precision, group, report, batches, hooks=hooks)

    if config.train.fit_batch:
        config = fit_batch(config, make)
    setup = make(config)
    config = settle_epochs(config, setup.batches, report, setup.chosen)
    setup = replace(setup, config=config)
    limits = _set_limits(setup)
    result = planning.read_plan(setup.folder, limits) if limits.seconds else None
    if config.train.steps:
        plan = Plan.of_steps(config.train.steps, limits)
    elif result:
        plan = result
    else:
        plan = _measure_plan(setup, limits, began)
        if plan.limits != limits:
            config = config.changed(train={"minutes": (plan.limits.seconds or 0.0) / 60})
        config = choose_again(config, plan.planned, setup.chosen)
        setup, limits = replace(setup, config=config), plan.limits
    path = setup.folder / CONFIG
    if group.is_first and not (path.is_file() and Config.load(path) == config):
        write_text(path, config.to_toml())
    if group.is_first and limits.seconds and not result:
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
    updates = tell_count(steps, "update")
    report.say(f"{epochs}: {updates}, with a validation every {every:,}")
    result = config.changed(train={"epochs": None, "steps": steps, "validate_every": every})
    return choose_again(result, steps, chosen)


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
    result = setup.validate(updater.best_model, min(SAMPLE, limits.valid), 0)
    pause = clock() - start  # also the first guess for the costs that were not measured
    costs = Costs(update, pause / result.sentences, pause, pause)
    spent = clock() - began
    plan = _extend(setup, planning.begin(limits, spent, costs), spent, costs)
    train = choose_again(setup.config, plan.planned, setup.chosen).train
    setup.report.say(planning.tell_start(plan, spent, train))
    return plan


def _extend(setup: Setup, plan: Plan, spent: float, costs: Costs) -> Plan:
    """Return the plan with more minutes if auto chose too few: it only estimates the speed."""
    if "train.minutes" not in setup.chosen:
        return plan
    chosen = minutes = setup.config.train.minutes or DEFAULT_MINUTES
    passes = count_passes(sum(counts.kept for _, counts in setup.prepared.store.parts))
    updates = setup.batches.count_updates(passes, setup.config.train.gradient_accumulation)
    while plan.planned < updates and minutes < MOST_MINUTES:
        minutes = min(math.ceil(1.1 * minutes), MOST_MINUTES)
        plan = planning.begin(replace(plan.limits, seconds=minutes * 60), spent, costs)
    if minutes > chosen:
        setup.report.say(
            f"This machine is slower at present than was estimated: train.minutes={minutes:g} "
            f"instead of {chosen:g}, for {passes:.0f} passes over the pairs"
        )
    return plan

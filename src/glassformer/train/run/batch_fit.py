"""A batch that is grown until memory is full or nothing is gained: `train.fit_batch`.

It is found once, before the first update, and written into the settings of the run, so that a
resumed training has the same batches.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ...config import Config
from .meter import time_updates

if TYPE_CHECKING:
    from .setup import Setup

GAIN = 0.95  # a doubled batch is kept if an epoch takes at most so much of the time
SECONDS = 2.0  # for measuring one size, if so many updates have been made by then
LEAST = 8  # batches of an epoch: with fewer, updates are too rare


def fit_batch(config: Config, make: Callable[[Config], Setup]) -> Config:
    """Return the settings with `train.batch_tokens` doubled as long as that fits and pays.

    An update that sums several micro-batches stays as large: it sums half as many of doubled ones.
    """
    setup, is_summed = make(config), config.train.gradient_accumulation > 1
    setup.report.say("Growing the batch until memory is full, or an epoch takes no less time")
    epoch, why = _measure_epoch(setup), "more does not fit into memory"
    while epoch is not None:
        if is_summed and setup.config.train.gradient_accumulation % 2:
            why = "an update stays as large"
            break
        larger = make(_double(setup.config))
        if why := _explain_end(larger):
            break
        seconds = _measure_epoch(larger)
        if seconds is None or seconds > GAIN * epoch:
            why = "twice as many are not faster" if seconds else "more does not fit into memory"
            break
        setup, epoch = larger, seconds
    train = setup.config.train
    summed = train.gradient_accumulation
    beside = f", gradient_accumulation={summed}" if summed > 1 else ""
    setup.report.say(f"train.batch_tokens={train.batch_tokens:,}{beside}: {why}")
    return setup.config.changed(train={"fit_batch": False})


def _double(config: Config) -> Config:
    train = config.train
    summed = max(1, train.gradient_accumulation // 2)
    doubled = {"batch_tokens": 2 * train.batch_tokens, "gradient_accumulation": summed}
    return config.changed(train=doubled)


def _explain_end(larger: Setup) -> str:
    """Return why a larger batch is not even tried; "" if it is."""
    batches, group = larger.batches.count(0), larger.group
    if batches < LEAST * larger.config.train.gradient_accumulation * group.size:
        return f"an epoch would have only {batches} batches"
    is_full = larger.device.type == "cpu" and not has_memory_to_double()
    return "twice as many might not fit into memory" if any(group.sum(is_full)) else ""


def _measure_epoch(setup: Setup) -> float | None:
    """Return the seconds of an epoch; None if a whole batch does not fit into memory."""
    updater = setup.make_updater()
    setup.probe(updater)
    is_cut = setup.micro_batching.most_cells is not None
    if any(setup.group.sum(is_cut)):
        return None
    arguments = setup.report, SECONDS, setup.group.clock
    update = time_updates(updater, lambda step: setup.deal(step, updater), *arguments)
    return update * setup.batches.count_updates(1, setup.config.train.gradient_accumulation)


def has_memory_to_double() -> bool:
    """Return whether the machine has free what this process has used at most; True if unknown."""
    info = Path("/proc/meminfo")
    if find_spec("resource") is None or not info.is_file():
        return True
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    lines = info.read_text(encoding="utf-8").splitlines()
    (free,) = (int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    return used <= free

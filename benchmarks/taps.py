"""Measure what unused windows cost, as a share of an update and of a translation.

    python -m benchmarks taps [--size tiny]

The share is far below what clocks tell apart, so it is counted: how many windows a token of work
passes, times what a closed one takes, over the time of the work.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import ExitStack
from timeit import repeat
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from glassformer.config import Config, Decode
from glassformer.data.batches import Batch
from glassformer.decode import search
from glassformer.foundation.machine.device import choose_device, choose_precision, keep_memory
from glassformer.foundation.tap import Watchable, tap
from glassformer.model.transformer import Transformer
from glassformer.train.run.updates import Updater

VOCABULARY, ROWS, LENGTH, REPEATS, CALLS = 8000, 256, 16, 7, 100_000
MODULES = ("attention", "embedding", "feed_forward", "layers", "transformer")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--size", default="tiny")


def main(options: argparse.Namespace) -> None:
    keep_memory()
    scope = {"tap": tap, "owner": Watchable(), "x": torch.zeros(1)}
    each = min(repeat("tap(owner, 'x', x)", globals=scope, number=CALLS, repeat=15)) / CALLS
    print(f"a closed window: {each * 1e9:.0f} ns")
    for name, work in make_work(options.size).items():
        count, seconds = count_windows(work), measure(work)
        print(f"{name}: {count:,} windows, {seconds:.3f} s, {count * each / seconds:.4%}")


def make_work(size: str) -> dict[str, Callable[[], object]]:
    config = Config.read({"size": size})
    model, device = Transformer(config.model, VOCABULARY, VOCABULARY), choose_device("cpu")
    updater = Updater(model, config.train, device, choose_precision("auto", device))
    random = np.random.default_rng(0)
    sides = [random.integers(3, VOCABULARY, (ROWS, LENGTH + extra)) for extra in (0, 1)]
    batch = Batch(sides[0], sides[1], np.arange(ROWS))
    settings = Decode(search="greedy", max_ratio=0, max_extra=LENGTH)

    def translate(count: int) -> None:
        model.eval()
        with torch.inference_mode():
            search(model, [[*row, 2] for row in sides[0][:count].tolist()], settings)

    return {
        f"an update, {size}": lambda: updater.update(1, 1e-4, [batch]),
        f"one greedy translation, {size}": lambda: translate(1),
        f"32 greedy translations, {size}": lambda: translate(32),
    }


def count_windows(work: Callable[[], object]) -> int:
    count = 0

    def look(owner: Watchable, name: str, x: Any) -> Any:
        nonlocal count
        count += 1
        return tap(owner, name, x)

    with ExitStack() as stack:
        for name in MODULES:
            stack.enter_context(patch(f"glassformer.model.{name}.tap", look))
        work()
    return count


def measure(work: Callable[[], object]) -> float:
    """Return the shortest of several repetitions; the windows' share of it is an upper bound."""
    return min(repeat(work, number=1, repeat=REPEATS))

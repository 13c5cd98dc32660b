"""What each kernel saves in one training update: plain twin against kernel, interleaved.

    python benchmarks/kernels.py [--size tiny] [--precision bf16] [--repeats 9]

Random tokens in batches of 4,096 a side. Prints the median seconds of an update with all plain
twins, with each kernel alone, and with all of them; ratios are against all plain.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from glassformer.config import Config
from glassformer.data.batches import Batch
from glassformer.device import choose_device, choose_precision
from glassformer.kernels.dropout import Dropout
from glassformer.model import Transformer
from glassformer.train.updates import Updater

VOCABULARY, BUDGET, LENGTHS = 8000, 4096, (9, 12, 15, 18, 24)


def plain_dropout(self: Dropout, x: Tensor) -> Tensor:
    return functional.dropout(x, self.p, self.training)


def plain_attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor, dropout: Dropout) -> Tensor:
    scores = (q @ k.mT / q.size(-1) ** 0.5).masked_fill(~mask, -torch.inf)
    return dropout(scores.softmax(-1)) @ v


def plain_cross_entropy(y: Tensor, table: Tensor, target: Tensor, smoothing: float) -> Tensor:
    logits = (y @ table.T).float()
    return functional.cross_entropy(logits, target, label_smoothing=smoothing, reduction="sum")


TWINS = {
    "dropout": ("glassformer.kernels.dropout.Dropout.forward", plain_dropout),
    "attend": ("glassformer.model.attention.attend", plain_attend),
    "cross_entropy": ("glassformer.train.updates.smoothed_cross_entropy", plain_cross_entropy),
}
CASES = {"plain": [], **{name: [name] for name in TWINS}, "all": list(TWINS)}


@contextmanager
def only(kernels: list[str]) -> Iterator[None]:
    """Every kernel but these replaced by its plain twin."""
    patches = [patch(*twin) for name, twin in TWINS.items() if name not in kernels]
    for each in patches:
        each.start()
    try:
        yield
    finally:
        for each in patches:
            each.stop()


def batches() -> list[Batch]:
    random = np.random.default_rng(0)
    made = []
    for length in LENGTHS:
        rows = BUDGET // length
        sides = [random.integers(3, VOCABULARY, (rows, length + extra)) for extra in (0, 1)]
        made.append(Batch(*sides, np.arange(rows)))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", default="tiny")
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    config = Config.read({"size": options.size, "model": {"dropout": 0.2}})
    device = choose_device("cpu")
    precision = choose_precision(options.precision, device)
    model = Transformer(config.model, VOCABULARY, VOCABULARY)
    updater = Updater(model, config.train, device, precision)
    taken: dict[str, list[float]] = {case: [] for case in CASES}
    for repeat in range(options.repeats + 1):
        for case, kernels in CASES.items():
            with only(kernels):
                seconds = sum(updater.update(1, 1e-4, [batch]).seconds for batch in batches())
            if repeat:
                taken[case].append(seconds / len(LENGTHS))
    print(
        f"{options.size}, {precision}, {torch.get_num_threads()} threads, torch {torch.__version__}"
    )
    for case, seconds in taken.items():
        ratios = [a / b for a, b in zip(taken["plain"], seconds, strict=True)]
        print(
            f"{case:<14} {statistics.median(seconds):.3f} s an update  "
            f"{statistics.median(ratios):.2f} x as fast ({min(ratios):.2f}-{max(ratios):.2f})"
        )


if __name__ == "__main__":
    main()

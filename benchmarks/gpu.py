"""Measure one GPU: training in large batches, and translating few and many sentences at once.

    python -m benchmarks gpu --out gpu.json [--sizes base big] [--tokens 25000] [--cube 8192]

Sentences are random tokens, 25 on average; weights are as the seed makes them, so nothing ends
early: each translation is as long as it may be. Medians of repeats. `of the rate` compares the
products that tokens need, padding left out, with a large bf16 product in the same run; `of its
products`, the update with the time that its own products take one after the other. Prints Markdown,
writes JSON. With `--device cpu` and small sizes it runs anywhere.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from glassformer.config import BOS, EOS, PAD, Config, Decode, Model
from glassformer.data.batches import Batch
from glassformer.decode import Hypothesis, search
from glassformer.foundation.machine.device import autocast, choose_device
from glassformer.model.files.directory import write_text
from glassformer.model.transformer import Transformer
from glassformer.train.run.updates import Updater

from .ceilings import count_flops
from .tables import tell_table

COLUMNS = {
    "source+target tokens/s": ("tokens", ",.0f"),
    "s an update": ("seconds", ".3f"),
    "of the rate": ("share", ".1%"),
    "of its products": ("own", ".1%"),
    "MiB": ("memory", ",.0f"),
}
WARM = 3  # repeats that are not counted
LONG = 25  # tokens a sentence, in the middle
Shape = tuple[int, int, int, int]  # matrices, rows, depth, columns of a product


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--sizes", nargs="*", default=["base", "big"])
    parser.add_argument("--vocabulary", type=int, default=32_000)
    parser.add_argument("--tokens", type=int, default=25_000, help="a side in a batch")
    parser.add_argument("--cube", type=int, default=8192)
    parser.add_argument("--at-once", nargs="*", type=int, default=[1, 64, 1024])
    parser.add_argument("--repeats", type=int, default=10)


def main(options: argparse.Namespace) -> None:
    bench = Bench(options)
    rate = 2 * options.cube**3 / bench.time(bench.product((1, *[options.cube] * 3)))
    found: dict[str, Any] = {"device": bench.name, "torch": torch.__version__, "rate": rate}
    facts = f"{bench.name}, torch {torch.__version__}, {options.precision}"
    print(f"{facts}: {rate / 1e12:,.1f} TFLOP/s\n")
    found |= {size: bench.train(read_shape(size), rate) for size in options.sizes}
    rows = [
        [size, *(f"{found[size][name]:{how}}" for name, how in COLUMNS.values())]
        for size in options.sizes
    ]
    print(tell_table(["size", *COLUMNS], rows), flush=True)
    rows = []
    for size in options.sizes[:1]:
        for name, how in (("greedy", {"search": "greedy"}), ("beam 5", {"beam": 5})):
            for count in options.at_once:
                speed = bench.translate(read_shape(size), count, how)
                found[f"{size} {name} {count}"] = speed
                rows.append([f"{size}, {name}", f"{count:,}", f"{speed:,.0f}"])
    print(tell_table(["translating", "sentences at once", "target tokens/s"], rows))
    write_text(options.out, json.dumps(found, indent=1) + "\n")


def read_shape(size: str) -> Model:
    return Config.read({"size": size}).model


class Bench:
    """A device on which work is timed until the device has finished it."""

    def __init__(self, options: argparse.Namespace):
        self.options, self.device = options, choose_device(options.device)
        self.precision, self.is_cuda = options.precision, self.device.type == "cuda"
        self.dtype = torch.bfloat16 if self.precision == "bf16" else torch.float32
        self.name = torch.cuda.get_device_name(self.device) if self.is_cuda else "this processor"
        torch.manual_seed(1)

    def time(self, work: Callable[[], object]) -> float:
        """Return the seconds that the work takes: the median of the repeats."""
        taken = []
        for number in range(WARM + self.options.repeats):
            self._wait()
            began = time.perf_counter()
            work()
            self._wait()
            if number >= WARM:
                taken.append(time.perf_counter() - began)
        return statistics.median(taken)

    def product(self, shape: Shape) -> Callable[[], object]:
        several, rows, depth, columns = shape
        sides = (several, rows, depth), (several, depth, columns)
        left, right = (torch.randn(x, device=self.device, dtype=self.dtype) for x in sides)
        return lambda: left @ right

    def train(self, shape: Model, rate: float) -> dict[str, float]:
        vocabulary, batch = self.options.vocabulary, self._make_batch()
        seconds, memory = self._update(shape, batch)
        s, t = ((side != PAD).sum(1) for side in (batch.source_BS, batch.target_BT[:, 1:]))
        looks = {"encoder": (s * s).sum(), "decoder": (t * t).sum(), "across": (s * t).sum()}
        looks = {name: float(value) for name, value in looks.items()}
        flops = count_flops(shape.model_dump(), vocabulary, int(s.sum()), int(t.sum()), looks)
        own = sum(
            count * self.time(self.product(each))
            for each, count in Counter(list_products(shape, vocabulary, batch)).items()
        )
        return {
            "tokens": float(s.sum() + t.sum()) / seconds,
            "seconds": seconds,
            "share": flops / seconds / rate,
            "own": own / seconds,
            "memory": memory,
        }

    def _update(self, shape: Model, batch: Batch) -> tuple[float, float]:
        """Return the seconds of an update, and the MiB of memory at its peak."""
        network = Transformer(shape, self.options.vocabulary, self.options.vocabulary)
        updater = Updater(network, Config.read({}).train, self.device, self.precision)
        if not self.is_cuda:
            return self.time(lambda: updater.update(1, 1e-4, [batch])), 0.0
        torch.cuda.reset_peak_memory_stats(self.device)
        seconds = self.time(lambda: updater.update(1, 1e-4, [batch]))
        return seconds, torch.cuda.max_memory_allocated(self.device) / 2**20

    def translate(self, shape: Model, count: int, how: dict[str, Any]) -> float:
        """Return the target tokens a second of translating `count` sentences at once."""
        vocabulary = self.options.vocabulary
        network = Transformer(shape, vocabulary, vocabulary).to(self.device).eval()
        sources = [[*row[:-1], EOS] for row in self._draw(count, LONG).tolist()]
        settings = Decode.model_validate(
            {"max_ratio": 0, "max_extra": LONG + 1, "min_length": LONG, **how}
        )
        budget = count * settings.beam * LONG  # all of them at once

        def work() -> list[list[Hypothesis]]:
            with torch.inference_mode(), autocast(self.precision, self.device):
                return search(network, sources, settings, device=self.device, budget=budget)

        tokens = sum(len(best.tokens) for best, *_ in work())
        return tokens / self.time(work)

    def _make_batch(self) -> Batch:
        """Return a batch of pairs of similar lengths, as in a large corpus sorted by length."""
        rows = self.options.tokens // (LONG + 1)
        source, target = self._draw(rows, LONG), self._draw(rows, LONG + 1)
        target[:, 0] = BOS
        ends = np.random.default_rng(2).integers(LONG - 4, LONG, rows)
        for side, shift in ((source, 0), (target, 1)):
            for row, end in zip(side, ends + shift, strict=True):
                row[end:] = EOS, *[PAD] * (len(row) - end - 1)
        return Batch(source, target, np.arange(rows))

    def _draw(self, rows: int, length: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.random.default_rng(1).integers(3, self.options.vocabulary, (rows, length))

    def _wait(self) -> None:
        if self.is_cuda:
            torch.cuda.synchronize(self.device)


def list_products(model: Model, vocabulary: int, batch: Batch) -> Iterator[Shape]:
    """Yield the matrix products of an update with padding: forward, and back to both factors."""
    d, f, heads = model.d_model, model.d_ff, model.heads
    rows, s = batch.source_BS.shape
    t = batch.target_BT.shape[1] - 1
    tokens = int((batch.target_BT[:, 1:] != PAD).sum())
    forward: list[Shape] = [(1, tokens, d, vocabulary)]
    for layers, own, memories in (
        (model.encoder_layers, s, (s,)),
        (model.decoder_layers, t, (t, s)),
    ):
        forward += [(1, rows * own, d, f), (1, rows * own, f, d)] * layers
        for m in memories:  # queries and output, keys and values, scores, weighted sums
            forward += [(1, rows * own, d, d), (1, rows * m, d, d)] * 2 * layers
            forward += [
                (rows * heads, own, d // heads, m),
                (rows * heads, own, m, d // heads),
            ] * layers
    for several, m, k, n in forward:
        yield from ((several, m, k, n), (several, m, n, k), (several, k, m, n))

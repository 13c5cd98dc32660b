"""Measure how much faster two workers are than one, when Ray distributes the shards of a text.

    python -m benchmarks workers --model demo --source TEXT --workers 1 2 --rounds 3

Every worker has one thread. The start-up of Ray and of the workers is measured apart, on a text of
as many lines as there are workers, and taken off.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

from glassformer.cli.translate import tell_line
from glassformer.config import Config
from glassformer.extensions.cluster.ray_job import ShardJob, translate_shards
from glassformer.model.files.directory import CONFIG, locate

from .tables import tell_machine, tell_table
from .turns import take_turns


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--model", default="demo")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--lines", type=int, default=20_000, help="of the source, repeated")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)


def main(options: argparse.Namespace) -> None:
    rows = measure(options)
    one = statistics.median(rows[str(options.workers[0])])
    print(f"{tell_machine()}, {options.lines:,} lines, {options.rounds} rounds\n")
    table = []
    for workers, seconds in rows.items():
        middle = statistics.median(seconds)
        spread = f"{min(seconds):.1f} to {max(seconds):.1f}"
        table.append([f"{workers}", f"{middle:.1f}", spread, f"{one / middle:.2f}x"])
    print(tell_table(["workers", "seconds, median", "least to most", "against the first"], table))
    print(json.dumps({"lines": options.lines, "seconds": rows}))


def measure(options: argparse.Namespace) -> dict[str, list[float]]:
    """Return the seconds of every round for each number of workers, without the start-up."""
    text = options.source.read_text(encoding="utf-8").splitlines()
    text = (text * (options.lines // len(text) + 1))[: options.lines]
    with tempfile.TemporaryDirectory() as folder:

        def translate(workers: int) -> float:
            few = time_run(Path(folder), options.model, text[:workers], workers, 1)
            shard = -(-len(text) // (workers * 8))
            return time_run(Path(folder), options.model, text, workers, shard) - few

        works = {str(workers): partial(translate, workers) for workers in options.workers}
        return take_turns(works, options.rounds, warm_up=0)


def time_run(folder: Path, model: str, text: list[str], workers: int, shard: int) -> float:
    source, out = folder / "source", folder / "out"
    source.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    decode = Config.load(locate(model) / CONFIG).decode.model_dump()
    job = ShardJob(str(locate(model)), str(source), decode, 1, True, True, 0, "fp32", "cpu")
    began = time.perf_counter()
    render = partial(tell_line, n_best=None, as_json=False)
    translate_shards(job, out, render, workers=workers, shard_lines=shard)
    took = time.perf_counter() - began
    assert out.read_bytes().count(b"\n") == len(text)
    return took

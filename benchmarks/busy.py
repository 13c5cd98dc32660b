"""What the numbers of workers give, and what another program that takes a core costs.

    python -m benchmarks busy --models demo,tiny,base --threads 2 --neighbours 0,1 --rounds 5

Every setting translates the same sentences, 25 tokens each, in a process of its own that takes its
turn; beside them run as many programs as there are neighbours, which never rest. Prints target
tokens a second by the wall clock, medians over rounds, and by how much the default (nothing but
`threads`) is slower than the best setting. demo is the shipped model; tiny, small and base have
random weights (see `sizes`).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from glassformer import disk
from glassformer.config import Decode
from glassformer.directory import locate
from glassformer.translator import Translator

from .options import find_cache, quote, split
from .processes import Process, Side, hold, open_sides
from .sizes import LENGTH, write_random, write_sources
from .tables import tell_machine, tell_table
from .turns import take_turns

LEAST = 1.0  # seconds of one measurement
HEADS = ("model", "search", "busy programs", "default", "best of all", "which", "default / best")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--models", default="demo,tiny,base", help="with commas")
    parser.add_argument("--threads", type=int, default=2, help="what a user asks for")
    parser.add_argument("--neighbours", default="0,1", help="busy programs, with commas")
    parser.add_argument("--beams", default="1,5", help="with commas; 1 is greedy")
    parser.add_argument("--count", type=int, default=256, help="sentences")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each setting")
    parser.add_argument("--work", type=Path, help="where models are kept")
    parser.add_argument("--output", "-o", type=Path, help="also keep the JSON")


def main(options: argparse.Namespace) -> None:
    work, rows = (options.work or find_cache()).absolute(), list[dict[str, Any]]()
    for name in split(options.models):
        model = locate("demo") if name == "demo" else write_random(name, work)
        sentences = write_sources(model, options.count, work)
        for beam in map(int, split(options.beams)):
            for neighbours in map(int, split(options.neighbours)):
                with keep_busy(neighbours):
                    found = measure(model, sentences, beam, options, work)
                rows.append({"model": name, "beam": beam, "neighbours": neighbours, **found})
    if options.output:
        disk.write_json(options.output, {"machine": tell_machine(), "rows": rows})
    print(f"\nOn {tell_machine()}, {options.rounds} rounds.\n`{quote('busy')}`\n")
    print(tell_table(HEADS, map(list_cells, rows), texts=2))


@contextmanager
def keep_busy(programs: int) -> Iterator[None]:
    """Let so many programs run that never rest."""
    with ExitStack() as stack:
        for _ in range(programs):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(busy.wait)
            stack.callback(busy.kill)
        yield


def list_settings(threads: int) -> dict[str, dict[str, int]]:
    """Return the settings to compare by name; the first is what a user writes."""
    numbers = sorted({1, 2, threads, 2 * threads})
    return {"default": {"threads": threads}} | {f"{n} workers": {"workers": n} for n in numbers}


def measure(
    model: Path, sentences: Path, beam: int, options: argparse.Namespace, work: Path
) -> dict[str, list[float]]:
    """Return tokens a second of each setting, by round."""
    sides = [
        Side(name, "benchmarks.busy", (str(model), str(sentences), json.dumps(how)))
        for name, how in list_settings(options.threads).items()
    ]
    with open_sides(sides, work, hold(options.threads, False)) as processes:
        works = {each.side.name: partial(translate, each, beam) for each in processes}
        return take_turns(works, options.rounds)


def translate(process: Process, beam: int) -> float:
    return float(process.ask(beam=beam)["tokens/s"])


def list_cells(row: Mapping[str, Any]) -> list[str]:
    names = [name for name in row if name == "default" or name.endswith("workers")]
    speeds = {name: statistics.median(row[name]) for name in names}
    best = max(speeds, key=speeds.__getitem__)
    return [
        row["model"],
        "greedy" if row["beam"] == 1 else f"beam {row['beam']}",
        str(row["neighbours"]),
        f"{speeds['default']:,.0f}",
        f"{speeds[best]:,.0f}",
        best,
        f"{speeds['default'] / speeds[best]:.2f}",
    ]


def serve(model: str, sentences: str, how: str) -> None:
    """Answer each request on stdin with the speed of translating all sentences once."""
    rows = json.loads(Path(sentences).read_text(encoding="utf-8"))["ids"]
    weights = Translator.load(model, precision="int8", **json.loads(how)).weights
    engine, workers = weights.get_engine("int8"), weights.count_workers(len(rows))
    print(json.dumps({"workers": workers}), flush=True)
    for line in sys.stdin:
        beam = json.loads(line)["beam"]
        search = {"search": "greedy"} if beam == 1 else {"search": "beam", "beam": beam}
        limits = {"max_ratio": 0, "max_extra": LENGTH, "min_length": LENGTH - 1}
        began, turns, spent = time.perf_counter(), 0, 0.0
        while spent < LEAST:
            engine.search(rows, Decode.model_validate(search | limits), workers=workers)
            turns, spent = turns + 1, time.perf_counter() - began
        print(json.dumps({"tokens/s": turns * len(rows) * LENGTH / spent}), flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:])

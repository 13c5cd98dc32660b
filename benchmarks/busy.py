"""Measure what the number of workers gives, and what a program that takes a core costs.

    python -m benchmarks busy --models demo,tiny,base --threads 2 --neighbours 0,1 --counts 2,8,128

Every setting translates the same sentences, 25 tokens each, in a process of its own that takes its
turn; beside them run as many programs as there are neighbours, which never rest. Prints target
tokens a second by the wall clock, medians over rounds, by how much the default (nothing but
`threads`) is slower than the best setting, and how many workers it has. demo is the shipped model;
tiny, small and base have random weights (see `sizes`).
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
from itertools import product
from pathlib import Path
from typing import Any

from glassformer.config import Decode
from glassformer.foundation import disk
from glassformer.model.files.directory import locate
from glassformer.translator import Translator

from .options import find_cache, quote, split
from .processes import Process, Side, hold, open_sides
from .sizes import LENGTH, write_random, write_sources
from .tables import tell_machine, tell_table
from .turns import take_turns

LEAST = 0.4  # seconds of one measurement
HEADS = (
    *("model", "search", "sentences", "busy programs", "default", "its workers"),
    *("best of all", "which", "default / best"),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--models", default="demo,tiny,base", help="with commas")
    parser.add_argument("--threads", type=int, default=2, help="what a user asks for")
    parser.add_argument("--neighbours", default="0,1", help="busy programs, with commas")
    parser.add_argument("--beams", default="1,5", help="with commas; 1 is greedy")
    parser.add_argument("--counts", default="2,8,128", help="of sentences, with commas")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each setting")
    parser.add_argument("--work", type=Path, help="where models are kept")
    parser.add_argument("--output", "-o", type=Path, help="also keep the JSON")


def main(options: argparse.Namespace) -> None:
    work, rows = (options.work or find_cache()).absolute(), list[dict[str, Any]]()
    for name in split(options.models):
        model = locate("demo") if name == "demo" else write_random(name, work)
        counts, beams, busy = (
            [*map(int, split(each))] for each in (options.counts, options.beams, options.neighbours)
        )
        sentences = write_sources(model, max(counts), work)
        with open_settings(model, sentences, options.threads, work) as processes:
            for beam, count, neighbours in product(beams, counts, busy):
                asked = {"beam": beam, "count": count}
                works = {each.side.name: partial(each.ask, **asked) for each in processes}
                with keep_busy(neighbours):
                    found = take_turns(works, options.rounds)
                rows.append({"model": name, **asked, "neighbours": neighbours, "settings": found})
                print(*list_cells(rows[-1]), sep="  ", flush=True)
    if options.output:
        disk.write_json(options.output, {"machine": tell_machine(), "rows": rows})
    print(f"\nOn {tell_machine()}, {options.rounds} rounds.\n`{quote('busy')}`\n")
    print(tell_table(HEADS, map(list_cells, rows), texts=2))


@contextmanager
def keep_busy(programs: int) -> Iterator[None]:
    """Run so many programs that never rest, until the end."""
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


@contextmanager
def open_settings(
    model: Path, sentences: Path, threads: int, work: Path
) -> Iterator[list[Process]]:
    """Start a process for each setting; end them on exit."""
    sides = [
        Side(name, "benchmarks.busy", (str(model), str(sentences), json.dumps(how)))
        for name, how in list_settings(threads).items()
    ]
    with open_sides(sides, work, hold(threads, False)) as processes:
        yield processes


def list_cells(row: Mapping[str, Any]) -> list[str]:
    speeds = {
        name: statistics.median(each["tokens/s"] for each in answers)
        for name, answers in row["settings"].items()
    }
    best = max(speeds, key=speeds.__getitem__)
    return [
        row["model"],
        "greedy" if row["beam"] == 1 else f"beam {row['beam']}",
        str(row["count"]),
        str(row["neighbours"]),
        f"{speeds['default']:,.0f}",
        str(row["settings"]["default"][0]["workers"]),
        f"{speeds[best]:,.0f}",
        best,
        f"{speeds['default'] / speeds[best]:.2f}",
    ]


def serve(model: str, sentences: str, how: str) -> None:
    """Answer each request on stdin with the speed of translating so many sentences."""
    rows = json.loads(Path(sentences).read_text(encoding="utf-8"))["ids"]
    weights = Translator.load(model, precision="int8", **json.loads(how)).weights
    engine = weights.get_engine("int8")
    print(json.dumps({}), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        part, beam = rows[: asked["count"]], asked["beam"]
        search = {"search": "greedy"} if beam == 1 else {"search": "beam", "beam": beam}
        limits = {"max_ratio": 0, "max_extra": LENGTH, "min_length": LENGTH - 1}
        decode = Decode.model_validate(search | limits)
        workers = weights.count_workers(len(part), decode.rows)
        began, turns, spent = time.perf_counter(), 0, 0.0
        while spent < LEAST:
            engine.search(part, decode, workers=workers)
            turns, spent = turns + 1, time.perf_counter() - began
        speed = turns * len(part) * LENGTH / spent
        print(json.dumps({"tokens/s": speed, "workers": workers}), flush=True)


if __name__ == "__main__":
    serve(*sys.argv[1:])

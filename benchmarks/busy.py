"""What patience of OpenMP's threads costs beside other programs that want the same cores.

    python -m benchmarks busy MODEL --source FILE --rounds 3

For each core a process that never rests is started. Beside them the first --sentences of FILE are
translated one after the other, greedily, by processes whose threads look 300,000 times (the default
of GCC's OpenMP) or 3,000 times (ours) whether the others are done, in turns. Prints a Markdown
table of seconds, the loading of the model left out.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from itertools import islice
from pathlib import Path

from glassformer.data.files import read_lines
from glassformer.directory import locate
from glassformer.machine.openmp import undone

from .tables import tell_machine, tell_table
from .turns import take_turns

LOOKS = 300_000, 3_000
TRANSLATE = """
import json, sys, time
from glassformer import Translator
from glassformer.config import Decode
folder, *lines = json.load(sys.stdin)
translator = Translator.load(folder)
translator.translate(lines[:1], decode=Decode(search="greedy"))
began = time.perf_counter()
for line in lines:
    translator.translate([line], decode=Decode(search="greedy"))
print(time.perf_counter() - began)
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)


def main(options: argparse.Namespace) -> None:
    lines = list(islice(read_lines(options.source), options.sentences))
    cores = len(os.sched_getaffinity(0))
    model = str(locate(options.model).absolute())
    works = {f"{looks:,}": partial(translate, model, lines, looks) for looks in LOOKS}
    with ExitStack() as stack:
        for _ in range(cores):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(busy.wait)
            stack.callback(busy.kill)
        taken = take_turns(works, options.rounds, warm_up=0)
    print(f"{tell_machine()}, {cores} other programs\n")
    rows = (
        [looks, *(f"{of(seconds):.2f}" for of in (statistics.median, min, max))]
        for looks, seconds in taken.items()
    )
    print(tell_table(["looks", "seconds, median", "least", "most"], rows))


def translate(model: str, lines: list[str], looks: int) -> float:
    """Seconds of a process of its own."""
    environment = {**undone(os.environ), "GOMP_SPINCOUNT": str(looks)}
    done = subprocess.run(
        [sys.executable, "-c", TRANSLATE],
        input=json.dumps([model, *lines]),
        env=environment,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return float(done.stdout)

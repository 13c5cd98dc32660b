"""What patience of OpenMP's threads costs beside other programs that want the same cores.

    python benchmarks/busy.py MODEL --source FILE --rounds 3

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
from itertools import islice
from pathlib import Path

from glassformer.bench.training import describe
from glassformer.data.files import read_lines
from glassformer.openmp import undone

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


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lines = list(islice(read_lines(options.source), options.sentences))
    cores = len(os.sched_getaffinity(0))
    taken: dict[int, list[float]] = {looks: [] for looks in LOOKS}
    with ExitStack() as stack:
        for _ in range(cores):
            busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
            stack.callback(busy.wait)
            stack.callback(busy.kill)
        for _ in range(options.rounds):
            for looks in LOOKS:
                taken[looks].append(translate(str(options.model.absolute()), lines, looks))
    print(f"{describe({})}, {cores} other programs\n")
    print("| looks | seconds, median | least | most |\n|--:|--:|--:|--:|")
    for looks, seconds in taken.items():
        row = statistics.median(seconds), min(seconds), max(seconds)
        print(f"| {looks:,} | {' | '.join(f'{each:.2f}' for each in row)} |")


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


if __name__ == "__main__":
    main()

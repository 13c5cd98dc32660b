"""How time grows with length, batch, beam, vocabulary and layers: exponents and one picture.

    python benchmarks/growth.py --out growth [--rounds 5]

Each is doubled a few times while the others stay, in turns; an exponent is the slope of a straight
line through the logarithms, so that 1 is proportional. Writes growth.svg and growth.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure

from glassformer.bench.training import describe
from glassformer.config import Decode, Model
from glassformer.decode import search
from glassformer.directory import write_text
from glassformer.model import Transformer

AXES = {
    "length": (16, 32, 64, 128, 256),
    "batch": (4, 8, 16, 32, 64),
    "beam": (1, 2, 4, 8, 16),
    "vocabulary": (2000, 4000, 8000, 16000, 32000),
    "layers": (1, 2, 4, 8, 16),
}
STILL = {"length": 32, "batch": 16, "beam": 4, "vocabulary": 8000, "layers": 4}
WORKS = ("reading", "writing")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = {axis: measure(axis, options.rounds) for axis in AXES}
    exponents = {
        axis: {work: slope(AXES[axis], times[work]) for work in WORKS}
        for axis, times in found.items()
    }
    options.out.mkdir(parents=True, exist_ok=True)
    facts = {"machine": describe({}), "seconds": found, "exponents": exponents}
    write_text(options.out / "growth.json", json.dumps(facts, indent=1) + "\n")
    draw(found, exponents).savefig(options.out / "growth.svg")
    for axis, each in exponents.items():
        print(axis, ", ".join(f"{work} {value:.2f}" for work, value in each.items()))


def measure(axis: str, rounds: int) -> dict[str, list[float]]:
    """Median seconds for each size, in turns: all of them once a round."""
    works = [make_work({**STILL, axis: size}) for size in AXES[axis]]
    taken: dict[str, list[list[float]]] = {name: [[] for _ in works] for name in WORKS}
    for number in range(rounds + 1):
        for place, each in enumerate(works):
            for name, work in zip(WORKS, each, strict=True):
                began = time.perf_counter()
                work()
                if number:
                    taken[name][place].append(time.perf_counter() - began)
    return {name: [statistics.median(x) for x in each] for name, each in taken.items()}


def make_work(sizes: dict[str, int]) -> tuple[Callable[[], object], Callable[[], object]]:
    """The encoder's pass over a batch; and a beam search of as many tokens as the source has."""
    settings = Model(
        d_model=128,
        d_ff=256,
        heads=4,
        encoder_layers=sizes["layers"],
        decoder_layers=sizes["layers"],
    )
    network = Transformer(settings, sizes["vocabulary"], sizes["vocabulary"]).eval()
    ids = np.random.default_rng(0).integers(3, 2000, (sizes["batch"], sizes["length"]))
    sources = [[*row, 2] for row in ids.tolist()]
    how = Decode(
        beam=sizes["beam"], max_ratio=0, max_extra=sizes["length"], min_length=sizes["length"]
    )

    @torch.inference_mode()
    def read() -> None:
        network.start(torch.tensor(sources))

    @torch.inference_mode()
    def write() -> None:
        search(network, sources, how)

    return read, write


def slope(sizes: tuple[int, ...], seconds: list[float]) -> float:
    """Of the upper half, where what is fixed matters less."""
    logs = np.log(sizes[-3:]), np.log(seconds[-3:])
    return float(np.polyfit(*logs, 1)[0])


def draw(
    found: dict[str, dict[str, list[float]]], exponents: dict[str, dict[str, float]]
) -> Figure:
    figure = Figure(figsize=(14, 3.2), layout="constrained")
    for axes, (axis, times) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        for work in WORKS:
            label = f"{work}, exponent {exponents[axis][work]:.2f}"
            axes.loglog(AXES[axis], times[work], marker="o", label=label)
        axes.set(xlabel=axis, ylabel="seconds")
        axes.legend(fontsize=7, frameon=False)
    return figure


if __name__ == "__main__":
    main()

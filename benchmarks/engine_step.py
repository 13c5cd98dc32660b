"""Time decoding steps of the C network on each instruction set, against the step in use, in turns.

    python benchmarks/engine_step.py [--sizes demo tiny] [--rows 64] [--isas amx] [--repeats 7]

A network of random weights reads sources of 20 tokens and takes 24 steps that ask for the best
token of each row. Prints processor time a token in microseconds, and the median of how many times
as fast as the step in use it is.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
import torch

from glassformer.config import Model, Positions
from glassformer.engine.compiled import Compiled
from glassformer.model import Transformer
from glassformer.sizes import SIZES

sys.path.append(str(Path(__file__).parents[1] / "tests" / "unit" / "engine"))
from conftest import Driver, compile_engine, list_isas, pack_model

DEMO = {"d_model": 64, "d_ff": 256, "heads": 8, "encoder_layers": 6, "decoder_layers": 6}
SHAPES = {"demo": {**DEMO, "norm": "pre"}, **SIZES}
VOCABULARY = {"demo": 2000, "tiny": 8000, "small": 8000, "base": 16000, "big": 32000}
SOURCE, STEPS = 20, 24


def time_native(driver: Driver, rows: int, beams: int) -> tuple[float, float]:
    sources = np.random.default_rng(0).integers(3, 1000, (rows // beams, SOURCE)).tolist()
    begun = time.process_time()
    assert driver.admit(sources, beams) == 0
    read = time.process_time()
    tokens = [1] * rows
    for _ in range(STEPS):
        assert driver.find_best(tokens, 2 * beams if beams > 1 else 1, 1)[0] == 0
    ended = time.process_time()
    driver.clear()
    return ended - read, read - begun


def time_used(engine: Compiled, rows: int, beams: int) -> tuple[float, float]:
    draw = np.random.default_rng(0).integers(3, 1000, (rows // beams, SOURCE))
    begun = time.process_time()
    state = engine.start(torch.from_numpy(draw))
    if beams > 1:
        engine.keep(torch.arange(rows // beams).repeat_interleave(beams), state)
    read = time.process_time()
    tokens = torch.ones(rows, 1, dtype=torch.long)
    for _ in range(STEPS):
        engine.find_best(tokens, state, 2 * beams if beams > 1 else 1, 1)
    return time.process_time() - read, read - begun


def compare_steps(
    size: str, rows: int, beams: int, isas: list[str], repeats: int, folder: Path
) -> None:
    torch.manual_seed(0)
    settings = Model(**SHAPES[size], positions=Positions(max_positions=64))
    network = Transformer(settings, VOCABULARY[size], VOCABULARY[size]).eval()
    weights = network.state_dict()
    sides: dict[str, Callable[[], tuple[float, float]]] = {}
    engine = Compiled(settings, lambda name: weights[name].detach())
    sides["used"] = lambda: time_used(engine, rows, beams)
    for isa in isas:
        library = ctypes.CDLL(str(folder / f"{isa}.so"))
        driver = Driver(pack_model(library, network, "int8"))
        sides[isa] = lambda driver=driver: time_native(driver, rows, beams)
    taken = {name: [] for name in sides}
    for turn in range(repeats + 1):
        for name, side in sides.items():
            seconds = side()
            if turn:
                taken[name].append(seconds)
    tokens = rows * STEPS
    for name, all_seconds in taken.items():
        ratios = [
            [used[i] / mine[i] for used, mine in zip(taken["used"], all_seconds, strict=True)]
            for i in range(2)
        ]
        step = 1e6 * median(each[0] for each in all_seconds) / tokens
        read = 1e6 * median(each[1] for each in all_seconds) / (rows // beams * SOURCE)
        print(
            f"{size:6} rows {rows:4} beams {beams} {name:10} "
            f"step {step:8.2f} ({median(ratios[0]):5.2f}x)  "
            f"encoder {read:8.2f} ({median(ratios[1]):5.2f}x)",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", nargs="+", default=["demo", "tiny", "base"])
    parser.add_argument("--rows", nargs="+", type=int, default=[1, 64, 256])
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--isas", nargs="+", default=list_isas())
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name, torch.inference_mode():
        folder = Path(name)
        for isa in options.isas:
            compile_engine(folder, isa, "-fPIC", "-shared", name=f"{isa}.so")
        for size in options.sizes:
            for rows in options.rows:
                compare_steps(size, rows, options.beams, options.isas, options.repeats, folder)


if __name__ == "__main__":
    main()

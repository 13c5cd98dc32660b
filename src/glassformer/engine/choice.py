"""The choice of the precision for translation: the fastest that loses almost no accuracy.

The speed of each precision is timed once a month for each machine, state of the code, number of
threads and shape of network; its loss of accuracy is measured once for each model.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Sequence
from statistics import geometric_mean, median
from typing import Any

import torch
from torch import Tensor

from ..config import EOS, Model
from ..decode import Network, NotFiniteError, score_targets
from ..kernels.int8 import can_decode
from ..kernels.packed import can_multiply
from .compiled import Compiled
from .engine import Engine, Read
from .equivalence import hash_code
from .measurement_cache import recall, remember
from .weights import PRECISIONS

# The largest changes allowed, in nats: of the mean loss, and of a token's log-probability.
LOSS, TOKEN = 0.02, 0.15
WORTH = 1.1  # the least speed-up over fp32 that is worth the coarser numbers
ROWS, STEPS, REPEATS = (1, 64), 4, 5  # of a timing: one sentence alone, and many together
DAY, DAYS = 86400, 30  # in seconds; how many days a timing stays valid

Example = tuple[list[int], list[int]]  # a source, which ends with EOS, and its translation
Packed = Engine | Compiled


def build_engine(
    settings: Model, read: Read, wanted: str, examples: Sequence[Example] = (), name: str = ""
) -> Packed:
    """Return an engine in the precision wanted.

    "auto": the fastest precision in which the examples are as probable as in fp32; without
    examples, fp32. name: identifies these weights in the cache of measurements.
    """
    if wanted != "auto":
        return make_engine(settings, read, wanted)
    if examples:
        vocabulary = read("output_table.weight").size(0)
        taken = time_precisions(settings, vocabulary)
        faster = [each for each in taken if taken[each] * WORTH < taken["fp32"]]
        for precision in sorted(faster, key=taken.__getitem__):
            engine = make_engine(settings, read, precision)
            if is_close(engine, settings, read, examples, name):
                return engine
    return make_engine(settings, read, "fp32")


def make_engine(settings: Model, read: Read, precision: str) -> Packed:
    """Return an engine in one precision; int8 is computed in C where the library can be built."""
    if precision == "int8" and can_decode():
        return Compiled(settings, read)
    return Engine(settings, read, precision)


def time_precisions(settings: Model, vocabulary: int) -> dict[str, float]:
    """Return the time of some steps of one layer in each precision available, relative to fp32.

    It is the geometric mean of one sentence alone and of many together.
    """
    threads = torch.get_num_threads()
    shape = settings.d_model, settings.d_ff, settings.heads, settings.width, vocabulary
    machine = (
        f"{platform.machine()} {platform.processor()} {torch.backends.cpu.get_cpu_capability()}"
        f" {can_decode()}"
    )
    key = f"time {machine} code {hash_code()} threads {threads} shape {shape}"
    there = [each for each in PRECISIONS if can_multiply(each) or (each == "int8" and can_decode())]
    known = recall(key) or {}
    if not {*there, "day"} <= known.keys() or abs(time.time() / DAY - known["day"]) > DAYS:
        known = _time(settings, vocabulary, there) | {"day": time.time() // DAY}
        remember(key, known)
    return {each: known[each] for each in there}


def _time(settings: Model, vocabulary: int, there: list[str]) -> dict[str, float]:
    thin = settings.model_copy(update={"encoder_layers": 1, "decoder_layers": 1})
    read = _Random(thin, vocabulary)
    engines = {each: make_engine(thin, read, each) for each in there}
    ratios = {(each, rows): list[float]() for each in there for rows in ROWS}
    for turn in range(1 + REPEATS):  # the median ignores a disturbed turn; the first turn warms up
        for rows in ROWS:
            taken = {each: _time_steps(engine, rows) for each, engine in engines.items()}
            for each in there if turn else ():
                ratios[each, rows].append(taken[each] / taken["fp32"])
    return {each: geometric_mean(median(ratios[each, rows]) for rows in ROWS) for each in there}


def _time_steps(engine: Network[Any], rows: int) -> float:
    begun, source_BS = time.perf_counter(), torch.full((rows, 16), EOS)
    state = engine.start(source_BS)
    for _ in range(STEPS):
        engine.step(source_BS[:, :1], state)
    return time.perf_counter() - begun


def is_close(
    engine: Packed, settings: Model, read: Read, examples: Sequence[Example], name: str
) -> bool:
    """Return whether the examples are as probable as in fp32, on average and token by token."""
    key = f"loss {hash_code()} {name}"
    known = recall(key) or {}
    if engine.precision not in known:
        exact = _measure(Engine(settings, read), examples)
        largest = max(LOSS * 99, 1.0)
        try:
            coarse = _measure(engine, examples)
        except NotFiniteError:
            coarse = torch.full_like(exact, torch.nan)
        apart = (coarse - exact).abs().nan_to_num(largest)
        change = abs(float(coarse.mean() - exact.mean()))
        excess = max((change if change == change else largest) / LOSS, float(apart.mean()) / TOKEN)
        known[engine.precision] = excess
        remember(key, known)
    return known[engine.precision] <= 1


def _measure(engine: Network[Any], examples: Sequence[Example]) -> Tensor:
    """Return the log-probability of every token of the translations, as one row."""
    sources, targets = zip(*examples, strict=True)
    found = score_targets(engine, sources, targets)
    return torch.tensor([log_prob for row in found for log_prob in row])


class _Random:
    """Constant weights of the right shapes, for a timing."""

    def __init__(self, settings: Model, vocabulary: int):
        every = settings.heads * settings.width
        self.shapes = {
            "table": (vocabulary, settings.d_model),
            "output_table": (vocabulary, settings.d_model),
            "inner": (settings.d_ff, settings.d_model),
            "outer": (settings.d_model, settings.d_ff),
            "to_output": (settings.d_model, every),
            "norm": (settings.d_model,),
            "encoder_norm": (settings.d_model,),
            "decoder_norm": (settings.d_model,),
        }
        self.places = settings.positions.max_positions, settings.d_model
        self.other, self.vocabulary = (every, settings.d_model), vocabulary

    def __call__(self, name: str) -> Tensor:
        if name.endswith("positions_LD"):
            return torch.zeros(self.places)
        if name == "output_bias":
            return torch.zeros(self.vocabulary)
        part, kind = name.split(".")[-2:]
        shape = self.shapes.get(part, self.other)
        return torch.zeros(shape[0]) if kind == "bias" else torch.full(shape, 0.01)

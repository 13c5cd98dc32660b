"""Measure time and memory of full and local self-attention, by the length of a sentence.

    python -m benchmarks local-attention --longest 16384 --longest-full 8192

One layer's attention, as `model/` computes it, of one sentence on one thread: processor time, the
fastest of several calls, in turns; and the largest memory that a call holds beyond the first, from
PyTorch's profiler. Full attention is measured only as far as its memory is there. Writes the table
of docs/attention.md, and what picture V114 draws.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import thread_time

import torch
from torch.profiler import ProfilerActivity, profile

from glassformer.config import Model
from glassformer.engine.kernels.local import NearAttention
from glassformer.model.attention import MultiHeadAttention
from glassformer.model.files.directory import write_text

from .tables import tell_table

HOME = Path(__file__).parents[1]
PAGE = HOME / "docs" / "attention.md"
DRAWN = HOME / "src" / "glassformer" / "extensions" / "pictures" / "local_attention.json"
CALLS = 3
NAMES = ("full", "local")
UNITS = {"milliseconds": "ms", "mebibytes": "MiB"}
BEGIN, END = "<!-- local -->\n", "<!-- end -->"
Measured = dict[str, dict[str, list[float]]]  # by what is measured, then by the attention


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--longest", type=int, default=4096)
    parser.add_argument("--longest-full", type=int, default=4096, help="of full attention")
    parser.add_argument("--width", type=int, default=64, help="of the window, to each side")
    parser.add_argument("--d-model", type=int, default=64)
    parser.add_argument("--heads", type=int, default=8)


def main(options: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    shape = {"d_model": options.d_model, "heads": options.heads}
    local = {"attention": {"pattern": "local", "width": options.width}}
    kinds = {
        "full": MultiHeadAttention(Model.model_validate(shape)).eval(),
        "local": NearAttention(Model.model_validate(shape | local), is_causal=False).eval(),
    }
    found: Measured = {what: {name: [] for name in NAMES} for what in UNITS}
    lengths = [64]
    while lengths[-1] < options.longest:
        lengths.append(2 * lengths[-1])
    for length in lengths:
        if length > options.longest_full:
            kinds.pop("full", None)
        measure_length(kinds, options.d_model, length, found)
        print(length, {what: found[what]["local"][-1] for what in UNITS}, flush=True)
    write_found(options.width, lengths, found)


def measure_length(
    kinds: dict[str, MultiHeadAttention], d_model: int, length: int, found: Measured
) -> None:
    """Add the milliseconds and MiB of each kind of attention at one length."""
    x_BLD = torch.randn(1, length, d_model)
    mask = torch.ones(1, 1, 1, length, dtype=torch.bool)
    times = dict.fromkeys(kinds, float("inf"))
    with torch.inference_mode():
        for _ in range(CALLS):
            for name, kind in kinds.items():
                began = thread_time()
                kind(x_BLD, x_BLD, mask)
                times[name] = min(times[name], 1000 * (thread_time() - began))
        for name, kind in kinds.items():
            found["milliseconds"][name].append(_round(times[name]))
            found["mebibytes"][name].append(_round(find_peak(kind, x_BLD, mask) / 2**20))


def _round(value: float) -> float:
    return float(f"{value:.3g}")


def write_found(width: int, lengths: list[int], found: Measured) -> None:
    """Write what the picture draws, and the table of the page between its marks."""
    parts = {"width": width, "lengths": lengths, **found}
    lines = (f"{json.dumps(name)}: {json.dumps(part)}" for name, part in parts.items())
    write_text(DRAWN, "{\n" + ",\n".join(lines) + "\n}\n")
    columns = [found[what][name] for what in UNITS for name in NAMES]
    rows = [
        [f"{length:,}", *(f"{each[n]:,g}" if n < len(each) else "" for each in columns)]
        for n, length in enumerate(lengths)
    ]
    heads = ["L", *(f"{name}, {unit}" for unit in UNITS.values() for name in NAMES)]
    before, mark, after = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    write_text(PAGE, f"{before}{mark}{tell_table(heads, rows)}{END}{after.partition(END)[2]}")


def find_peak(kind: MultiHeadAttention, x_BLD: torch.Tensor, mask: torch.Tensor) -> int:
    """Return the most bytes that a call holds at once."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        kind(x_BLD, x_BLD, mask)
    held = most = 0
    for event in found.profiler.kineto_results.events():
        if event.name() == "[memory]":
            held += event.nbytes()
            most = max(most, held)
    return most

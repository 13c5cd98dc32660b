"""Time and memory of full and of local self-attention against the length of a sentence.

    python -m benchmarks local-attention --longest 4096

One layer's attention, as `model/` computes it, of one sentence on one thread: processor time, the
fastest of several calls, in turns; and the largest memory that a call holds beyond the first, from
PyTorch's profiler. Prints the table of docs/attention.md.
"""

from __future__ import annotations

import argparse
from time import thread_time

import torch
from torch.profiler import ProfilerActivity, profile

from glassformer.config import Model
from glassformer.kernels.local import NearAttention
from glassformer.model.attention import MultiHeadAttention

CALLS = 3


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--longest", type=int, default=4096)
    parser.add_argument("--width", type=int, default=64, help="of the window, to each side")
    parser.add_argument("--d-model", type=int, default=64)
    parser.add_argument("--heads", type=int, default=8)


def main(options: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    shape = {"d_model": options.d_model, "heads": options.heads}
    local = {"attention": {"pattern": "local", "width": options.width}}
    kinds = [
        MultiHeadAttention(Model.model_validate(shape)).eval(),
        NearAttention(Model.model_validate(shape | local), is_causal=False).eval(),
    ]
    print("| L | full, ms | local, ms | full, MiB | local, MiB |\n|--:|--:|--:|--:|--:|")
    length = 64
    while length <= options.longest:
        cells = measure_length(kinds, options.d_model, length)
        print(f"| {length:,} | {' | '.join(cells)} |", flush=True)
        length *= 2


def measure_length(kinds: list[MultiHeadAttention], d_model: int, length: int) -> list[str]:
    """Return milliseconds of each kind, then MiB of each."""
    x_BLD = torch.randn(1, length, d_model)
    mask = torch.ones(1, 1, 1, length, dtype=torch.bool)
    times, sizes = [float("inf")] * len(kinds), []
    with torch.inference_mode():
        for _ in range(CALLS):
            for number, kind in enumerate(kinds):
                began = thread_time()
                kind(x_BLD, x_BLD, mask)
                times[number] = min(times[number], 1000 * (thread_time() - began))
        for kind in kinds:
            sizes.append(find_peak(kind, x_BLD, mask) / 2**20)
    return [f"{value:.3g}" for value in (*times, *sizes)]


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

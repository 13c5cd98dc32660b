"""Time a recurrent layer and one of self-attention by length: the paper's table 1, measured.

    python -m benchmarks layer-time

One sentence, d_model 256, fp32, forwards only, one thread: PyTorch's fused GRU, and multi-head
attention of 4 heads with its four projections. Of each the fastest of several calls, in processor
time, the two in turns. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import thread_time

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from .tables import tell_machine, tell_table

WIDTH, HEADS = 256, 4
LENGTHS = (16, 64, 256, 1024, 4096)
ROUNDS, SPELL = 3, 0.2  # of all lengths; seconds of one part


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add no options: this program has none."""


def main(options: argparse.Namespace) -> None:
    torch.set_num_threads(1)
    torch.manual_seed(1)
    recurrent, attention = nn.GRU(WIDTH, WIDTH, batch_first=True), SelfAttention()
    best = {length: [float("inf")] * 2 for length in LENGTHS}
    with torch.inference_mode():
        for _ in range(ROUNDS):
            for length in LENGTHS:
                x_1LD = torch.randn(1, length, WIDTH)
                for n, layer in enumerate((recurrent, attention)):
                    best[length][n] = min(best[length][n], time_call(lambda: layer(x_1LD)))  # noqa: B023
    rows = [
        [f"{length:,}", *(f"{1e3 * each:.2f}" for each in times), f"{length:,}", "1"]
        for length, times in best.items()
    ]
    heads = ["tokens", "recurrent, ms", "self-attention, ms", "steps in turn", "steps in turn"]
    print(tell_table(heads, rows))
    print(f"{tell_machine()}, torch {torch.__version__}")


class SelfAttention(nn.Module):
    """Multi-head self-attention with its projections, in PyTorch's fastest kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x_1LD: Tensor) -> Tensor:
        parts = self.project(x_1LD).chunk(3, -1)
        heads = [part.view(1, -1, HEADS, WIDTH // HEADS).transpose(1, 2) for part in parts]
        read = scaled_dot_product_attention(*heads)
        found: Tensor = self.out(read.transpose(1, 2).flatten(2))
        return found


def time_call(part: Callable[[], object]) -> float:
    """Return the seconds of processor time of the fastest of several calls."""
    taken: list[float] = []
    while len(taken) < 2 or sum(taken) < SPELL:
        begun = thread_time()
        part()
        taken.append(thread_time() - begun)
    return min(taken)

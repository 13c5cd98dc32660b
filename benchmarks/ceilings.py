"""Measure the processor's highest speed in matrix products, and that of its memory."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import time
from collections.abc import Callable, Mapping

import torch

from .processes import make_environment

CUBE = 2048  # rows, columns and depth of the products
BYTES = 1 << 29  # size of the array that is copied: larger than most caches


def measure_ceilings(seconds: float = 1.0, cube: int = CUBE, size: int = BYTES) -> dict[str, float]:
    """Return TFLOP/s (int8: TOP/s) of large matrix products, and GB/s of reading and writing."""
    found = {}
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        left, right = (torch.randn(cube, cube).to(dtype) for _ in range(2))
        rate = 2 * cube**3 / _fastest(lambda a=left, b=right: a @ b, seconds)  # type: ignore[misc]
        found[f"{name} TFLOP/s"] = rate / 1e12
    try:
        whole = torch.randint(-127, 128, (cube, cube), dtype=torch.int8)
        rate = 2 * cube**3 / _fastest(lambda: torch._int_mm(whole, whole), seconds)
        found["int8 TOP/s"] = rate / 1e12
    except (RuntimeError, NotImplementedError):
        pass  # this build has no such product
    source, target = (torch.zeros(size // 4) for _ in range(2))
    found["memory GB/s"] = 2 * size / _fastest(lambda: target.copy_(source), seconds) / 1e9
    return found


def ask_ceilings(environment: Mapping[str, str]) -> dict[str, float]:
    """Return the same, measured in a process with the environment of the engines."""
    found = subprocess.run(
        [sys.executable, "-m", __name__],
        env=make_environment(environment, is_ours=True),
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    rates: dict[str, float] = json.loads(found.stdout)
    return rates


def best_rate(ceilings: Mapping[str, float]) -> float:
    """Return the operations per second of the faster of fp32 and bf16."""
    return 1e12 * max(rate for name, rate in ceilings.items() if name.endswith("TFLOP/s"))


def _fastest(work: Callable[[], object], seconds: float) -> float:
    """Return the shortest time of the repetitions that fit into so many seconds.

    The shortest time is the one least disturbed by other load.
    """
    best, end = math.inf, time.perf_counter() + seconds
    while best == math.inf or time.perf_counter() < end:
        began = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - began)
    return best


def count_flops(
    model: dict[str, int], vocabulary: int, source: int, target: int, looks: dict[str, float]
) -> float:
    """Return the floating-point operations of one update in matrix products, without padding.

    source, target: numbers of tokens. looks: numbers of query-key pairs in the encoder's and the
    decoder's self-attention (with the masked half, which is computed too) and in cross-attention.
    The backward pass counts twice the forward pass, and a product two operations.
    """
    d, f = model["d_model"], model["d_ff"]
    encoder = source * (4 * d * d + 2 * d * f) + 2 * d * looks["encoder"]
    attention = 2 * d * (looks["decoder"] + looks["across"])
    decoder = target * (6 * d * d + 2 * d * f) + source * 2 * d * d + attention
    products = model["encoder_layers"] * encoder + model["decoder_layers"] * decoder
    return 6.0 * (products + target * d * vocabulary)


if __name__ == "__main__":
    print(json.dumps(measure_ceilings()))

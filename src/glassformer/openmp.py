"""How the threads of a product wait for each other."""

from __future__ import annotations

import os
from collections.abc import Mapping

# Of GCC's OpenMP, which PyTorch's builds for Linux and the kernels in C use. By default a thread
# looks 300,000 times, some 10 ms, whether the others are done: where other programs want the same
# cores, it uses up its own time with that, and one sentence takes seconds. After 3,000 times,
# 0.1 ms, it sleeps; where nothing else runs, that makes no difference.
NAME, TIMES = "GOMP_SPINCOUNT", "3000"
OTHERS = (NAME, "OMP_WAIT_POLICY")  # whoever sets one of these knows better


def wait_briefly() -> None:
    """For all that this process computes, if torch was not imported before."""
    if not any(name in os.environ for name in OTHERS):
        os.environ[NAME] = TIMES


def undone(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment as it was, for other programs."""
    return {k: v for k, v in environment.items() if (k, v) != (NAME, TIMES)}

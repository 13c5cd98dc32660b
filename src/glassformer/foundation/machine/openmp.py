"""The setting that says how long OpenMP threads spin while they wait for each other."""

import os
from collections.abc import Mapping

# The variable belongs to GCC's OpenMP, which PyTorch's builds for Linux and the kernels in C use.
# By default a waiting thread checks 300,000 times, for some 10 ms, whether the others are done.
# Where other programs need the same cores, it wastes its own time so, and one sentence takes
# seconds. With 3,000 checks it sleeps after 0.1 ms; where nothing else runs, that makes no
# difference.
NAME, TIMES = "GOMP_SPINCOUNT", "3000"
OTHERS = (NAME, "OMP_WAIT_POLICY")  # if the user has set one of these, it stays


def wait_briefly() -> None:
    """Let the threads of this process spin only briefly; call it before torch is imported."""
    if not any(name in os.environ for name in OTHERS):
        os.environ[NAME] = TIMES


def undone(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without our setting, for other programs."""
    return {k: v for k, v in environment.items() if (k, v) != (NAME, TIMES)}

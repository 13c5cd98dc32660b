"""Limits of a comparison: the number of threads, and older instruction sets."""

from __future__ import annotations

from ..train.machine import count_cores

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
AVX2 = {
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "CT2_FORCE_CPU_ISA": "AVX2",
}


def hold(threads: int | None, avx2: bool) -> dict[str, str]:
    """Return the environment variables that set these limits for every engine."""
    count = str(threads or count_cores())
    return {**dict.fromkeys(THREADS, count), **(AVX2 if avx2 else {})}

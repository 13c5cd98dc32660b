"""The choice of device and precision, and the memory and threads of the process."""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # translating on a processor needs no PyTorch
    import torch

DEVICE = "GLASSFORMER_DEVICE"  # an environment variable: the device that "auto" means
PRECISIONS = ("auto", "fp32", "bf16", "fp16")
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of mallopt, in glibc's malloc.h


def choose_device(name: str = "auto") -> torch.device:
    """Return the device of that name; ValueError if it is absent.

    "auto" is the device that GLASSFORMER_DEVICE names or, if it is not set, a GPU if there is one.
    """
    import torch

    name = _read_name(name)
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    kind = name.partition(":")[0]
    if name == "auto":
        return torch.device(next(kind for kind, is_there in there.items() if is_there))
    if not there.get(kind):
        usable = ", ".join(kind for kind, is_there in there.items() if is_there)
        raise ValueError(f"device={name} is not on this machine; it has {usable}")
    return torch.device(name)


def name_device(name: str = "auto") -> str:
    """Return the name of a device; ValueError if it is absent.

    PyTorch is asked only if another device than the processor was named, or if there may be one.
    """
    name = _read_name(name)
    if name == "cpu" or (name == "auto" and not may_have_gpu()):
        return "cpu"
    if find_spec("torch") is None:
        raise ValueError(f"device={name} needs PyTorch: pip install 'glassformer[train]'")
    return str(choose_device(name))


def _read_name(name: str) -> str:
    return os.environ.get(DEVICE) or "auto" if name == "auto" else name


@cache
def may_have_gpu() -> bool:
    """Return whether PyTorch is installed and this machine may have a GPU that it can use."""
    drivers = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/kfd", "/dev/dxg")  # Linux and WSL
    there = sys.platform != "linux" or any(Path(each).exists() for each in drivers)
    return there and find_spec("torch") is not None


def count_cores() -> int:
    """Return how many cores this process may use; a container may have fewer than the machine."""
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    else:
        cores = os.cpu_count() or 1
    quota = Path("/sys/fs/cgroup/cpu.max")  # "200000 100000": two cores
    if quota.is_file():
        most, _, period = quota.read_text(encoding="utf-8").strip().partition(" ")
        if most.isdigit() and period.isdigit():
            cores = min(cores, max(1, round(int(most) / int(period))))
    return cores


def count_threads() -> int:
    """Return how many threads to compute with: as PyTorch does, OMP_NUM_THREADS if it is set."""
    threads = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return int(threads) if threads.isdigit() and int(threads) else count_cores()


def choose_precision(name: str, device: torch.device) -> str:
    """Return the precision to use; "auto" is bf16 where the hardware is faster in it, else fp32."""
    if name not in PRECISIONS:
        raise ValueError(f"precision={name}: one of {', '.join(PRECISIONS)}")
    if name != "auto":
        return name
    return "bf16" if has_bf16(device) else "fp32"


def has_bf16(device: torch.device) -> bool:
    """Return whether matrix products in bf16 are faster than in fp32 on this device."""
    import torch

    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        is_there = torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()
        return is_there and _lets_onednn_use_bf16()
    return False


def _lets_onednn_use_bf16() -> bool:
    """Return False where the variable ONEDNN_MAX_CPU_ISA forbids oneDNN to use bf16 instructions.

    oneDNN would then emulate bf16, thirty times more slowly than fp32.
    """
    import torch

    return torch.backends.mkldnn.is_available() and bool(
        torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )


def autocast(precision: str, device: torch.device | str) -> AbstractContextManager[object]:
    """Return a context in which matrix products are computed in that precision."""
    if precision == "fp32":
        return nullcontext()
    import torch

    dtype = torch.float16 if precision == "fp16" else torch.bfloat16
    return torch.autocast(torch.device(device).type, dtype)


def free_memory() -> None:
    """Return unused memory to the system, also what `keep_memory` has kept."""
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):  # of glibc alone
        ctypes.CDLL(None).malloc_trim(0)
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_available():
        torch.cuda.empty_cache()


def keep_memory() -> None:
    """Let this process keep the memory that it frees, instead of returning it to the system.

    The C library of Linux returns large blocks at once, and allocating one again costs a page fault
    for every 4 KiB of it: a tenth of the time of training on a CPU. On other systems this does
    nothing.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    set_option(TRIM_THRESHOLD, 2**31 - 1)
    set_option(MMAP_THRESHOLD, 2**30)


def run_in_threads(work: Callable[[], None], workers: int, stop: Callable[[], object]) -> None:
    """Call `work` in as many threads as there are workers, and wait for all of them.

    After the first error `stop` is called, which must empty the queue, and the error is raised
    again. PyTorch keeps its number of threads and the inference mode for each thread separately,
    so both are set in each.
    """
    if workers <= 1:
        work()
        return
    from concurrent.futures import ThreadPoolExecutor

    import torch

    all_threads, records = torch.get_num_threads(), not torch.is_inference_mode_enabled()

    def begin() -> None:
        torch.set_num_threads(max(1, all_threads // workers))
        try:
            with torch.inference_mode(not records):
                work()
        except BaseException:
            stop()
            raise

    try:
        with ThreadPoolExecutor(workers, thread_name_prefix="search") as pool:
            try:
                for future in [pool.submit(begin) for _ in range(workers)]:
                    future.result()
            except BaseException:
                stop()
                raise
    finally:
        torch.set_num_threads(all_threads)

"""Where the work is done, and in what precision."""

from __future__ import annotations

import ctypes
import gc
from contextlib import AbstractContextManager, nullcontext, suppress

import torch

DEVICES = ("auto", "cpu", "cuda", "mps")
PRECISIONS = ("auto", "fp32", "bf16")
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of mallopt, in glibc's malloc.h


def choose_device(name: str = "auto") -> torch.device:
    """The device of that name; "auto" takes a GPU where there is one."""
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


def choose_precision(name: str, device: torch.device) -> str:
    """ "auto" is bf16 where the hardware multiplies in it, and fp32 elsewhere."""
    if name not in PRECISIONS:
        raise ValueError(f"precision={name}: one of {', '.join(PRECISIONS)}")
    if name != "auto":
        return name
    return "bf16" if has_bf16(device) else "fp32"


def has_bf16(device: torch.device) -> bool:
    """Whether matrix products in bf16 are faster than in fp32 here."""
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        is_there = torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()
        return is_there and _lets_onednn_use_bf16()
    return False


def _lets_onednn_use_bf16() -> bool:
    """Return False where ONEDNN_MAX_CPU_ISA holds the library of matrix products to less.

    It would then imitate bf16, thirty times more slowly than fp32.
    """
    return torch.backends.mkldnn.is_available() and bool(
        torch.ops.mkldnn._is_mkldnn_bf16_supported()
    )


def autocast(precision: str, device: torch.device) -> AbstractContextManager[object]:
    """Within it, matrix products are made in that precision."""
    if precision == "fp32":
        return nullcontext()
    return torch.autocast(device.type, torch.bfloat16)


def free_memory() -> None:
    """Give back what was needed and is no more, also what `keep_memory` has kept."""
    gc.collect()
    with suppress(OSError, AttributeError, TypeError):  # of glibc alone
        ctypes.CDLL(None).malloc_trim(0)
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def keep_memory() -> None:
    """Let this process keep what it frees, instead of handing it back to the system.

    The C library of Linux returns large blocks at once, and getting one again costs a page fault
    for every 4 KiB of it: a tenth of the time of a training on a processor. Elsewhere, nothing.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    set_option(TRIM_THRESHOLD, 2**31 - 1)
    set_option(MMAP_THRESHOLD, 2**30)

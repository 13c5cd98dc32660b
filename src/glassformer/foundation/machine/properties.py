"""The machine that training runs on: processor, GPUs, memory, and installed versions."""

import os
import platform
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..shared_library import load_library
from ..version import __version__
from .device import choose_device, count_cores, has_bf16

NEEDED = ("torch", "numpy", "tokenizers", "safetensors", "pydantic", "sacrebleu", "matplotlib")
OPTIONAL = {"tensorboard": "tensorboard", "sacremoses": "moses", "ctranslate2": "bridge"}
TRAINING = ("train_attend", "train_dropout", "train_norm", "train_product")  # kernels in C
GIB = 2**30
WITHOUT_TORCH: dict[str, Any] = {"threads": 0, "vectors": "", "device": "cpu", "gpus": ()}
WITHOUT_TORCH |= {"has_amx": False, "has_bf16": False}


@dataclass(frozen=True)
class Machine:
    """The properties of a machine; sizes in GiB, and memory is None if it is unknown."""

    processor: str
    cores: int  # that this process may use
    threads: int  # that torch uses; 0: it is not installed
    vectors: str  # the widest instructions that torch uses: AVX2, AVX512, ...
    has_amx: bool
    has_bf16: bool  # on `device`, faster than fp32
    device: str  # that "auto" takes
    gpus: tuple[str, ...]
    memory: float | None
    disk: float  # free space of the folder
    has_nvidia_driver: bool

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def look_at_machine(folder: Path | None = None) -> Machine:
    return Machine(
        processor=_name_processor(),
        cores=count_cores(),
        **(_ask_torch() if find_spec("torch") else WITHOUT_TORCH),
        memory=measure_memory(),
        disk=shutil.disk_usage(folder or Path()).free / GIB,
        has_nvidia_driver=shutil.which("nvidia-smi") is not None,
    )


def _ask_torch() -> dict[str, Any]:
    import torch

    device = choose_device()
    return {
        "threads": torch.get_num_threads(),
        "vectors": torch.backends.cpu.get_cpu_capability(),
        "has_amx": torch.cpu._is_amx_tile_supported(),
        "has_bf16": has_bf16(device),
        "device": str(device),
        "gpus": tuple(_list_gpus()),
    }


def list_versions() -> dict[str, str | None]:
    """Return the versions of Python and the packages in use; None for one not installed."""
    versions: dict[str, str | None] = {"glassformer": __version__}
    versions["python"] = platform.python_version()
    for name in (*NEEDED, *OPTIONAL):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return versions


def describe_machine() -> dict[str, Any]:
    """Return the properties on which a bit-for-bit identical resumed training depends."""
    import torch

    return {
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "processor": platform.processor() or platform.machine(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "python": platform.python_version(),
        "kernels": " ".join(filter(load_library, TRAINING)) or "none",
    }


def _name_processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _list_gpus() -> list[str]:
    import torch

    if torch.backends.mps.is_available():
        return ["Apple GPU (mps)"]
    gpus = [torch.cuda.get_device_properties(n) for n in range(torch.cuda.device_count())]
    return [f"{each.name}, {each.total_memory / GIB:.0f} GiB" for each in gpus]


def measure_memory() -> float | None:
    """Return the memory, in GiB, that this process may use at most; None if it is unknown."""
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return None
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for limit in _list_limits():
        if limit.is_file() and (most := limit.read_text(encoding="utf-8").strip()).isdigit():
            memory = min(memory, int(most))
    return memory / GIB


def _list_limits() -> Iterator[Path]:
    """Yield the files in which Linux keeps the memory limits of our control groups."""
    ours, root = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")
    if not ours.is_file():
        return
    for line in ours.read_text(encoding="utf-8").splitlines():
        number, kind, path = line.split(":", 2)
        if number == "0" or kind == "memory":  # version 2; version 1
            name = "memory.limit_in_bytes" if kind else "memory.max"
            group = root / kind / path.lstrip("/")
            folders = (group, *group.parents)
            yield from (each / name for each in folders if each.is_relative_to(root))

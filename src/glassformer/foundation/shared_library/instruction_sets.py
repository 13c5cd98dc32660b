"""The instruction sets that the C code is compiled for, and which of them this processor has."""

import ctypes
import os
import sys
from typing import NamedTuple

ISA = "GLASSFORMER_ISA"  # an environment variable: no better set than this one is taken
# What limits PyTorch limits us too, so that both compute with the same instructions.
TORCH_LIMIT, TORCH_NAMES = "ATEN_CPU_CAPABILITY", {"default": "generic", "avx2": "avx2"}


class InstructionSet(NamedTuple):
    """An instruction set: the compiler flags that permit it, and its bit in `probe.c`."""

    name: str
    flags: tuple[str, ...] = ()
    bit: int | None = None  # None: every processor has it

    def is_in(self, results: int) -> bool:
        return self.bit is None or bool(results >> self.bit & 1)


_AVX2 = ("-mavx2", "-mfma", "-mf16c", "-mbmi", "-mbmi2", "-mlzcnt", "-mpopcnt")
_AVX512 = tuple(f"-mavx512{part}" for part in ("f", "cd", "bw", "dq", "vl", "vnni"))
_AVX512 = (*_AVX2, *_AVX512, "-mprefer-vector-width=512")
_AMX = (*_AVX512, "-mavx512bf16", "-mamx-tile", "-mamx-int8", "-mamx-bf16")
GENERIC = InstructionSet("generic")
SETS = {  # for each architecture, the best first
    "x86_64": (
        InstructionSet("amx", _AMX, 3),
        InstructionSet("avx512vnni", _AVX512, 2),
        InstructionSet("avxvnni", (*_AVX2, "-mavxvnni"), 1),
        InstructionSet("avx2", _AVX2, 0),
        GENERIC,
    ),
    "aarch64": (InstructionSet("dotprod", ("-mcpu=generic+dotprod",), 0), GENERIC),
}
ALIASES = {"amd64": "x86_64", "arm64": "aarch64"}


def name_architecture() -> str:
    """Return the name of this machine's architecture, as `SETS` has it if it is there."""
    if sys.platform == "win32":
        import platform  # takes long to import

        machine = platform.machine().lower()
    else:
        machine = os.uname().machine.lower()
    return ALIASES.get(machine, machine)


def list_sets(probe: ctypes.CDLL | None) -> tuple[InstructionSet, ...]:
    """Return the sets to try on this machine, the best first.

    probe: the library of `probe.c`; without it only the set that every processor has. ValueError
    if the environment names a set that there is not.
    """
    every = SETS.get(name_architecture(), (GENERIC,))
    sets = probe.probe_instruction_sets() if probe else 0
    names = [each.name for each in every]
    most = choose_limit(names)
    return tuple(each for each in every[names.index(most) :] if each.is_in(sets))


def choose_limit(names: list[str]) -> str:
    """Return the best of these sets that the environment allows."""
    limit = os.environ.get(ISA)
    if limit and limit not in names:
        raise ValueError(f"{ISA}={limit}: this machine has one of {', '.join(names)}")
    torch_limit = TORCH_NAMES.get(os.environ.get(TORCH_LIMIT, ""), names[0])
    return limit or (torch_limit if torch_limit in names else names[0])

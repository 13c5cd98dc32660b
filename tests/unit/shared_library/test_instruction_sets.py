"""The instruction sets that are taken, beside what the system says that there are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from glassformer.foundation.shared_library import find_library, load_library
from glassformer.foundation.shared_library.instruction_sets import (
    ISA,
    SETS,
    TORCH_LIMIT,
    list_sets,
    name_architecture,
)

INFO = Path("/proc/cpuinfo")
AVX2 = {"avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "popcnt"}
AVX512 = AVX2 | {f"avx512{part}" for part in ("f", "cd", "bw", "dq", "vl", "_vnni")}
NEEDS = {  # by the names in /proc/cpuinfo
    "amx": AVX512 | {"avx512_bf16", "amx_tile", "amx_int8", "amx_bf16"},
    "avx512vnni": AVX512,
    "avxvnni": AVX2 | {"avx_vnni"},
    "avx2": AVX2,
    "dotprod": {"asimddp"},
    "generic": set(),
}
has_probe = pytest.mark.skipif(load_library("probe") is None, reason="the probe cannot be built")


def read_flags() -> set[str]:
    for line in INFO.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith(("flags", "Features")):
            return set(line.partition(":")[2].split())
    return set()


@has_probe
@pytest.mark.skipif(not INFO.is_file(), reason="this system does not tell")
def test_the_processor_has_what_the_system_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ISA, raising=False)
    monkeypatch.delenv(TORCH_LIMIT, raising=False)
    flags, every = read_flags(), SETS.get(name_architecture(), ())
    found = [each.name for each in list_sets(load_library("probe"))]
    assert found == [each.name for each in every if NEEDS[each.name] <= flags]


def test_without_a_probe_every_processor_will_do() -> None:
    assert [each.name for each in list_sets(None)] == ["generic"]


@has_probe
@pytest.mark.skipif(name_architecture() != "x86_64", reason="of x86-64 alone")
@pytest.mark.parametrize(
    ("setting", "limit"),
    [({ISA: "avx2"}, "avx2"), ({ISA: "generic"}, "generic"), ({TORCH_LIMIT: "avx2"}, "avx2")],
)
def test_no_better_set_than_is_allowed(
    setting: dict[str, str], limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ISA, raising=False)
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    found = [each.name for each in list_sets(load_library("probe"))]
    names = [each.name for each in SETS["x86_64"]]
    assert set(found) <= set(names[names.index(limit) :]) and "generic" in found


@has_probe
def test_a_kernel_of_the_set_that_is_asked_for() -> None:
    program = (
        "from glassformer.foundation.shared_library import find_library\n"
        "found = find_library('train_norm')\n"
        "print(found.instruction_set if found.handle else found.explanation)"
    )
    source = str(Path(__file__).parents[3] / "src")
    environment = {**os.environ, ISA: "generic", "PYTHONPATH": source}
    command = [sys.executable, "-c", program]
    found = subprocess.run(
        command, env=environment, capture_output=True, check=True, encoding="utf-8"
    )
    assert found.stdout.strip() == "generic"
    assert find_library("train_norm").instruction_set

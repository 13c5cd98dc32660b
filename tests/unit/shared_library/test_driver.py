"""A kernel run as a program of its own, on this processor and on others that are emulated."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from glassformer.foundation.shared_library import compiler
from glassformer.foundation.shared_library.compiler import CLANG, KERNELS, OPENMP, ZIG, has_zig

DRIVER = Path(__file__).with_name("driver.c")
COMPILED = ("-std=gnu11", "-O3", "-w", "-iquote", str(KERNELS), str(DRIVER))
LINKED = ("-lm", "-pthread", "-o")
needs_zig = pytest.mark.skipif(not has_zig(), reason="Zig's compiler is not installed")


def run(*command: str) -> None:
    ended = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert ended.returncode == 0, f"{ended.stdout}{ended.stderr}"


def test_with_the_compiler_that_is_here(tmp_path: Path) -> None:
    found = compiler.find_compiler()
    if found is None:
        pytest.skip("no C compiler here")
    program = str(tmp_path / "driver")
    for parallel in OPENMP:
        command = [*found, *parallel, *COMPILED, *LINKED, program]
        if subprocess.run(command, capture_output=True).returncode == 0:
            break
    run(program)


@pytest.mark.slow
@needs_zig
@pytest.mark.parametrize(
    ("target", "flags", "emulator"),
    [
        ("x86_64-linux-gnu.2.17", (), None),
        ("aarch64-linux-musl", ("-mcpu=generic+dotprod",), "qemu-aarch64"),
        ("aarch64-linux-musl", (), "qemu-aarch64"),
        ("riscv64-linux-musl", (), "qemu-riscv64"),
    ],
)
def test_with_zig_for_other_processors(
    tmp_path: Path, target: str, flags: tuple[str, ...], emulator: str | None
) -> None:
    """The flags are for the kernels alone: Zig builds a C library for each set, half a minute."""
    if emulator and not shutil.which(emulator):
        pytest.skip(f"{emulator} is not installed (Debian: qemu-user)")
    made, program = str(tmp_path / "driver.o"), str(tmp_path / "driver")
    run(*ZIG, "-target", target, *flags, *CLANG, *COMPILED, "-c", "-o", made)
    run(*ZIG, "-target", target, *["-static"] * ("musl" in target), made, *LINKED, program)
    run(*filter(None, (emulator,)), program)

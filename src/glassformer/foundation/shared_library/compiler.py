"""The C compiler: the one that is installed, else Zig's from PyPI, and what it is asked for."""

import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

COMPILERS = ("cc", "gcc", "clang")
ZIG = (sys.executable, "-m", "ziglang", "cc")
PACKAGE = Path(__file__).parents[2]
ENGINE, KERNELS = PACKAGE / "engine" / "native", PACKAGE / "engine" / "kernels" / "native"
PROBE, ENGINE_NAME = "probe", "engine"
FLAGS = ("-std=gnu11", "-O3", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math", "-w")
SERIAL = ("-fopenmp-simd",)
CLANG = ("-Xclang", "-fopenmp", str(Path(__file__).with_name("openmp.c")))  # GCC refuses -Xclang
OPENMP = (CLANG, ("-fopenmp",), SERIAL)  # in this order: the first that works is taken
PATIENCE = 120  # seconds for one library


class Source(NamedTuple):
    """The C files of one library; those beside them that end in .h belong to it too."""

    name: str
    files: tuple[Path, ...]
    parallel: tuple[tuple[str, ...], ...] = (SERIAL,)  # flags; the first that compile are taken

    @property
    def headers(self) -> list[Path]:
        return sorted(self.files[0].parent.glob("*.h"))


def list_sources() -> dict[str, Source]:
    """Return what each library is made of: the probe, the engine, and the kernels one by one.

    A kernel that cannot be built does not affect the others.
    """
    sources = [Source(PROBE, (Path(__file__).with_name("probe.c"),))]
    if files := tuple(sorted(ENGINE.glob("*.c"))):
        sources.append(Source(ENGINE_NAME, files))
    sources += [Source(path.stem, (path,), OPENMP) for path in sorted(KERNELS.glob("*.c"))]
    return {each.name: each for each in sources}


def find_compiler() -> tuple[str, ...] | None:
    """Return the compiler that CC names, or the first one found; None if there is none.

    CC may be a path with spaces, or a program with options.
    """
    import shutil  # a wheel needs no compiler

    entry = os.environ.get("CC", "")
    for program, *options in ([entry], entry.split() or [""], *([each] for each in COMPILERS)):
        if compiler := shutil.which(program):
            return compiler, *options
    return ZIG if has_zig() else None


@cache
def has_zig() -> bool:
    """Return whether Zig's compiler is installed as a package of this Python."""
    return find_spec("ziglang") is not None


def compile_library(
    source: Source,
    compiler: Sequence[str],
    flags: Sequence[str],
    to: Path,
    patience: float | None = None,
) -> None:
    """Compile one library. RuntimeError, with what the compiler said, if it cannot be built.

    subprocess.TimeoutExpired if it takes more than `patience` seconds.
    """
    import subprocess  # not at every start

    for parallel in source.parallel:
        files = [*parallel, *map(str, source.files), "-o", str(to), "-lm", "-pthread"]
        result = subprocess.run(
            [*compiler, *FLAGS, *flags, *files],
            capture_output=True,
            timeout=patience,
            stdin=subprocess.DEVNULL,
        )
        if result.returncode == 0:
            return
    lines = result.stderr.decode(errors="replace").splitlines()
    message = next((line for line in lines if "error" in line), "no reason given")
    raise RuntimeError(message.strip())

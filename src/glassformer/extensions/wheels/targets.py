"""The machines that wheels are built for, and the compiling for all of them on one: by Zig.

`hatch_build.py` calls this. Run as a program, it prints the names of the targets; with a path, it
builds the engine as WebAssembly there.
"""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from glassformer.foundation.shared_library.compiler import (
    ENGINE_NAME,
    FLAGS,
    PROBE,
    ZIG,
    Source,
    compile_library,
    list_sources,
)
from glassformer.foundation.shared_library.instruction_sets import GENERIC, SETS, InstructionSet
from glassformer.foundation.shared_library.loading import seal


@dataclass(frozen=True)
class Target:
    """A kind of machine: the tag of its wheels, Zig's name for it, and its libraries' suffix."""

    tag: str
    zig: str
    suffix: str = ".so"

    @property
    def sets(self) -> tuple[InstructionSet, ...]:
        return SETS[self.zig.partition("-")[0]]


TARGETS = (
    Target("manylinux_2_17_x86_64", "x86_64-linux-gnu.2.17"),
    Target("manylinux_2_17_aarch64", "aarch64-linux-gnu.2.17"),
    Target("macosx_11_0_arm64", "aarch64-macos.11.0", ".dylib"),
    Target("macosx_11_0_x86_64", "x86_64-macos.11.0", ".dylib"),
    Target("win_amd64", "x86_64-windows-gnu", ".dll"),
)
WASM = ("-target", "wasm32-wasi", "-mcpu=generic+simd128", "-mexec-model=reactor", "-s")
NOT_WASM = ("-fPIC", "-shared")


def find_target(tag: str) -> Target:
    """Return the target of this tag. ValueError if there is none."""
    for each in TARGETS:
        if each.tag == tag:
            return each
    raise ValueError(f"{tag}: one of {', '.join(each.tag for each in TARGETS)}")


def build_libraries(target: Target, folder: Path) -> list[Path]:
    """Compile every library for every instruction set of a target; return the files made.

    They are `folder/SET/NAME.so`, each with its checksum beside it. RuntimeError if one does not
    compile.
    """
    with ThreadPoolExecutor() as pool:
        jobs = _list_jobs(target)
        libraries = pool.map(lambda job: _build(target, folder, *job), jobs)
        return [path for paths in libraries for path in paths]


def _list_jobs(target: Target) -> Iterator[tuple[Source, InstructionSet]]:
    for source in list_sources().values():
        for each in (GENERIC,) if source.name == PROBE else target.sets:
            yield source, each


def _build(
    target: Target, folder: Path, source: Source, requested: InstructionSet
) -> tuple[Path, Path]:
    library = folder / requested.name / f"{source.name}{target.suffix}"
    library.parent.mkdir(parents=True, exist_ok=True)
    compile_library(source, (*ZIG, "-target", target.zig, "-s"), requested.flags, library)
    return library, seal(library)


def build_wasm(to: Path) -> Path:
    """Compile the engine for browsers and Node; return the file. RuntimeError if that fails."""
    flags = [*WASM, *(flag for flag in FLAGS if flag not in NOT_WASM)]
    files = list_sources()[ENGINE_NAME].files
    command = [*ZIG, *flags, *map(str, files), "-o", str(to)]
    result = subprocess.run(command, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if result.returncode:
        raise RuntimeError(result.stderr.decode(errors="replace").strip())
    return to


if __name__ == "__main__" and sys.argv[1:]:
    build_wasm(Path(sys.argv[1]))
elif __name__ == "__main__":
    sys.stdout.write("".join(f"{each.tag}\n" for each in TARGETS))

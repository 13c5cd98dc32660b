"""The C kernels: compiled once for this processor and kept in the user's cache folder.

Each source in `native/` becomes a library of its own, so that a source that cannot be built does
not affect the others. Every caller has a twin in PyTorch for machines without a compiler.

Functions take raw pointers and the number of threads; ctypes releases the interpreter lock.
"""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path

import torch

from ..disk import find_cache

SWITCH = "GLASSFORMER_NATIVE"  # an environment variable: 0 turns all of them off
SOURCES = Path(__file__).parent / "native"
COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-std=gnu11", "-O3", "-fPIC", "-shared", "-fno-math-errno", "-fno-trapping-math", "-w")
PARALLEL = (("-fopenmp",), ())  # Apple's compiler has no -fopenmp: one thread
PATIENCE = 60  # seconds for one source
_too_slow: set[tuple[str, ...]] = set()  # compilers that timed out once; they are not tried again


def load_library(name: str) -> ctypes.CDLL | None:
    """Return the library of `native/NAME.c`, built if necessary; None if it is not available."""
    return _load(name, _level())[0]


def explain_compiler(name: str) -> str:
    """Return why the library is not available; "" if it is."""
    return _load(name, _level())[1]


def explain_all() -> str:
    """Build all libraries that are not built yet; return why some are missing, or ""."""
    with ThreadPoolExecutor() as pool:
        return "; ".join(sorted({*pool.map(explain_compiler, list_names())} - {""}))


def list_names() -> list[str]:
    return sorted(path.stem for path in SOURCES.glob("*.c"))


@cache
def _load(name: str, level: str) -> tuple[ctypes.CDLL | None, str]:
    if os.environ.get(SWITCH) == "0":
        return None, f"turned off by {SWITCH}=0"
    if sys.platform == "win32":
        return None, "not on Windows"
    compiler = _find_compiler()
    if compiler is None:
        return None, "no C compiler was found"
    try:
        return _open_or_build(name, compiler, level), ""
    except subprocess.TimeoutExpired:
        _too_slow.add(compiler)
        return None, f"{compiler[0]} took more than {PATIENCE} seconds for {name}.c"
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        return None, f"{name}.c could not be built ({error})"


def _level() -> str:
    """Return the instruction set that torch uses, like AVX2: kernels are limited to the same."""
    return torch.backends.cpu.get_cpu_capability()


def _find_compiler() -> tuple[str, ...] | None:
    """Return the compiler that CC names, or the first one found; None if there is none.

    CC may be a path with spaces, or a program with options.
    """
    wanted = os.environ.get("CC", "")
    for program, *options in ([wanted], wanted.split() or [""], *([each] for each in COMPILERS)):
        if found := shutil.which(program):
            return found, *options
    return None


def _target(level: str) -> tuple[str, ...]:
    if platform.machine().lower() not in ("x86_64", "amd64", "i686"):
        return ("-mcpu=native",)
    if level == "AVX2" and "ATEN_CPU_CAPABILITY" in os.environ:
        return ("-march=haswell",)  # limited; a processor with AVX2 may have AVX-VNNI too
    return () if level == "DEFAULT" else ("-march=native", "-mprefer-vector-width=512")


def _open_or_build(name: str, compiler: tuple[str, ...], level: str) -> ctypes.CDLL:
    target = _target(level)
    library = _make_folder() / f"{name}-{_hash(name, compiler, target)}.so"
    if _is_whole(library):
        with suppress(OSError):
            return ctypes.CDLL(str(library))
    if compiler in _too_slow:
        raise RuntimeError(f"{compiler[0]} was too slow before")
    _say_once()
    _build(SOURCES / f"{name}.c", compiler, target, library)
    return ctypes.CDLL(str(library))


def _make_folder() -> Path:
    """Return the cache folder of libraries; raise OSError if other users can write there.

    Whoever can write there decides what this process runs.
    """
    folder = find_cache() / "native"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise OSError(f"{folder}: others can write there")
    return folder


def _hash(name: str, compiler: tuple[str, ...], target: tuple[str, ...]) -> str:
    """Return a hash of the sources, compiler, flags and processor that determine the library."""
    status = Path(compiler[0]).resolve().stat()
    built_with = (compiler, status.st_size, status.st_mtime_ns, FLAGS, PARALLEL, target)
    digest = sha256(repr((built_with, _describe_processor())).encode())
    for path in (SOURCES / f"{name}.c", *sorted(SOURCES.glob("*.h"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:20]


@cache
def _describe_processor() -> str:
    """Return a text that identifies the processor: machines may share a cache folder."""
    found = {platform.machine(), platform.processor()}
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith(("model name", "flags", "Features")):
                found.add(line)
    return repr(sorted(found))


def _seal(library: Path) -> Path:
    return library.with_suffix(".sha256")


def _is_whole(library: Path) -> bool:
    """Return whether a library has the checksum that was stored beside it.

    Loading a truncated library would end the process instead of raising an error.
    """
    try:
        return sha256(library.read_bytes()).hexdigest() == _seal(library).read_text("ascii")
    except (OSError, ValueError):
        return False


def _build(source: Path, compiler: tuple[str, ...], target: tuple[str, ...], library: Path) -> None:
    with tempfile.TemporaryDirectory(dir=library.parent, prefix="building-") as folder:
        made = Path(folder) / library.name
        for parallel in PARALLEL:
            command = [*compiler, *FLAGS, *target, *parallel, str(source), "-o", str(made), "-lm"]
            result = subprocess.run(
                command, capture_output=True, timeout=PATIENCE, stdin=subprocess.DEVNULL
            )
            if result.returncode == 0:
                break
        else:
            lines = result.stderr.decode(errors="replace").splitlines()
            said = next((line for line in lines if "error" in line), "no reason given")
            raise RuntimeError(said.strip())
        seal = _seal(made)
        seal.write_text(sha256(made.read_bytes()).hexdigest(), "ascii")
        # Two processes that build at once produce the same library; the last one is kept.
        for path in (seal, made):
            os.replace(path, library.with_name(path.name))


@cache
def _say_once() -> None:
    said = "building kernels for this processor, once: a few seconds"
    print(f"glassformer: {said}", file=sys.stderr, flush=True)


if __name__ == "__main__":  # `make install` does this, so that the first translation need not wait
    if why := explain_all():
        print(f"glassformer: {why}; everything works without, slower", file=sys.stderr)

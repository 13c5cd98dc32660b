"""Loading of the libraries in C: a wheel brings them along; otherwise they are built here, once.

A wheel has each library for several instruction sets, in `built/SET/`. Where it has none (an
editable install, an unusual machine), a C compiler builds it into the user's cache folder. The best
set that this processor has is taken; if its library does not load, the next one is.

Functions of the libraries take raw pointers; ctypes releases the interpreter lock.
"""

import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple, TextIO

from ..disk import find_cache, take_lock
from ..hashing import sha256_hex
from . import compiler
from .compiler import FLAGS, PROBE, Source, compile_library, find_compiler, list_sources
from .instruction_sets import GENERIC, ISA, TORCH_LIMIT, InstructionSet, list_sets

SWITCH = "GLASSFORMER_NATIVE"  # an environment variable: 0 turns all of them off
BUILT = Path(__file__).parent / "built"
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
SEAL = ".sha256"
POLL = 0.02  # seconds between two looks at a lock
_too_slow: set[tuple[str, ...]] = set()  # compilers that timed out once; they are not tried again


class SharedLibrary(NamedTuple):
    """A library that was loaded, or the reasons why none was."""

    handle: ctypes.CDLL | None
    instruction_set: str = ""
    path: Path | None = None
    refused: tuple[tuple[str, str], ...] = ()  # better sets that this processor has, and why not

    @property
    def origin(self) -> str:
        """Return where it comes from, for people."""
        return "from the wheel" if self.path and BUILT in self.path.parents else "built here"

    @property
    def digest(self) -> str:
        """Return the checksum that was stored beside it; "" if there is none."""
        return _read_seal(self.path) if self.path else ""

    @property
    def explanation(self) -> str:
        """Return why there is none; "" if there is one."""
        return "" if self.handle else "; ".join(dict.fromkeys(why for _, why in self.refused))


def load_library(name: str) -> ctypes.CDLL | None:
    """Return the library of that name, built if necessary; None if it is not available."""
    return find_library(name).handle


def explain_library(name: str) -> str:
    """Return why the library is not available; "" if it is."""
    return find_library(name).explanation


def find_libraries() -> dict[str, SharedLibrary]:
    """Return all libraries by name; those that are not built yet are built, side by side."""
    from concurrent.futures import ThreadPoolExecutor

    names = list(list_sources())
    with ThreadPoolExecutor() as pool:
        return dict(zip(names, pool.map(find_library, names), strict=True))


def prepare_libraries() -> str:
    """Build all libraries that are not built yet; return why some are missing, or ""."""
    libraries = {each.explanation for each in find_libraries().values()}
    return "; ".join(sorted(libraries - {""}))


def find_library(name: str) -> SharedLibrary:
    """Return the library of that name, for the best instruction set for which it loads."""
    return _find(name, *map(os.environ.get, (ISA, TORCH_LIMIT, SWITCH)))


@cache
def _find(name: str, *environment: str | None) -> SharedLibrary:
    if os.environ.get(SWITCH) == "0":
        return SharedLibrary(None, refused=(("", f"turned off by {SWITCH}=0"),))
    source, refused = list_sources()[name], list[tuple[str, str]]()
    sets = (GENERIC,) if name == PROBE else list_sets(load_library(PROBE))
    for each in sets:
        for place in (_open_built, _open_or_build):
            try:
                if path := place(source, each):
                    return SharedLibrary(ctypes.CDLL(str(path)), each.name, path, tuple(refused))
            except (OSError, RuntimeError) as error:
                refused.append((each.name, str(error)))
    return SharedLibrary(None, refused=tuple(refused))


def _open_built(source: Source, requested: InstructionSet) -> Path | None:
    """Return the library of the wheel; None if it has none. Raises OSError for a damaged one."""
    path = BUILT / requested.name / f"{source.name}{SUFFIX}"
    if path.is_file() and not is_whole(path):
        raise OSError(f"{path} is damaged: install glassformer anew")
    return path if path.is_file() else None


def _open_or_build(source: Source, requested: InstructionSet) -> Path:
    """Return the library in the cache, which is built if it is not there."""
    result = find_compiler()
    if result is None:
        raise RuntimeError("no C compiler was found")
    digest = _hash_source(source, result, requested.flags)
    library = _make_folder() / f"{source.name}-{requested.name}-{digest}{SUFFIX}"
    if not is_whole(library):
        if result in _too_slow:
            raise RuntimeError(f"{result[0]} was too slow before")
        import subprocess  # not at every start

        flags, patience = requested.flags, compiler.PATIENCE
        try:
            _build_once(library, lambda to: compile_library(source, result, flags, to, patience))
        except subprocess.TimeoutExpired:
            _too_slow.add(result)
            raise RuntimeError(
                f"{result[0]} took more than {compiler.PATIENCE} seconds for {source.name}"
            ) from None
        except RuntimeError as error:
            raise RuntimeError(f"{source.name} could not be built ({error})") from None
    return library


def _make_folder() -> Path:
    """Return the cache folder of libraries; raise OSError if other users can write there.

    Whoever can write there decides what this process runs.
    """
    folder = find_cache() / "native"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    status = folder.stat()
    if os.name == "posix" and (status.st_uid != os.getuid() or status.st_mode & 0o022):
        raise OSError(f"{folder}: others can write there")
    return folder


def _hash_source(source: Source, results: Sequence[str], flags: Sequence[str]) -> str:
    """Return a hash of the source, compiler and flags that determine the library."""
    status = Path(results[0]).resolve().stat()
    built_with = (results, status.st_size, status.st_mtime_ns, FLAGS, source.parallel, flags)
    code = [path.read_bytes() for path in (*source.files, *source.headers)]
    return sha256_hex(repr(built_with).encode() + b"".join(code))[:20]


def seal(library: Path) -> Path:
    """Write the checksum of a library beside it, as `sha256sum` does; return that file."""
    digest = sha256_hex(library.read_bytes())
    path = library.with_suffix(SEAL)
    path.write_text(f"{digest}  {library.name}\n", "ascii")
    return path


def is_whole(library: Path) -> bool:
    """Return whether a library has the checksum that was stored beside it.

    Loading a truncated library would end the process instead of raising an error.
    """
    try:
        return sha256_hex(library.read_bytes()) == _read_seal(library)
    except OSError:
        return False


def _read_seal(library: Path) -> str:
    try:
        return library.with_suffix(SEAL).read_text("ascii")[:64]
    except (OSError, ValueError):
        return ""


def _build_once(library: Path, build: Callable[[Path], None]) -> None:
    """Build a library, unless another process does so meanwhile: then wait for that one.

    The file of the checksum is the lock; it is written last, so that a library whose process was
    killed counts as damaged.
    """
    import tempfile

    with _locked(library.with_suffix(SEAL)):
        if is_whole(library):
            return
        _say_once()
        with tempfile.TemporaryDirectory(dir=library.parent, prefix="building-") as folder:
            result = Path(folder) / library.name
            build(result)
            os.replace(result, library)
        seal(library)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file; where there are no locks, or it takes too long, go on without."""
    deadline = time.monotonic() + compiler.PATIENCE
    with path.open("a+", encoding="ascii") as file:
        with suppress(OSError):
            _wait_for(file, deadline)
        yield


def _wait_for(file: TextIO, deadline: float) -> None:
    while not take_lock(file) and time.monotonic() < deadline:
        time.sleep(POLL)


@cache
def _say_once() -> None:
    message = "building kernels for this processor, once: a few seconds"
    print(f"glassformer: {message}", file=sys.stderr, flush=True)

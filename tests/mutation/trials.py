"""Runs tests on changed copies of the project, each in a process of its own.

This process imports what is heavy and not ours once, and forks: a trial begins in a moment.
"""

from __future__ import annotations

import compileall
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from .nearest import ROOT

HEAVY = (
    "numpy",
    "torch",
    "torch._dynamo",
    "tokenizers",
    "pydantic",
    "safetensors.torch",
    "sacrebleu",
    "fastapi",
    "uvicorn",
    "typer",
    "hypothesis",
    "pytest",
)
COPIED = ("src", "tests", "pyproject.toml")  # the rest of the project is linked to
OPTIONS = [
    *("-q", "-x", "-p", "no:cacheprovider", "--tb=line"),
    *("-W", "ignore::pytest.PytestAssertRewriteWarning"),  # its plugins are imported already
]
THREADS = "2"  # of each trial, as tests/conftest.py has them
MEMORY = 16 << 30  # bytes of address space: a wrong size must not take the machine along
COMPILING = 600  # seconds a kernel may take to build beside other programs
FAILED = 99  # exit status: the trial itself went wrong
INTERNAL = 3  # that of pytest, if it could not come to its end
BROKEN = 77  # exit status: the changed source is none that its compiler takes


@dataclass
class Trial:
    """Tests to run with some files changed."""

    name: str
    tests: list[str]
    limit: float  # seconds
    changes: dict[str, str] = field(default_factory=dict)  # path in the project -> new text
    native: bool = False  # whether the change is one of C

    status: int | None = None  # exit status of pytest; None: it took too long
    seconds: float = 0.0
    log: str = ""


@dataclass
class _Running:
    trial: Trial
    pid: int
    home: Path
    began: float


def run(trials: Iterable[Trial], folder: Path, jobs: int) -> Iterator[Trial]:
    """Yield the trials as they end; at most `jobs` are under way."""
    folder = folder.resolve()
    os.environ.setdefault("GOMP_SPINCOUNT", "3000")  # as `glassformer` has it; before torch
    os.environ.setdefault("OMP_NUM_THREADS", THREADS)
    for name in HEAVY:
        with suppress(ImportError):
            import_module(name)
    idle = [_make_home(folder / f"copy{number}") for number in range(jobs)]
    _wait_for(_fork(_prepare, idle[0]))
    waiting, running = iter(trials), list[_Running]()
    while True:
        while idle and (trial := next(waiting, None)):
            running.append(_start(trial, idle.pop()))
        if not running:
            return
        time.sleep(0.05)
        for each in [*running]:
            if _has_ended(each):
                running.remove(each)
                idle.append(each.home)
                yield each.trial


def _make_home(home: Path) -> Path:
    """Return a copy of the project in which files may be changed."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    for path in ROOT.iterdir():
        if path.name in COPIED and path.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(path, home / path.name, ignore=ignored)
        elif path.name in COPIED:
            shutil.copy2(path, home)
        elif path.name not in (".git", "build", ".venv"):
            (home / path.name).symlink_to(path)
    compileall.compile_dir(home / "src", quiet=2)
    return home


def _start(trial: Trial, home: Path) -> _Running:
    for path, text in trial.changes.items():
        (home / path).write_text(text, encoding="utf-8")
    return _Running(trial, _fork(_become, home, trial), home, time.monotonic())


def _fork(work: Callable[..., None], *given: Any) -> int:
    """Return the id of a new process that does this and ends."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            work(*given)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(FAILED)
    return pid


def _wait_for(pid: int) -> None:
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise RuntimeError("the project as it is cannot be prepared")


def _has_ended(each: _Running) -> bool:
    """Look whether a trial is over; where it is, put the files back."""
    trial = each.trial
    trial.seconds = time.monotonic() - each.began
    pid, status = os.waitpid(each.pid, os.WNOHANG)
    if not pid and trial.seconds < trial.limit:
        return False
    with suppress(ProcessLookupError):
        os.killpg(each.pid, signal.SIGKILL)
    if pid:
        trial.status = os.waitstatus_to_exitcode(status)
    else:
        os.waitpid(each.pid, 0)
    trial.log = (each.home / "log").read_text(encoding="utf-8", errors="replace")
    if trial.status == FAILED:
        raise RuntimeError(f"{trial.name}: {trial.log}")
    for path in trial.changes:
        shutil.copy2(ROOT / path, each.home / path)
    shutil.rmtree(each.home / "cache", ignore_errors=True)
    return True


def _become(home: Path, trial: Trial) -> None:
    """The forked process: run pytest, and end with its status."""
    _settle(home)
    for path in (home.parent / "kernels").iterdir():
        os.link(path, home / "cache" / "native" / path.name)
    if trial.native and _build_kernels():
        os._exit(BROKEN)
    pytest: Any = import_module("pytest")
    main: Callable[[list[str]], int] = pytest.main
    try:
        code = int(main([*OPTIONS, *trial.tests]))
    except Exception:  # a failed test may leave what pytest then complains of
        traceback.print_exc()
        code = INTERNAL
    sys.stdout.flush()
    os._exit(code)


def _prepare(home: Path) -> None:
    """Another forked process: build the kernels as they are, for all that follow."""
    _settle(home)
    _build_kernels()
    kept = home.parent / "kernels"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(home / "cache" / "native", kept)
    os._exit(0)


def _settle(home: Path) -> None:
    """Make this process one of the copy: its folder, its modules, its cache."""
    os.setsid()
    os.chdir(home)
    out = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(out, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    paths = [str(home / name) for name in ("src", "tests/faults", "tests/web")]
    sys.path[:0], sys.dont_write_bytecode = paths, True
    os.environ |= {
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONDONTWRITEBYTECODE": "1",
        "GLASSFORMER_CACHE": str(home / "cache"),
        "TMPDIR": str(home / "temporary"),
    }
    for name in ("temporary", "cache"):
        shutil.rmtree(name, ignore_errors=True)
    for name in ("temporary", "cache/native"):
        Path(name).mkdir(parents=True, mode=0o700)


def _build_kernels() -> str:
    """Build what is not there yet; say why something is missing."""
    import_module("glassformer.foundation.shared_library.compiler").PATIENCE = COMPILING
    why: str = import_module("glassformer.foundation.shared_library").prepare_libraries()
    return why

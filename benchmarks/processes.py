"""Run the engines that are compared, each in its own process, with the same limits for all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Timer
from typing import Any

import glassformer
from glassformer.foundation.machine.device import count_cores
from glassformer.foundation.machine.openmp import undone

from .installing import find_version, install

TAIL = 12  # lines of a failed process that are shown
PATIENCE = 3600.0  # seconds that an engine has for an answer: a hanging one ends no whole run
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
AVX2 = {
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "CT2_FORCE_CPU_ISA": "AVX2",
}
HERE = Path(__file__).parents[1]  # what the processes import: this package,
OURS = Path(glassformer.__file__).parents[1]  # and ours glassformer too


def hold(threads: int | None, avx2: bool) -> dict[str, str]:
    """Return the environment variables that set these limits for every engine."""
    count = str(threads or count_cores())
    return {**dict.fromkeys(THREADS, count), **(AVX2 if avx2 else {})}


def make_environment(chosen: Mapping[str, str], *, is_ours: bool) -> dict[str, str]:
    """Return the environment of a process, with the folders that it imports from."""
    path = os.pathsep.join(map(str, (HERE, OURS) if is_ours else (HERE,)))
    found = {**undone(os.environ), **chosen, "PYTHONPATH": path}
    # An installed package is compiled once; with this variable ours would be at each start.
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


@dataclass(frozen=True)
class Side:
    """A competitor: a module and its arguments, run by our Python or by that of an engine."""

    name: str
    module: str
    arguments: tuple[str, ...] = ()
    engine: str | None = None  # None: ours
    environment: Mapping[str, str] = field(default_factory=dict)


class Process:
    """A running competitor. It first sends facts about itself, then answers requests.

    Each message is one line of JSON.
    """

    def __init__(self, side: Side, work: Path, environment: Mapping[str, str]):
        self.side, self.log = side, work / "logs" / f"{side.name.replace(' ', '-')}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        python, self.version = Path(sys.executable), None
        if side.engine:
            python = install(side.engine, work)
            self.version = find_version(python, side.engine)
        chosen = {**environment, **side.environment}
        began = time.perf_counter()
        with self.log.open("w", encoding="utf-8") as log:
            self.child = subprocess.Popen(
                [str(python), "-m", side.module, *side.arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                encoding="utf-8",
                env=make_environment(chosen, is_ours=side.engine is None),
                cwd=work,
            )
        try:
            self.facts = self._hear()
        except BaseException:
            self.end()
            raise
        self.started = time.perf_counter() - began  # seconds until it was ready
        found, held = self.facts.get("vectors"), chosen.get("ATEN_CPU_CAPABILITY")
        if found and held and found.lower() != held:
            self.end()
            raise ValueError(f"{side.name} was to be held to {held}, but uses {found}")

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.child.stdin
        with suppress(BrokenPipeError):  # it has ended: its log says why
            self.child.stdin.write(json.dumps(request) + "\n")
            self.child.stdin.flush()
        return self._hear()

    def end(self) -> None:
        assert self.child.stdin and self.child.stdout
        with suppress(BrokenPipeError):
            self.child.stdin.close()
        try:
            self.child.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()

    def _hear(self) -> dict[str, Any]:
        assert self.child.stdout
        late = Event()

        def stop() -> None:
            late.set()
            self.child.kill()

        timer = Timer(PATIENCE, stop)
        timer.start()
        line = self.child.stdout.readline()
        timer.cancel()
        if late.is_set():
            raise ValueError(f"{self.side.name} gave no answer in {PATIENCE:,g} seconds")
        if not line:
            said = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-TAIL:]
            raise ValueError("\n  ".join([f"{self.side.name} ended before its time:", *said]))
        found: dict[str, Any] = json.loads(line)
        return found


@contextmanager
def open_sides(
    sides: Iterable[Side], work: Path, environment: Mapping[str, str]
) -> Iterator[list[Process]]:
    """Start all competitors and end them on exit; leave out an engine that cannot start.

    The reason is printed on stderr. If ours cannot start, its error is raised.
    """
    with ExitStack() as stack:
        started = []
        for side in sides:
            try:
                process = Process(side, work, environment)
            except (ValueError, OSError, subprocess.CalledProcessError) as error:
                if side.engine is None:
                    raise
                print(f"left out: {error}", file=sys.stderr)
                continue
            stack.callback(process.end)
            started.append(process)
        yield started


def run_glassformer(*words: object) -> str:
    """Return what a command of glassformer prints; CalledProcessError if it fails."""
    command = [sys.executable, "-m", "glassformer", *map(str, words)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout

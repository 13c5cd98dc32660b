"""Running the learner's steps in a process apart, with limits of time and memory.

Whatever the learner's code does, loops for ever, ends Python, prints without end or takes all
memory, the check goes on and can say so. `python -m` this module is that process. It answers a
line of JSON for each step. It has two watchdogs: a thread of Python, which sees a stack that stands
still, and a little later one of C (`faulthandler`), which ends a loop within NumPy, too, but may
meet a stack that is being changed, and then names no line.
"""

from __future__ import annotations

import faulthandler
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any, BinaryIO, NamedTuple

from glassformer.foundation.machine.python_process import plan_python

from .cases import list_calls
from .exercises import find_exercise
from .results import Failure, decode_result, encode_result
from .running import run_cases
from .steps import list_own

SECONDS = 20.0  # that a step may run
LATER = 1.0  # seconds, after which the watchdog of C acts
START = 60.0  # seconds, in which the process and its watchdog are surely there
MEMORY = 2 << 30  # bytes that a step may take, where the system can limit it
MOST_PRINTED = 1000  # characters that are shown
FRAME = re.compile(r'File "(.+?)", line (\d+)')  # as faulthandler writes it


class StepRun(NamedTuple):
    """The results of a step in its cases, and what it printed: the beginning, and how much."""

    results: list[Any]
    printed: str = ""
    characters: int = 0


class PrintedText(io.TextIOBase):
    """A file that keeps the beginning of what is printed, and counts the rest."""

    def __init__(self) -> None:
        self.text, self.characters = "", 0

    def write(self, text: str) -> int:
        """Keep or count a text."""
        self.text += text[: MOST_PRINTED - len(self.text)]
        self.characters += len(text)
        return len(text)


def run_steps(
    folder: Path, numbers: Sequence[int], seconds: float
) -> Generator[tuple[int, StepRun]]:
    """Yield each step with its run; the last one may have failed, and those after it are missing.

    ValueError if a file is not text.
    """
    list_own(folder)
    arguments = ["-P", "-m", __name__, str(folder), repr(seconds), *map(str, numbers)]
    command, environment = plan_python(arguments)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
    ) as process:
        assert process.stdout and process.stderr
        timer = Timer(START + seconds * len(numbers), process.kill)
        timer.start()
        try:
            if not process.stdout.readline():
                raise RuntimeError(process.stderr.read().decode(errors="replace"))
            for number in numbers:
                line = process.stdout.readline()
                if not line.endswith(b"\n"):
                    dump = process.stderr.read().decode(errors="replace")
                    failure = explain_end(dump, process.wait(), folder, seconds)
                    yield number, StepRun([failure] * len(list_calls(number)))
                    return
                results, *printed = json.loads(line)
                yield number, StepRun([*map(decode_result, results)], *printed)
        finally:
            timer.cancel()
            process.kill()


def explain_end(dump: str, code: int, folder: Path, seconds: float) -> Failure:
    """Return why the process ended before its answer, by what its watchdog wrote."""
    cause, text = ("slow", f"{seconds:g}") if "Timeout (" in dump else ("ended", str(code))
    for path, digits in FRAME.findall(dump):
        own = folder / re.split(r"[/\\]", path)[-1]  # the watchdog spells other letters as \u1234
        if own.is_file():
            lines = own.read_text(encoding="utf-8-sig", errors="replace").splitlines()
            code_line = "".join(lines[int(digits) - 1 : int(digits)]).strip()
            return Failure(cause, "", text, own.name, int(digits), code_line)
    return Failure(cause, "", text)


def cap_memory() -> None:
    """Let this process take so much more memory, where the system can limit it."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        most = pages * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def end_here(watch: BinaryIO) -> None:
    """End this process, and write where all threads are, as the watchdog of C does."""
    watch.write(b"Timeout (of Python)\n")
    watch.flush()
    faulthandler.dump_traceback(watch)
    os._exit(1)


def answer(folder: Path, seconds: float, numbers: Sequence[int]) -> None:
    """Run steps, and write each answer to what was the standard output."""
    out, watch = os.fdopen(os.dup(1), "wb"), os.fdopen(os.dup(2), "wb")
    out.write(b"ready\n")
    out.flush()
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    faulthandler.enable(watch)
    cap_memory()
    for number in numbers:
        calls, printed = list_calls(number), PrintedText()
        sys.stdout = sys.stderr = printed
        timer = Timer(seconds, end_here, [watch])
        timer.daemon = True
        timer.start()
        faulthandler.dump_traceback_later(seconds + LATER, exit=True, file=watch)
        results = run_cases(list_own(folder), find_exercise(number).module, calls, folder)
        line = json.dumps([[*map(encode_result, results)], printed.text, printed.characters])
        timer.cancel()
        faulthandler.cancel_dump_traceback_later()
        out.write(line.encode() + b"\n")
        out.flush()
    os._exit(0)  # whatever threads the learner has started


if __name__ == "__main__":
    answer(Path(sys.argv[1]), float(sys.argv[2]), [*map(int, sys.argv[3:])])

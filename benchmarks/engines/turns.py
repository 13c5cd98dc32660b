"""The engine's end of the benchmark protocol: work during a turn, then report what was done.

Each message is one line of JSON. All other output of the process is redirected to stderr, so that
only messages reach the benchmark.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any


class Turns:
    """The connection to the benchmark, over stdin and stdout.

    It must be made before anything else writes to stdout. pid: the process that does the work,
    by default this one.
    """

    def __init__(self, pid: int | None = None) -> None:
        self.pid = pid or os.getpid()
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        self._tally: dict[str, float] = {}
        self._end = 0.0

    def ready(self, **facts: Any) -> None:
        """Send facts about this engine, and wait for the first turn."""
        self._say(facts)
        self._wait()

    def tick(self, **done: float) -> None:
        """Count work that is done; at the end of a turn, report it and wait for the next.

        Call it after each part of the work.
        """
        for name, more in done.items():
            self._tally[name] = self._tally.get(name, 0) + more
        now = time.perf_counter()
        if now >= self._end:
            seconds, cpu = now - self._began, self._measure_cpu() - self._began_cpu
            memory = measure_memory(self.pid)
            self._say({**self._tally, "seconds": seconds, "cpu": cpu, **memory})
            self._wait()

    def asked(self, **facts: Any) -> Iterator[dict[str, Any]]:
        """Send facts, then yield each request of the benchmark, for the caller to `answer`."""
        self._say(facts)
        for line in sys.stdin:
            yield json.loads(line)

    def answer(self, **facts: Any) -> None:
        self._say({**facts, **measure_memory(self.pid)})

    def _wait(self) -> None:
        line = sys.stdin.readline()
        if not line:
            raise SystemExit(0)
        self._tally = {}
        self._began, self._began_cpu = time.perf_counter(), self._measure_cpu()
        self._end = self._began + json.loads(line)["seconds"]

    def _measure_cpu(self) -> float:
        """Return the processor time of the process, in seconds."""
        if self.pid == os.getpid():
            return time.process_time()
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _say(self, facts: dict[str, Any]) -> None:
        self._out.write(json.dumps(facts) + "\n")
        self._out.flush()


def measure_memory(pid: int) -> dict[str, float]:
    """Return the memory of a process now and at its peak, in MiB; empty if unknown."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            lines = dict(line.split(":", 1) for line in file)
    except OSError:
        return {}
    names = {"VmRSS": "memory", "VmHWM": "peak"}
    return {ours: int(lines[name].split()[0]) / 1024 for name, ours in names.items()}

"""Take turns: work when the referee says so, then say how much was done.

One line of JSON each way. Nothing but those lines may reach the referee, so that whatever else the
process prints goes to stderr.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any


class Turns:
    """The referee's line, taken from stdin and stdout before anybody else can write to them.

    Of this process, or of another that does the work.
    """

    def __init__(self, pid: int | None = None) -> None:
        self.pid = pid or os.getpid()
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        self._tally: dict[str, float] = {}
        self._end = 0.0

    def ready(self, **facts: Any) -> None:
        """Say what is here, and wait for the first turn."""
        self._say(facts)
        self._wait()

    def tick(self, **done: float) -> None:
        """After each token of work. When the turn is over: report it, and wait for the next."""
        for name, more in done.items():
            self._tally[name] = self._tally.get(name, 0) + more
        now = time.perf_counter()
        if now >= self._end:
            seconds, cpu = now - self._began, self._measure_cpu() - self._began_cpu
            memory = measure_memory(self.pid)
            self._say({**self._tally, "seconds": seconds, "cpu": cpu, **memory})
            self._wait()

    def asked(self, **facts: Any) -> Iterator[dict[str, Any]]:
        """For work that ends by itself: each request of the referee; `answer` it."""
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
        """Seconds of processor time."""
        if self.pid == os.getpid():
            return time.process_time()
        with open(f"/proc/{self.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _say(self, facts: dict[str, Any]) -> None:
        self._out.write(json.dumps(facts) + "\n")
        self._out.flush()


def measure_memory(pid: int) -> dict[str, float]:
    """MiB that a process holds now and held at most; nothing where the system does not tell."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            lines = dict(line.split(":", 1) for line in file)
    except OSError:
        return {}
    names = {"VmRSS": "memory", "VmHWM": "peak"}
    return {ours: int(lines[name].split()[0]) / 1024 for name, ours in names.items()}

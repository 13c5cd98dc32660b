"""Command lines in processes that can be killed, and what they left behind."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1]
PATIENCE = 120.0  # seconds until a command counts as hanging; a stopped machine is not its fault


@dataclass(frozen=True)
class Ended:
    code: int  # negative: the signal that ended it
    seconds: float
    said: str
    events: tuple[str, ...]  # what began in it


class Zygote:
    """See zygote.py."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.number = folder, 0
        path = os.pathsep.join([str(HERE), str(HERE.parents[1] / "src")])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "damage.zygote"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path, "PYTHONWARNINGS": "ignore"},
        )
        self.waiting = b""
        assert self._hear(10 * PATIENCE) == {"ready": True}

    def run(
        self,
        *argv: str | Path,
        kill_after: float | None = None,
        kill_in: str = "",
        nth: int = 1,
        signals: Sequence[int] = (signal.SIGKILL,),
        **request: Any,
    ) -> Ended:
        """Run a command line. It gets `signals` so many seconds after it began, or after the
        n-th time that `kill_in` began in it."""
        self.number += 1
        log = self.folder / f"{self.number}.log"
        tell = [kill_in] if kill_in else []
        asked = {"argv": [str(each) for each in argv], "log": str(log), "tell": tell, **request}
        assert self.process.stdin
        self.process.stdin.write((json.dumps(asked) + "\n").encode())
        self.process.stdin.flush()
        pid, events, left = 0, [], list(signals)
        due: float | None = None
        left_to_wait, then = PATIENCE, time.monotonic()
        while True:
            now = time.monotonic()
            left_to_wait, then = left_to_wait - min(now - then, 1.0), now  # we may be stopped too
            if left_to_wait < 0 and pid:
                os.kill(pid, signal.SIGKILL)
                raise AssertionError(f"{argv} hangs; it said {log.read_text(errors='replace')}")
            if due is not None and now >= due and pid and left:
                if left == list(signals) or "Stopping" in log.read_text(errors="replace"):
                    with suppress(ProcessLookupError):  # it has ended, which is heard next
                        os.kill(pid, left.pop(0))
                due = now + 0.001 if left else None
            heard = self._hear(min(0.5, (due or now + 0.5) - now))
            if heard is None:
                continue
            pid = heard.get("pid", pid)
            if "begins" in heard:
                events.append(heard["begins"])
            starts = events.count(kill_in) == nth if kill_in else "runs" in heard
            if kill_after is not None and starts and due is None and left == list(signals):
                due = time.monotonic() + kill_after
            if ended := heard.get("ended"):
                said = log.read_text(encoding="utf-8", errors="replace")
                return Ended(ended["code"], ended["seconds"], said, tuple(events))

    def close(self) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def _hear(self, seconds: float) -> dict[str, Any] | None:
        """One answer; None if there is none in time."""
        assert self.process.stdout
        while b"\n" not in self.waiting:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, seconds))
            if not ready:
                return None
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            assert more, "the zygote died"
            self.waiting += more
        line, _, self.waiting = self.waiting.partition(b"\n")
        return json.loads(line)

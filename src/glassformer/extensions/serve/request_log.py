"""A log of requests, one line of JSON for each; users' texts are logged only if that is set.

The file is only appended to. After it is renamed or removed, the next line starts a new file, so
that logrotate needs neither a signal nor copytruncate.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

from fastapi import Depends, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from glassformer.data.files import STANDARD
from glassformer.foundation.disk import is_still

if TYPE_CHECKING:
    from .service.server_metrics import ServerMetrics

ENTRY = "glassformer.log"  # the key of the log entry in a request's scope
SHOWN = 200  # characters of a path that are logged


class RequestLog:
    """A log in a file or on standard output. `with_text`: log the texts of users too.

    Raises OSError if the file cannot be opened. A later failure is reported once on standard error,
    and requests continue.
    """

    def __init__(self, path: Path, *, with_text: bool = False) -> None:
        self.path, self.with_text = path, with_text
        self._file: TextIO | None = None
        self._failed = False
        if path != STANDARD:
            self._file = self._open()

    def write(self, entry: dict[str, Any]) -> None:
        """Append one line of ASCII: users' text can neither end it nor control a terminal."""
        line = json.dumps(entry) + "\n"
        try:
            out = self._find_file()
            out.write(line)
            out.flush()
            self._failed = False
        except (OSError, ValueError) as error:  # ValueError: standard output is closed
            if not self._failed:
                print(f"glassformer: {self.path}: nothing is logged: {error}", file=sys.stderr)
            self._failed = True

    def close(self) -> None:
        """Close the file; a line that is written later opens it again."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _find_file(self) -> TextIO:
        """Return the open file; it is opened again if the path is another file now."""
        if self.path == STANDARD:
            return sys.stdout
        if self._file is None or not is_still(self.path, self._file):
            self.close()
            self._file = self._open()
        return self._file

    def _open(self) -> TextIO:
        def private(path: str, flags: int) -> int:
            return os.open(path, flags, 0o640)

        return open(self.path, "a", encoding="ascii", opener=private)


@dataclass
class LogEntry:
    """The facts that handlers note about one request."""

    with_text: bool
    facts: dict[str, Any] = field(default_factory=dict)

    def note(self, **facts: Any) -> None:
        """Add facts to the log line of a request, without those that are None."""
        self.facts |= {name: value for name, value in facts.items() if value is not None}

    def note_texts(self, texts: Sequence[str]) -> None:
        """Note how many texts and characters a request has, and the texts if the log has them."""
        self.note(texts=len(texts), characters=sum(map(len, texts)))
        if self.with_text:
            self.note(text=[*texts])


async def find_log_entry(request: Request) -> LogEntry:
    """Return the log entry of a request; if there is no log, one that nobody reads."""
    entry: LogEntry = request.scope.get(ENTRY) or LogEntry(with_text=False)
    return entry


TheLogEntry = Annotated[LogEntry, Depends(find_log_entry)]


def name_key(key: str) -> str | None:
    """Return 8 digits of a key's SHA-256, which identify it in a log without revealing it."""
    return sha256(key.encode("utf-8", "replace")).hexdigest()[:8] if key else None


class RequestLogMiddleware:
    """Middleware that counts and times every request, and logs it if there is a log."""

    def __init__(self, app: ASGIApp, metrics: ServerMetrics, log: RequestLog | None) -> None:
        self.app, self.metrics, self.log = app, metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            if self.log and scope["type"] == "lifespan":  # it has ended
                self.log.close()
            return
        status, begun, now = 500, time.perf_counter(), datetime.now(UTC)
        facts = {
            "time": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "address": (scope.get("client") or ("",))[0],
            "method": scope["method"],
            "path": scope["path"][:SHOWN],
        }
        entry = LogEntry(self.log is not None and self.log.with_text)
        inner = {**scope, ENTRY: entry} if self.log else scope

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.metrics.under_way.inc()
        try:
            await self.app(inner, receive, send_noted)
        finally:
            seconds = time.perf_counter() - begun
            self.metrics.under_way.dec()
            self.metrics.observe_request(inner, status, seconds)
            if self.log:
                facts |= {"status": status, "ms": round(1000 * seconds, 1)}
                self.log.write({**facts, **entry.facts})

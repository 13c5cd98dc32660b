"""A log of requests, one line of JSON each: what an operator needs, and no text unless asked.

A file is only ever appended to. When it has been renamed or removed, the next line begins a new
one, so that logrotate needs neither a signal nor copytruncate.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, TextIO

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..disk import is_still

ENTRY = "glassformer.log"  # of the scope of a request: what is noted of it
SHOWN = 200  # characters of a path
STANDARD = Path("-")


class RequestLog:
    """Where lines go: a file, or the standard output. `with_text`: the texts of users too.

    OSError if the file cannot be opened. One that fails later is said once; requests go on.
    """

    def __init__(self, path: Path, *, with_text: bool = False) -> None:
        self.path, self.with_text = path, with_text
        self._file: TextIO | None = None
        self._failed = False
        if path != STANDARD:
            self._file = self._open()

    def write(self, entry: dict[str, Any]) -> None:
        """Append one line."""
        line = json.dumps(entry, ensure_ascii=False) + "\n"
        try:
            out = self._find_file()
            out.write(line)
            out.flush()
            self._failed = False
        except OSError as error:
            if not self._failed:
                print(f"glassformer: {self.path}: no log: {error.strerror}", file=sys.stderr)
            self._failed = True

    def _find_file(self) -> TextIO:
        """Return the file of this name, which need not be the one that was opened."""
        if self.path == STANDARD:
            return sys.stdout
        if self._file is None or not is_still(self.path, self._file):
            if self._file is not None:
                self._file.close()
            self._file = self._open()
        return self._file

    def _open(self) -> TextIO:
        def private(path: str, flags: int) -> int:
            return os.open(path, flags, 0o640)

        return open(self.path, "a", encoding="utf-8", errors="replace", opener=private)


def note(request: Request, **facts: Any) -> None:
    """Add facts to the line of a request; None is left out. Without a log, this does nothing."""
    entry = request.scope.get(ENTRY)
    if entry is not None:
        entry.update({name: value for name, value in facts.items() if value is not None})


def note_texts(request: Request, texts: Sequence[str], **facts: Any) -> None:
    """Note how many texts and characters a request has, and the texts if the log wants them."""
    entry = request.scope.get(ENTRY)
    if entry is not None:
        shown = [*texts] if request.app.state.service.log.with_text else None
        note(request, texts=len(texts), characters=sum(map(len, texts)), text=shown, **facts)


def name_key(key: str) -> str | None:
    """Return what tells keys apart in a log and gives none away: 8 digits of its SHA-256."""
    return sha256(key.encode("utf-8", "replace")).hexdigest()[:8] if key else None


class Logged:
    """Writes a line for every request once it is answered."""

    def __init__(
        self, app: ASGIApp, log: RequestLog, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.app, self.log, self.clock = app, log, clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, begun, entry = 500, self.clock(), dict[str, Any]()
        now, (address, *_) = datetime.now(UTC), scope.get("client") or ("",)
        path = scope["path"][:SHOWN]

        async def send_noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app({**scope, ENTRY: entry}, receive, send_noted)
        finally:
            told = {
                "time": now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "address": address,
                "method": scope["method"],
                "path": path,
                "status": status,
                "ms": round(1000 * (self.clock() - begun), 1),
            }
            self.log.write({**told, **entry})

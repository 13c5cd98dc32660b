"""Recorded translations in memory, up to a number of bytes."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from ..see import Trace
from .api_error import ApiError


@dataclass(frozen=True)
class Recording:
    trace: Trace
    model: str | None = None  # None: it was uploaded
    request: dict[str, Any] = field(default_factory=dict)  # the request that made it, without edits
    base: str | None = None  # the id of the unedited one
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    def describe(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "model": self.model,
            "base": self.base,
            "text": self.trace.text,
            "translation": self.trace.translation,
            "level": self.trace.level,
            "edits": list(self.trace.edits),
            "bytes": self.trace.size,
        }


class Recordings:
    """A cache of recordings with at most `most` bytes of tensors.

    The least recently used are dropped first; one recording is always kept.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._kept: OrderedDict[str, Recording] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, recording: Recording) -> Recording:
        with self._lock:
            self._kept[recording.id] = recording
        self._make_room()
        return recording

    def find(self, id: str) -> Recording:
        with self._lock:
            if id not in self._kept:
                raise ApiError(404, f"there is no recording {id} any more: record it again")
            self._kept.move_to_end(id)
            return self._kept[id]

    def remove(self, id: str) -> None:
        self.find(id)
        with self._lock:
            self._kept.pop(id, None)

    def list(self) -> list[Recording]:
        """Return the recordings, the last used first."""
        with self._lock:
            return [*reversed(self._kept.values())]

    def _make_room(self) -> None:
        """Drop recordings until the rest fits; tensors derived since count too."""
        with self._lock:
            total = sum(each.trace.size for each in self._kept.values())
            while total > self.most and len(self._kept) > 1:
                _, old = self._kept.popitem(last=False)
                total -= old.trace.size

"""Translated documents that wait until they are fetched."""

import secrets
import threading
from collections import OrderedDict
from pathlib import PurePath

from ..api_error import ApiError


class TranslatedFiles:
    """Translated documents that wait to be fetched, at most `most` bytes; the oldest leave."""

    def __init__(self, most: int) -> None:
        self.most, self.size = most, 0
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, data: bytes, name: str) -> str:
        """Keep a file, and return the name by which it is found: nobody can guess it."""
        path = PurePath(name)
        known = f"{path.stem[:80]}-{secrets.token_urlsafe(16)}{path.suffix.lower()}"
        with self._lock:
            self._kept[known] = data
            self.size += len(data)
            while self.size > self.most and len(self._kept) > 1:
                self.size -= len(self._kept.popitem(last=False)[1])
        return known

    def find(self, name: str) -> bytes:
        """Return a file. Raises ApiError if it is not here any more."""
        with self._lock:
            if name not in self._kept:
                raise ApiError(404, "there is no such file any more: translate it again")
            return self._kept[name]

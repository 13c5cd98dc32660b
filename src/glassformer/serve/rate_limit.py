"""API keys, and how often somebody may ask."""

from __future__ import annotations

import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Sequence

from .api_error import ApiError

REMEMBERED = 10_000  # clients


class Access:
    """keys: none, and anybody may ask. rate: requests a minute of one key or address; 0: any."""

    def __init__(self, keys: Sequence[str] = (), rate: int = 0) -> None:
        self.keys, self.rate = [key.encode() for key in keys], rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests, and when

    def check(self, key: str, address: str) -> None:
        """ApiError for who may not ask, or has asked too often."""
        if self.keys:
            if not key:
                raise ApiError(400, "Please contact the server operator to get an API key")
            given = key.encode("utf-8", "replace")
            if not any([hmac.compare_digest(given, known) for known in self.keys]):
                raise ApiError(403, "Invalid API key")
        if self.rate:
            self._count(key if self.keys else address)

    def _count(self, who: str) -> None:
        """A bucket that holds `rate` requests and fills up in a minute."""
        now, full = time.monotonic(), float(self.rate)
        left, seen = self._left.pop(who, (full, now))
        left = min(full, left + (now - seen) * full / 60)
        self._left[who] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if len(self._left) > REMEMBERED:
            self._left.popitem(last=False)
        if left < 1:
            seconds = max(1, math.ceil((1 - left) * 60 / full))
            raise ApiError(429, f"Slowdown: {self.rate} per 1 minute", seconds)

"""API keys, and a limit on the rate of requests."""

from __future__ import annotations

import hmac
import math
import time
from collections import OrderedDict
from collections.abc import Sequence

from .api_error import ApiError

REMEMBERED = 10_000  # clients


class Access:
    """The check of keys and rates.

    keys: the valid keys; none: no key is needed. rate: requests a minute of one key or address; 0:
    no limit.
    """

    def __init__(self, keys: Sequence[str] = (), rate: int = 0) -> None:
        self.keys, self.rate = [key.encode() for key in keys], rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests, and when

    def check(self, key: str, address: str) -> None:
        """Raise ApiError if the key is not valid, or has sent too many requests."""
        if self.keys:
            if not key:
                raise ApiError(400, "Please contact the server operator to get an API key")
            given = key.encode("utf-8", "replace")
            if not any([hmac.compare_digest(given, known) for known in self.keys]):
                raise ApiError(403, "Invalid API key")
        if self.rate:
            self._count(key if self.keys else address)

    def _count(self, who: str) -> None:
        """Take one request from a token bucket that holds `rate` and refills in a minute.

        Raises ApiError 429 if it is empty.
        """
        now, full = time.monotonic(), float(self.rate)
        left, seen = self._left.pop(who, (full, now))
        left = min(full, left + (now - seen) * full / 60)
        self._left[who] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if len(self._left) > REMEMBERED:
            self._left.popitem(last=False)
        if left < 1:
            seconds = max(1, math.ceil((1 - left) * 60 / full))
            raise ApiError(429, f"Slowdown: {self.rate} per 1 minute", seconds)

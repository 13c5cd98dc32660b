"""API keys, their quotas, and a limit on the rate of requests."""

import hmac
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, ValidationError

from glassformer.foundation.disk import read_toml, stamp_file
from glassformer.foundation.settings.schema import StrictModel

from .api_error import ApiError, tell_invalid

log = logging.getLogger("glassformer.extensions.serve")
REMEMBERED = 10_000  # clients
LOOK = 1.0  # seconds between two looks whether the file of keys has changed
DAY = 86_400  # seconds; a day begins at midnight UTC


class Quota(StrictModel):
    """One table of a file of keys: the key, and what its owner may do; 0 is no limit."""

    key: str = Field(min_length=1)
    rate: int | None = Field(None, ge=0)  # requests a minute; None: what --rate says
    characters: int = Field(0, ge=0)  # a day


class Charge(NamedTuple):
    """Characters that were counted, for whom, and on which day."""

    owner: str
    characters: int
    day: int


class Access:
    """The check of keys, rates and quotas.

    keys: the valid keys; none, and no file: no key is needed. rate: requests a minute of one key or
    address; 0: no limit. file: TOML with a table for each key, see `Quota`; it is read again when
    it changes, and the former keys stay if it cannot be read.

    Raises ValueError or OSError if the file cannot be read.
    """

    def __init__(self, keys: Sequence[str] = (), rate: int = 0, file: Path | None = None) -> None:
        self.rate, self.file = rate, file
        self._given = {f"key {place}": Quota(key=key) for place, key in enumerate(keys, 1)}
        self._read = read_quotas(file) if file else {}
        self._stamp, self._looked = file and stamp_file(file), time.monotonic()
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # requests, and when
        self._epoch = time.time() - time.monotonic()  # a clock that is set later changes no day
        self._day, self._used = 0, dict[str, int]()  # characters of today, by name

    @property
    def is_closed(self) -> bool:
        """Return whether a key is needed."""
        return bool(self._given or self.file)

    def check(self, key: str, address: str) -> str:
        """Return the name of the key's owner, or the address if no key is needed.

        Raises ApiError if the key is not valid, or has sent too many requests.
        """
        if not self.is_closed:
            self._count(address, self.rate)
            return address
        self._look()
        if not key:
            raise ApiError(400, "Please contact the server operator to get an API key")
        name, quota = self._find(key)
        self._count(name, self.rate if quota.rate is None else quota.rate)
        return name

    def spend(self, owner: str, characters: int) -> Charge:
        """Count characters of today. Raises ApiError 429 if the owner has not as many left."""
        quota, now = self._read.get(owner), self._epoch + time.monotonic()
        if int(now // DAY) != self._day:
            self._day, self._used = int(now // DAY), {}
        used = self._used.get(owner, 0)
        if quota and quota.characters:
            if used + characters > quota.characters:
                message = f"Slowdown: {quota.characters} characters per 1 day, {used} are used"
                raise ApiError(429, message, max(1, math.ceil(DAY - now % DAY)))
            self._used[owner] = used + characters
        return Charge(owner, characters, self._day)

    def give_back(self, charge: Charge) -> None:
        """Count characters no longer, because their request was refused."""
        if charge.day == self._day and charge.owner in self._used:
            self._used[charge.owner] = max(0, self._used[charge.owner] - charge.characters)

    @contextmanager
    def charge(self, owner: str, characters: int) -> Iterator[Charge]:
        """Count characters of today, and give them back if the request is refused.

        If its client leaves, or its time is over, the work is cancelled, and stays charged. Raises
        ApiError 429 if the owner has not as many left.
        """
        charge = self.spend(owner, characters)
        try:
            yield charge
        except Exception:
            self.give_back(charge)
            raise

    def _find(self, key: str) -> tuple[str, Quota]:
        """Return the quota of a key, all keys compared, so that the time tells nothing."""
        data = key.encode("utf-8", "replace")
        results = [
            (name, quota)
            for name, quota in (*self._given.items(), *self._read.items())
            if hmac.compare_digest(data, quota.key.encode())
        ]
        if not results:
            raise ApiError(403, "Invalid API key")
        return results[0]

    def _look(self) -> None:
        """Read the file of keys again if it has changed."""
        if self.file is None or time.monotonic() - self._looked < LOOK:
            return
        self._looked, stamp = time.monotonic(), stamp_file(self.file)
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            self._read = read_quotas(self.file)
        except (OSError, ValueError) as error:
            log.warning("the keys stay as they were: %s", error)

    def _count(self, who: str, rate: int) -> None:
        """Take one request from a token bucket that holds `rate` and refills in a minute.

        Raises ApiError 429 if it is empty.
        """
        if not rate:
            return
        now, full = time.monotonic(), float(rate)
        left, seen = self._left.pop(who, (full, now))
        left = min(full, left + (now - seen) * full / 60)
        self._left[who] = (max(left - 1, 0.0) if left >= 1 else left, now)
        if len(self._left) > REMEMBERED:
            self._left.popitem(last=False)
        if left < 1:
            seconds = max(1, math.ceil((1 - left) * 60 / full))
            raise ApiError(429, f"Slowdown: {rate} per 1 minute", seconds)


def read_quotas(file: Path) -> dict[str, Quota]:
    """Return the quotas of a file of keys by name. Raises ValueError that names what is wrong."""
    quotas = dict[str, Quota]()
    for name, table in read_toml(file).items():
        try:
            quotas[name] = Quota.model_validate(table)
        except ValidationError as error:
            raise ValueError(f"{file}: [{name}]: {tell_invalid(error.errors()[0])}") from None
    if len({quota.key for quota in quotas.values()}) < len(quotas):
        raise ValueError(f"{file}: two tables have the same key")
    return quotas

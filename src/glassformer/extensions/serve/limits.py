"""The limits of one server; and the time limit of a request, which ends if the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from glassformer.foundation.settings.table import Settings, setting

from .api_error import CLIENT_LEFT, ApiError

if TYPE_CHECKING:  # the command line shows these limits without a server installed
    from fastapi import Request

T = TypeVar("T")
_END = ContextVar[float]("end")  # of the time of the request that is answered
BEAT = 1.0  # seconds between two checks whether the client is still connected


class Limits(Settings):
    """The limits of a server; beyond them an error names the limit in one sentence.

    Some are options of `glassformer serve`.
    """

    characters: int = setting(20_000, "The most characters of one request.", ge=1)
    document: int = setting(200_000, "The most characters of one document.")
    texts: int = setting(256, "The most texts in one request.")
    seconds: float = setting(60.0, "The most seconds for one request.", ge=0.1)
    document_seconds: float = setting(600.0, "The most seconds for one document.")
    file: int = setting(32 << 20, "The most bytes of a document.")
    upload: int = setting(256 << 20, "The most bytes of a saved trace, packed and unpacked.")
    waiting: int = setting(
        2048,
        "How many sentences may wait; further requests are told when to try again, unless none "
        "waits.",
        ge=1,
    )
    batch: int = setting(64, "How many sentences are translated together.", ge=1)
    beam: int = setting(16, "The widest beam.")
    alternatives: int = setting(8, "The most translations of one text beside the best.")
    tokens: int = setting(256, "The most tokens of a sentence that is recorded.")
    recordings: int = setting(256, "Memory for recordings, in MiB.", ge=1)
    cache: int = setting(64, "Memory for translated sentences, in MiB; 0: none are kept.", ge=0)
    files: int = setting(
        64 << 20, "The most bytes of translated documents that wait to be fetched."
    )
    jobs: int = setting(16, "The most recordings and streams that wait.")
    loaded: int = setting(4, "How many models are kept in memory.", ge=1)
    connections: int = setting(1024, "The most connections at once.")

    @property
    def body(self) -> int:
        """Return the most bytes of a request: an escaped character takes up to 12."""
        return max(1 << 20, 12 * self.characters)


class TrainingLimits(Settings):
    """The limits of trainings that are started in the app; only one runs at a time."""

    minutes: float = setting(60.0, "The most minutes for one training.", ge=0.1)
    upload: int = setting(64, "The largest file of text, in MiB.", ge=1)
    disk: int = setting(4096, "The most disk space for all trainings, in MiB.", ge=1)
    spare: int = setting(256, "MiB that a training may need, and that the disk keeps free.")


async def wait_for(work: Coroutine[Any, Any, T], request: Request, seconds: float) -> T:
    """Return the result of the work. Raises ApiError after `seconds`, or if the client leaves.

    In both cases the work is cancelled.
    """
    end = asyncio.get_running_loop().time() + seconds
    _END.set(end)
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=BEAT))[0]:
            if asyncio.get_running_loop().time() > end:
                raise ApiError(503, f"this took longer than {seconds:g} seconds", 5)
            if await request.is_disconnected():
                raise ApiError(CLIENT_LEFT, "the client has left")
        return task.result()
    finally:
        task.cancel()


def find_time_left(usual: float) -> float:
    """Return the seconds that are left for the request that is answered; outside one, `usual`."""
    now = asyncio.get_running_loop().time()
    return _END.get(now + usual) - now


class Deadline:
    """The time by which a request has to be answered that is answered in parts."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.end = asyncio.get_running_loop().time() + seconds
        _END.set(self.end)

    async def limit(self, part: Awaitable[T]) -> T:
        """Return the result of a part of the work. Raises ApiError at the deadline."""
        left = self.end - asyncio.get_running_loop().time()
        try:
            return await asyncio.wait_for(part, max(0.0, left))
        except TimeoutError:
            raise ApiError(503, f"this took longer than {self.seconds:g} seconds", 5) from None

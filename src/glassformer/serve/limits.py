"""The limits of one server; and the time limit of a request, which ends if the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from .api_error import ApiError

if TYPE_CHECKING:  # the command line shows these limits without a server installed
    from fastapi import Request

T = TypeVar("T")
BEAT = 1.0  # seconds between two checks whether the client is still connected


@dataclass(frozen=True)
class Limits:
    """The limits of a server; beyond them an error names the limit in one sentence."""

    characters: int = 20_000  # of all texts of one request
    document: int = 200_000  # characters of one document
    texts: int = 256  # in one request
    seconds: float = 60.0  # from a request to its answer
    document_seconds: float = 600.0  # the same, for a document
    body: int = 1 << 20  # bytes of a request
    file: int = 32 << 20  # bytes of a document
    upload: int = 256 << 20  # bytes of a saved trace, packed and unpacked
    waiting: int = 2048  # sentences accepted and not yet translated
    batch: int = 64  # sentences translated together
    beam: int = 16
    alternatives: int = 8
    tokens: int = 256  # of a sentence that is recorded
    traces: int = 256 << 20  # bytes of recordings kept in memory
    answers: int = 64 << 20  # bytes of translated sentences kept in memory
    files: int = 64 << 20  # bytes of translated documents that wait to be fetched
    jobs: int = 16  # recordings and streams waiting
    loaded: int = 4  # models in memory
    connections: int = 1024


@dataclass(frozen=True)
class TrainingLimits:
    """The limits of trainings that are begun in the app; one is under way at a time."""

    minutes: float = 60.0  # of one training
    upload: int = 64 << 20  # bytes of one file of text
    disk: int = 4 << 30  # bytes of all trainings together
    spare: int = 256 << 20  # bytes that a training may need, and that the disk keeps free


async def wait_for(work: Coroutine[Any, Any, T], request: Request, seconds: float) -> T:
    """Return the result of the work. Raises ApiError after `seconds`, or if the client leaves.

    In both cases the work is cancelled.
    """
    task = asyncio.ensure_future(work)
    end = asyncio.get_running_loop().time() + seconds
    try:
        while not (await asyncio.wait({task}, timeout=BEAT))[0]:
            if asyncio.get_running_loop().time() > end:
                raise ApiError(503, f"this took longer than {seconds:g} seconds", 5)
            if await request.is_disconnected():
                raise ApiError(499, "the client has left")
        return task.result()
    finally:
        task.cancel()

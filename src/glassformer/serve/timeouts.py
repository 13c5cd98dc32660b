"""A time limit for work, which also ends when the client leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from fastapi import Request

from .api_error import ApiError

T = TypeVar("T")
BEAT = 1.0  # seconds between two checks whether the client is still connected


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

"""Long work in background threads that reports progress and ends if the client leaves."""

from __future__ import annotations

import asyncio
import logging
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from glassformer.foundation.machine.extras import explain_missing

from ..api_error import CLIENT_LEFT, ApiError
from ..limits import Limits

log = logging.getLogger("glassformer.extensions.serve")
Event = tuple[str, dict[str, Any]]
ENDS = ("done", "error")


class JobCancelled(Exception):
    """An exception that ends a cancelled job."""


class BackgroundJob:
    """A job in a thread. The thread calls `say`; the event loop reads `events`."""

    def __init__(self, seconds: float, forget: Callable[[str], object]) -> None:
        self.id, self.forget = secrets.token_hex(8), forget
        self.deadline = time.monotonic() + seconds
        self.seconds = seconds
        self.is_cancelled = threading.Event()
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event] = asyncio.Queue()

    def say(self, event: str, **data: Any) -> None:
        """Send an event to the client.

        Raises, which ends the job, if it was cancelled or takes too long.
        """
        self.check()
        self._put(event, data)

    def check(self) -> None:
        if self.is_cancelled.is_set():
            raise JobCancelled
        if time.monotonic() > self.deadline:
            raise ApiError(503, f"this took longer than {self.seconds:g} seconds", 1)

    def cancel(self) -> None:
        self.is_cancelled.set()

    def run(self, work: Callable[[BackgroundJob], dict[str, Any]]) -> None:
        """Do the work and send its result or its error; runs in the thread."""
        try:
            self.check()
            self._put("done", work(self))
        except JobCancelled:
            self._fail(ApiError(CLIENT_LEFT, "cancelled"))
        except ApiError as refusal:
            self._fail(refusal)
        except (ValueError, OSError) as error:
            self._fail(ApiError(400, str(error)))
        except ModuleNotFoundError as error:
            self._fail(ApiError(501, explain_missing(error) or "internal error"))
        except Exception:
            log.exception("internal error")
            self._fail(ApiError(500, "internal error"))

    def _fail(self, refusal: ApiError) -> None:
        self._put("error", {"error": refusal.sentence, "status": refusal.status})

    def _put(self, event: str, data: dict[str, Any]) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            if event in ENDS:
                self._loop.call_soon_threadsafe(self.forget, self.id)
            self._loop.call_soon_threadsafe(self._events.put_nowait, (event, data))

    async def events(self, beat: float = 10.0) -> AsyncIterator[Event | None]:
        """Yield the job's events to the end, and None after each `beat` seconds without one."""
        event = ""
        while event not in ENDS:
            try:
                event, data = await asyncio.wait_for(self._events.get(), beat)
            except TimeoutError:
                yield None
            else:
                yield event, data


class Jobs:
    """A few threads with a bounded queue of jobs."""

    def __init__(self, limits: Limits, threads: int = 2) -> None:
        self.limits, self.threads = limits, threads
        self._pool = ThreadPoolExecutor(threads, "job")
        self._open: dict[str, BackgroundJob] = {}

    def start(self, work: Callable[[BackgroundJob], dict[str, Any]]) -> BackgroundJob:
        """Queue a job and return it. Raises ApiError if too many are waiting."""
        before = len(self._open) - self.threads + 1
        if before > self.limits.jobs:
            raise ApiError(503, f"{len(self._open)} jobs are waiting already", 2)
        job = BackgroundJob(self.limits.seconds, lambda id: self._open.pop(id, None))
        self._open[job.id] = job
        if before > 0:
            job.say("queued", before=before)
        self._pool.submit(job.run, work)
        return job

    @property
    def waiting(self) -> int:
        """Return the number of jobs that are not done."""
        return len(self._open)

    def cancel(self, id: str) -> bool:
        """Cancel a job; return whether it existed."""
        job = self._open.get(id)
        if job:
            job.cancel()
        return job is not None

    def close(self) -> None:
        """Cancel all jobs, and wait for the threads to end."""
        for job in [*self._open.values()]:
            job.cancel()
        self._pool.shutdown(wait=True, cancel_futures=True)

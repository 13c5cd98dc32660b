"""Pages of HTML that are read in processes apart, so that whoever sends them slows nobody else.

Python runs one thread at a time: where a page is read in a thread of the server, all others wait.
"""

from __future__ import annotations

import asyncio
import json
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from anyio.to_thread import run_sync

from .failures import Failures
from .markup import MarkupPage
from .messages import exchange, start_reader
from .page_reader import READER, unpack_pages

AT_ONCE = 2  # processes that read pages
SECONDS = 60.0  # a request's pages may take
STAY = 60.0  # seconds after which a process ends that nobody needs


class PageProcesses:
    """Reads the pages of requests in processes that stay; each reads those of one at a time.

    The others wait, and whoever leaves meanwhile costs nothing: a process that reads what nobody
    waits for is ended, and another begun with the next request.
    """

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._idle = dict[Process, asyncio.TimerHandle]()

    async def count(self, texts: Sequence[str]) -> int:
        """Return how many characters of pages are translated: those outside of tags."""
        return int(await self._ask({"count": texts}))

    async def read(self, texts: Sequence[str], failures: Failures) -> list[MarkupPage]:
        """Return the pages in texts of HTML; `failures` gets what cannot be read."""
        pages, reasons = await run_sync(unpack_pages, await self._ask({"read": texts}))
        failures.said += reasons
        return pages

    async def close(self) -> None:
        """End the processes that wait for pages."""
        for process in [*self._idle]:
            self._end(process)
            await process.communicate()  # until its pipes are closed, too

    async def _ask(self, order: dict[str, Any]) -> bytes:
        """Return a process's answer. Raises ValueError if there is none within the limits."""
        async with self._turns, self._take() as process:
            try:
                async with asyncio.timeout(SECONDS):
                    is_error, answer = await exchange(process, [json.dumps(order).encode()])
            except TimeoutError:
                raise ValueError(f"the page was not read in {SECONDS:g} seconds") from None
            except (OSError, asyncio.IncompleteReadError):
                raise ValueError("the page could not be read: it broke the reader") from None
            wait = asyncio.get_running_loop().call_later
            self._idle[process] = wait(STAY, self._end, process)
        if is_error:
            raise ValueError(json.loads(answer)["said"])
        return answer

    @asynccontextmanager
    async def _take(self) -> AsyncIterator[Process]:
        """Give a process; it ends with the block, unless it was put back among the idle ones."""
        while self._idle:
            process, ending = self._idle.popitem()
            ending.cancel()
            if process.returncode is None:
                break
        else:
            process = await start_reader(READER)
        try:
            yield process
        finally:
            if process not in self._idle:
                self._end(process)
                await process.communicate()

    def _end(self, process: Process) -> None:
        self._idle.pop(process, None)
        with suppress(ProcessLookupError):
            process.kill()

"""How much text a request has: what is translated counts, by the parser that translates it."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

from glassformer.extensions.documents.failures import Failures
from glassformer.extensions.documents.markup import MarkupPage, read_markup

AT_ONCE = 1  # requests whose pages are read: Python runs one thread at a time
SWITCH = 0.0001  # seconds after which another thread has its turn while pages are read
SHORT = 1000  # characters up to which reading is faster than starting a thread


def count_characters(texts: Sequence[str], form: str) -> int:
    """Return how many characters of texts are translated: of HTML, those outside of tags."""
    if form != "html":
        return sum(map(len, texts))
    return sum(len(run.text) for page in read_pages(texts) for run in page.runs)


def read_pages(texts: Sequence[str], failures: Failures | None = None) -> list[MarkupPage]:
    """Return the pages in texts of HTML; `failures` gets what cannot be read."""
    return [read_markup(text, failures) for text in texts]


class PageReader:
    """Reads pages of HTML in threads, those of one request at a time.

    The others wait, and whoever leaves meanwhile costs nothing: pages of many clients can neither
    fill the pool of threads nor keep Python from answering. While pages are read, Python changes
    threads more often: else the event loop waits for 5 ms after each call of the system.
    """

    def __init__(self) -> None:
        self._turns, self._reading = CapacityLimiter(AT_ONCE), 0

    async def read(self, texts: Sequence[str], failures: Failures | None) -> list[MarkupPage]:
        """Return the pages in texts of HTML; `failures` gets what cannot be read."""
        if sum(map(len, texts)) <= SHORT:
            return read_pages(texts, failures)
        with self._change_often():
            return await run_sync(read_pages, texts, failures, limiter=self._turns)

    async def count(self, texts: Sequence[str], form: str) -> int:
        """Return how many characters of texts are translated; see `count_characters`."""
        if form != "html" or sum(map(len, texts)) <= SHORT:
            return count_characters(texts, form)
        with self._change_often():
            return await run_sync(count_characters, texts, form, limiter=self._turns)

    @contextmanager
    def _change_often(self) -> Iterator[None]:
        if not self._reading:
            self._usual = sys.getswitchinterval()
            sys.setswitchinterval(SWITCH)
        self._reading += 1
        try:
            yield
        finally:
            self._reading -= 1
            if not self._reading:
                sys.setswitchinterval(self._usual)

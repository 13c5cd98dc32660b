"""How much text a request has: what is translated counts, by the parser that translates it."""

from collections.abc import Sequence

from glassformer.extensions.documents.failures import Failures
from glassformer.extensions.documents.markup import MarkupPage, read_markup
from glassformer.extensions.documents.pages_apart import PageProcesses

from .api_error import ApiError

SHORT = 1000  # characters up to which reading is faster than asking another process


class PageReader:
    """Reads pages of HTML: short ones itself, others in processes apart."""

    def __init__(self) -> None:
        self._processes = PageProcesses()

    async def read(self, texts: Sequence[str], failures: Failures | None) -> list[MarkupPage]:
        """Return the pages in texts of HTML; `failures` gets what cannot be read.

        Raises ApiError for pages that take too much time or memory.
        """
        failures = failures or Failures()
        if sum(map(len, texts)) <= SHORT:
            return [read_markup(text, failures) for text in texts]
        try:
            return await self._processes.read(texts, failures)
        except ValueError as error:
            raise ApiError(400, str(error)) from None

    async def count(self, texts: Sequence[str], form: str) -> int:
        """Return how many characters of texts are translated: of HTML, those outside of tags.

        Raises ApiError for pages that take too much time or memory.
        """
        if form != "html":
            return sum(map(len, texts))
        if sum(map(len, texts)) <= SHORT:
            return sum(len(run.full_text) for text in texts for run in read_markup(text).runs)
        try:
            return await self._processes.count(texts)
        except ValueError as error:
            raise ApiError(400, str(error)) from None

    async def close(self) -> None:
        """End the processes."""
        await self._processes.close()

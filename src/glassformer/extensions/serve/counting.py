"""How much text a request has: what is translated counts, by the parser that translates it."""

from collections.abc import Sequence

from ..documents.markup import MarkupPage, read_markup


def list_readable(texts: Sequence[str], form: str) -> list[str]:
    """Return the parts of texts that are translated: of HTML, what is outside of tags."""
    if form != "html":
        return [*texts]
    return [run.text for page in read_pages(texts) for run in page.runs]


def count_characters(texts: Sequence[str], form: str) -> int:
    """Return how many characters of texts are translated."""
    return sum(map(len, list_readable(texts, form)))


def read_pages(texts: Sequence[str]) -> list[MarkupPage]:
    """Return the pages in texts of HTML."""
    return [read_markup(text) for text in texts]

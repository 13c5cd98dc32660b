"""Cut a page of HTML into text and tags.

The time is proportional to the length of any page, a hostile one included: where a search for the
end of a tag has failed, no later search passes again.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from .elements import CONTAINERS, OPTIONAL_END, RAW, VOID, list_terminators

_COMMENT = r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<[!?][^>]*+(?:>|\Z)"
_BEGIN = re.compile(rf"(?P<comment>{_COMMENT})|<(?P<end>/?)(?P<name>[A-Za-z][^\s/<>]*+)", re.DOTALL)
_UNQUOTED = re.compile(r"[^\"'<>]*+")
_UP_TO_SIGN = re.compile(r"[^<>]*+")


class PageToken(NamedTuple):
    """A part of a page: `kind` is text, comment, start or end (of an element), or raw (all of one).

    The token is `text[begin:end]` of the page; `name` is in lower case.
    """

    kind: str
    begin: int
    end: int
    name: str = ""
    attributes: str = ""

    @property
    def is_empty(self) -> bool:
        """Return whether this is the start tag of an element that has no content."""
        return self.name in VOID or self.attributes.rstrip().endswith("/")


def cut_page(text: str) -> Iterator[PageToken]:
    """Yield the tokens of a page, in order; together they are the page."""
    ends = _TagEnds(text)
    at = begin = 0  # text before `at` is read; a token of text starts at `begin`
    while match := _BEGIN.search(text, at):
        name = (match["name"] or "").lower()
        end = match.end() if match["comment"] is not None else ends.find(match.end())
        if not end:
            at = match.end()
            continue
        if match.start() > begin:
            yield PageToken("text", begin, match.start())
        kind = "comment" if not name else "end" if match["end"] else "start"
        token = PageToken(kind, match.start(), end, name, text[match.end() : max(end - 1, 0)])
        if kind == "start" and name in RAW and not token.is_empty:
            token = token._replace(kind="raw", end=_find_raw_end(text, end, name))
        yield token
        at = begin = token.end
    if begin < len(text):
        yield PageToken("text", begin, len(text))


class _TagEnds:
    """A search for the ends of tags, where quoted values of attributes may contain a `>`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.last_quotes = {quote: text.rfind(quote) for quote in "\"'"}
        self.failed = set[int]()  # places among attributes from which no end was found

    def find(self, at: int) -> int:
        """Return the index after the tag whose attributes begin at `at`; 0 if it has no end."""
        if end := self._find_quoted(at):
            return end
        match = _UP_TO_SIGN.match(self.text, at)
        stop = match.end() if match else at
        return stop + 1 if self.text.startswith(">", stop) else 0

    def _find_quoted(self, at: int) -> int:
        passed = list[int]()
        while at not in self.failed:
            passed.append(at)
            match = _UNQUOTED.match(self.text, at)
            stop = match.end() if match else at
            sign = self.text[stop : stop + 1]
            if sign == ">":
                return stop + 1
            if stop >= self.last_quotes.get(sign, -1):
                break
            at = self.text.index(sign, stop + 1) + 1
        self.failed.update(passed)
        return 0


@cache
def _compile_raw_end(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)


def _find_raw_end(text: str, at: int, name: str) -> int:
    """Return the index after the end tag of an element with raw text; else the page's end."""
    match = _compile_raw_end(name).search(text, at)
    end = text.find(">", match.end()) if match else -1
    return end + 1 if end >= 0 else len(text)


def find_element_end(tokens: Sequence[PageToken], start: int) -> int:
    """Return the number of the token after the element whose start tag is `tokens[start]`.

    An element without an end tag goes on to the token that ends it, or to the end of the page.
    """
    name = tokens[start].name
    terminators = list_terminators(name) if name in OPTIONAL_END else frozenset[str]()
    depth = 0  # of elements of this name, or where none is needed to end it, of those around others
    for number in range(start + 1, len(tokens)):
        token = tokens[number]
        counts = token.name in CONTAINERS if terminators else token.name == name
        if token.kind == "start" and not token.is_empty:
            if not depth and token.name in terminators:
                return number
            depth += counts
        elif token.kind == "end":
            if not depth and (counts or token.name == name):
                return number + (token.name == name)
            depth -= counts
    return len(tokens)

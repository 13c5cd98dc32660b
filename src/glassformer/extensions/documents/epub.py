"""Electronic books, EPUB 2 and 3: the pages that the book lists, and the titles of its contents."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

from .encodings import PAGE_CHARSET, decode
from .failures import Failures
from .packed import Package, parse_xml

_CONTAINER, _ENCRYPTED = "META-INF/container.xml", "META-INF/encryption.xml"
PAGE, CONTENTS = "application/xhtml+xml", "application/x-dtbncx+xml"
_LABEL = re.compile(r"<((?:\w{1,20}:)?text)\b[^<>]{0,200}>(?P<text>[^<]++)</\1\s*>")  # of EPUB 2
_PARTS = {PAGE: PAGE, "text/html": PAGE, CONTENTS: CONTENTS}


class BookPage:
    """An entry of a book: a page, which is one text of HTML, or contents with a text for each."""

    def __init__(self, name: str, data: bytes, kind: str) -> None:
        self.name, self.kind = name, kind
        self.whole, self.encoding = decode(data, declared_by=PAGE_CHARSET)
        self.spans = [(0, len(self.whole))]
        if kind == CONTENTS:
            self.spans = [label.span("text") for label in _LABEL.finditer(self.whole)]
        self.texts = [self.whole[start:end] for start, end in self.spans]

    def fill(self, translations: Sequence[str]) -> bytes:
        """Return the entry with these translations in place of its texts."""
        written, at = list[str](), 0
        for (start, end), translation in zip(self.spans, translations, strict=True):
            written += [self.whole[at:start], translation]
            at = end
        return self.encoding.encode("".join([*written, self.whole[at:]]), as_markup=True)


class Book:
    """A book as texts of HTML, of which a page is one.

    Raises ValueError if it is damaged, hostile or encrypted.
    """

    form = "html"

    def __init__(self, data: bytes) -> None:
        self.failures = Failures()
        self.package = Package(data)
        self.pages = list[BookPage]()
        for name, kind in list_pages(self.package.parts):
            data = self.package.parts[name]
            with self.failures.leave(name):
                self.pages.append(BookPage(name, data, kind))
        self.texts = [text for page in self.pages for text in page.texts]

    def fill(self, translations: Sequence[str]) -> bytes:
        """Return the book with these translations in place of its texts."""
        changed, rest = dict[str, bytes](), iter(translations)
        for page in self.pages:
            changed[page.name] = page.fill([next(rest) for _ in page.texts])
        return self.package.write(changed)


def find_package(parts: Mapping[str, bytes]) -> str:
    """Return the name of the entry that lists a book's pages. ValueError if it has none."""
    if _CONTAINER not in parts:
        raise ValueError("the document is damaged: it has no META-INF/container.xml")
    for each in parse_xml(parts[_CONTAINER], _CONTAINER).iter("{*}rootfile"):
        if (name := each.get("full-path") or "") in parts:
            return name
    raise ValueError("the document is damaged: its list of pages is missing")


def list_pages(parts: Mapping[str, bytes]) -> Iterator[tuple[str, str]]:
    """Yield the name and the kind of each entry with text, once each."""
    package, seen = find_package(parts), set[str]()
    locked = _list_encrypted(parts)
    for item in parse_xml(parts[package], package, may_declare=True).iter("{*}item"):
        kind, path = _PARTS.get(item.get("media-type") or ""), unquote(item.get("href") or "")
        name = posixpath.normpath(posixpath.join(posixpath.dirname(package), path))
        if not kind or name not in parts or name in seen:
            continue
        if name in locked:
            raise ValueError(f"the document is encrypted: {name}")
        seen.add(name)
        yield name, kind


def _list_encrypted(parts: Mapping[str, bytes]) -> set[str]:
    if _ENCRYPTED not in parts:
        return set()
    names = parse_xml(parts[_ENCRYPTED], _ENCRYPTED).iter("{*}CipherReference")
    return {unquote(each.get("URI") or "") for each in names}

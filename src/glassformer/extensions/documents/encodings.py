"""The encoding of a text file: found when it is read, and kept when it is written."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
PAGE_CHARSET = re.compile(
    rb"<meta\s[^<>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE
)
XML_CHARSET = re.compile(rb"\s*<\?xml\s[^<>]{0,200}?encoding\s*=\s*[\"']([\w.:-]{1,40})")
PO_CHARSET = re.compile(rb"\"Content-Type:[^\"]{0,200}?charset=\s*([\w.:-]{1,40})")
HEAD = 4096  # bytes in which a page says what its encoding is
SAMPLE = 1 << 16  # bytes by which an encoding is guessed


class Encoding(NamedTuple):
    """An encoding, and the byte order mark that a file began with."""

    name: str
    mark: bytes = b""

    def has_all(self, text: str) -> bool:
        """Return whether all characters of a text can be written in this encoding."""
        try:
            text.encode(self.name)
        except UnicodeEncodeError:
            return False
        return True

    def encode(
        self, text: str, *, as_markup: bool = False, declared_by: re.Pattern[bytes] | None = None
    ) -> bytes:
        """Return a text in this encoding; in UTF-8 if it has no such characters.

        as_markup: such characters become references, as in `&#233;`. declared_by: what has to say
        that the text is in UTF-8 if it is.
        """
        try:
            name, mark = self.name, self.mark
            data = text.encode(name, "xmlcharrefreplace" if as_markup else "strict")
        except UnicodeEncodeError:
            mark = self.mark if self.name.startswith("utf") else b""
            name = self.name if mark else "utf-8"
            data = text.encode(name, "replace")
        match = declared_by.search(data[:HEAD]) if declared_by and name == "utf-8" else None
        if match and match[1].lower() not in (b"utf-8", b"utf8"):
            data = data[: match.start(1)] + b"UTF-8" + data[match.end(1) :]
        return mark + data


def decode(
    data: bytes, *, declared_by: re.Pattern[bytes] | None = None, may_guess: bool = False
) -> tuple[str, Encoding]:
    """Return the text of a file, and its encoding: by its mark, what it declares, or UTF-8.

    declared_by: what declares one, such as PAGE_CHARSET. may_guess: one of another time may be
    guessed, as subtitles have; it is written as UTF-8. Raises ValueError if none of them fits.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _decode(data[len(mark) :], name), Encoding(name, mark)
    if declared := _find_declared(data, declared_by) if declared_by else "":
        if declared_by is PAGE_CHARSET and declared in ("iso8859-1", "ascii"):
            declared = "cp1252"  # as browsers read them
        return _decode(data, declared), Encoding(declared)
    if name := _find_unmarked(data):
        return _decode(data, name), Encoding(name)
    try:
        return _decode(data, "utf-8"), Encoding("utf-8")
    except ValueError:
        if not may_guess:
            raise
    return _decode(data, _guess(data)), Encoding("utf-8")


def _decode(data: bytes, name: str) -> str:
    try:
        return data.decode(name)
    except UnicodeDecodeError as error:
        message = f"the file is no {name.upper()}: byte {error.start + 1} cannot be read"
        raise ValueError(message) from None


def _find_declared(data: bytes, pattern: re.Pattern[bytes]) -> str:
    """Return Python's name of the encoding that a file declares; "" if it is UTF-8 or unknown."""
    head = data[:HEAD]
    match = pattern.search(head) or XML_CHARSET.match(head)
    try:
        name = codecs.lookup(match[1].decode("ascii")).name if match else "utf-8"
        "".encode(name)
    except (LookupError, UnicodeError):
        return ""
    if name.startswith(("utf", "unicode", "idna", "punycode", "raw")):
        return ""  # a page whose bytes say "UTF-16" is not in UTF-16
    return name


def _find_unmarked(data: bytes) -> str:
    """Return which UTF-16 a file without a mark is in, by where its zero bytes are; "" if none."""
    head = data[: HEAD & ~1]
    zeros = head[::2].count(0), head[1::2].count(0)
    if not head or 5 * max(zeros) < len(head) or 4 * min(zeros) > max(zeros):
        return ""
    return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"


def _guess(data: bytes) -> str:
    from charset_normalizer import from_bytes

    best = from_bytes(data[:SAMPLE]).best()
    if best is None:
        raise ValueError("the encoding of the file is unknown: save it as UTF-8")
    return str(best.encoding)

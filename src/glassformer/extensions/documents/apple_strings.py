"""The .strings files of iOS and macOS: "key" = "value"; of which the values are translated."""

from __future__ import annotations

import re
from collections.abc import Callable

from .catalogues import Catalogue, PlainMessage

# A key without a value is a token, too: nothing is read a second time.
_TOKEN = re.compile(
    r"/\*.*?(?:\*/|\Z)|//[^\n]*+"
    r"|(?:\"(?:[^\"\\]|\\.)*+(?:\"|\\?\Z)|[\w.$-]++)"
    r"(?:\s*+=\s*+\"(?P<value>(?:[^\"\\]|\\.)*+)\")?",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:[Uu]([0-9a-fA-F]{4})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_WRITTEN = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def read_strings(text: str) -> Catalogue:
    """Return the values of a .strings file; all else stays as it is. ValueError without any."""
    parts: list[str] = []
    messages: list[PlainMessage] = []
    at = 0
    for match in _TOKEN.finditer(text):
        if match["value"] is None:
            continue
        start, end = match.span("value")
        parts += [text[at:start], match["value"]]
        messages.append(PlainMessage(_unescape(match["value"]), _make_writer(parts)))
        at = end
    if not messages:
        raise ValueError('the file has no line like "key" = "value";')
    parts.append(text[at:])
    return Catalogue(messages, lambda: "".join(parts))


def _make_writer(parts: list[str]) -> Callable[[str], None]:
    number = len(parts) - 1

    def write(text: str) -> None:
        parts[number] = "".join(_WRITTEN.get(character, character) for character in text)

    return write


def _unescape(text: str) -> str:
    """Return a value as it is read; of \\U escapes, two surrogates are one character."""

    def read(match: re.Match[str]) -> str:
        if match[1]:
            return chr(int(match[1], 16))
        return _ESCAPED.get(match[2], match[2])

    units = _ESCAPE.sub(read, text).encode("utf-16", "surrogatepass")
    return units.decode("utf-16", "replace")

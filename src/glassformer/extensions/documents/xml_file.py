"""An XML file in which some elements are written anew; all else stays letter by letter."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from glassformer.text.unicode import Span

from .encodings import XML_CHARSET, decode
from .failures import Failures
from .packed import parse_xml

# Comments, CDATA and instructions are none, but may have what looks like tags in them.
_TAG = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>"
    r"|<(?P<slash>/)?(?P<name>[^\s<>\"'!?/]++)(?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+>",
    re.DOTALL,
)
_CDATA, _CDATA_END = "<![CDATA[", "]]>"


class ElementPlace(NamedTuple):
    """The place of an element in the text of a file; its content is from inner to inner_end."""

    start: int
    inner: int
    inner_end: int
    end: int


class XmlFile:
    """The root of an XML file, and its text; raises ValueError if it is damaged.

    `failures` gets what stays as it is although it should not.
    """

    def __init__(self, data: bytes, name: str) -> None:
        from lxml import etree

        self.failures = Failures()
        self.root = parse_xml(data, name)
        self.text, self.encoding = decode(data, declared_by=XML_CHARSET)
        self.newline = "\r\n" if "\r\n" in self.text else "\n"
        elements = self.root.iter(etree.Element)
        self._places = dict(zip(elements, find_elements(self.text), strict=True))
        self._edits = dict[Span, str]()

    def rewrite_content(self, element: Any) -> None:
        """Write the content that an element has now; one section of CDATA stays one."""
        place = self._places[element]
        before = self.text[place.inner : place.inner_end].strip()
        is_cdata = before.startswith(_CDATA) and before.find(_CDATA_END) == len(before) - 3
        text = element.text or ""
        is_cdata = is_cdata and self.encoding.has_all(text)  # a reference would be text in it
        if is_cdata and not len(element) and _CDATA_END not in text:
            content = self._end_lines(f"{_CDATA}{text}{_CDATA_END}")
        else:
            content = self._spell(element)
            content = content[content.index(">") + 1 : max(content.rfind("</"), 0)]
        self._edits[place.inner, place.inner_end] = content

    def replace(self, element: Any, other: Any) -> None:
        """Write another element in place of one."""
        place = self._places[element]
        self._edits[place.start, place.end] = self._spell(other, element.getparent())

    def insert_behind(self, element: Any, other: Any) -> None:
        """Write another element behind one, with the white space that is before that."""
        place = self._places[element]
        start = place.start
        while self.text[start - 1].isspace():
            start -= 1
        layout = self.text[start : place.start]
        self._edits[place.end, place.end] = layout + self._spell(other, element.getparent())

    def _spell(self, element: Any, parent: Any = None) -> str:
        """Return an element as text, without the namespaces that are declared around it."""
        from lxml import etree

        text: str = etree.tostring(element, encoding="unicode", with_tail=False)
        tag, mark, rest = text.partition(">")
        for prefix, address in ({} if parent is None else parent.nsmap).items():
            name = f"xmlns:{prefix}" if prefix else "xmlns"
            tag = tag.replace(f' {name}="{address}"', "", 1)
        return self._end_lines(tag + mark + rest)

    def _end_lines(self, text: str) -> str:
        return text.replace("\n", self.newline)

    def write(self) -> bytes:
        """Return the file with what was written."""
        parts, at = list[str](), 0
        for (start, end), text in sorted(self._edits.items()):
            if start >= at:
                parts += [self.text[at:start], text]
                at = end
        return self.encoding.encode("".join([*parts, self.text[at:]]), as_markup=True)


def find_elements(text: str) -> list[ElementPlace]:
    """Return the places of the elements of a well-formed file, in the order of their beginnings."""
    places, opened = list[ElementPlace](), list[int]()
    for match in _TAG.finditer(text):
        start, end = match.span()
        if match["slash"]:
            number = opened.pop()
            places[number] = places[number]._replace(inner_end=start, end=end)
        elif match["name"]:
            if not match[0].endswith("/>"):
                opened.append(len(places))
            places.append(ElementPlace(start, end, end, end))
    return places

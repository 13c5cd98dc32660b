"""Word, PowerPoint and OpenDocument files: the parts with text, as one line of HTML a paragraph.

Everything outside paragraphs stays as it was.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from .dialects import Dialect, choose_dialect
from .failures import Failures
from .packed import Package, parse_xml, write_xml
from .paragraphs import Paragraph

SHOWN = 8  # texts of a paragraph that cannot be read
_TYPES, _RELATIONS = "[Content_Types].xml", "_rels/.rels"


class OfficeFormat(NamedTuple):
    """A format: the names of the entries that have text, and their content types."""

    kind: str  # word, slides or open
    names: str
    types: str = ""
    main: str = ""  # an entry that is there although it has no text


WORD = OfficeFormat(
    "word",
    r"word/(document|header\d*|footer\d*|footnotes|endnotes)\.xml",
    r".*(\.main|wordprocessingml\.(header|footer|footnotes|endnotes))\+xml",
)
SLIDES = OfficeFormat(
    "slides",
    r"ppt/(slides|notesSlides|diagrams)/\w+\.xml",
    r".*(presentationml\.(slide|notesSlide)|diagramData|diagramDrawing)\+xml",
    main="ppt/presentation.xml",
)
OPEN = OfficeFormat("open", r"(content|styles)\.xml")


class OfficeDocument:
    """A document as texts with markup, one for each paragraph that has letters or digits.

    Raises ValueError if it is damaged or hostile.
    """

    form = "html"

    def __init__(self, data: bytes, format: OfficeFormat) -> None:
        self.failures = Failures()
        self.package = Package(data)
        parts = self.package.parts
        self.roots = {name: parse_xml(parts[name], name) for name in _list_parts(parts, format)}
        if not self.roots and format.main not in parts:
            raise ValueError("the document is damaged: it has no part with text")
        self.paragraphs = self._read(format)
        self.texts = [each.markup for each in self.paragraphs]

    def _read(self, format: OfficeFormat) -> list[Paragraph]:
        read = list[Paragraph]()
        for root in self.roots.values():
            dialect = choose_dialect(format.kind, root)
            for element in [*root.iter(*dialect.paragraphs)]:
                if _is_in_comment(element, dialect):
                    continue
                with self.failures.leave("".join(islice(element.itertext(), SHOWN))):
                    paragraph = Paragraph(element, dialect)
                    if any(map(str.isalnum, paragraph.plain)):
                        read.append(paragraph)
        return read

    def fill(self, translations: Sequence[str]) -> bytes:
        """Return the document with these translations in place of its texts.

        A paragraph within another is filled first, so that the other may fail.
        """
        for paragraph, markup in reversed([*zip(self.paragraphs, translations, strict=True)]):
            with self.failures.leave(paragraph.plain):
                paragraph.fill(markup)
        return self.package.write({name: write_xml(root) for name, root in self.roots.items()})


def _is_in_comment(element: Any, dialect: Dialect) -> bool:
    around = element.iterancestors(*dialect.comments) if dialect.comments else iter(())
    return next(around, None) is not None


def _list_parts(parts: Mapping[str, bytes], format: OfficeFormat) -> list[str]:
    """Return the names of the entries with text: by their content type, their role or their name.

    Word on the web calls the main one document2.xml, for example.
    """
    results = {name for name in parts if re.fullmatch(format.names, name)}
    if format.types and _TYPES in parts:
        for override in parse_xml(parts[_TYPES], _TYPES).iter("{*}Override"):
            name = (override.get("PartName") or "").lstrip("/")
            if name in parts and re.fullmatch(format.types, override.get("ContentType") or ""):
                results.add(name)
    if format.kind == "word" and _RELATIONS in parts:
        for relation in parse_xml(parts[_RELATIONS], _RELATIONS).iter("{*}Relationship"):
            name = posixpath.normpath((relation.get("Target") or "").lstrip("/"))
            if (relation.get("Type") or "").endswith("/officeDocument") and name in parts:
                results.add(name)
    return [name for name in parts if name in results]

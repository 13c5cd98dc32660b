"""Word, PowerPoint and OpenDocument files: their paragraphs as markup, and translations put back.

A paragraph becomes a line of HTML with the tags of this module only: `<span id=N>` around text of
another format than most of the paragraph, and around links; `<img id=N>` for what is no text, such
as a picture or a footnote's mark; `<br id=N>` for what parts text, a line break or a tab. `markup`
moves them with the words. Everything outside paragraphs stays as it was.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from typing import Any

from .packed import Package, parse_xml, write_xml

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
T = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
SPACE = "{http://www.w3.org/XML/1998/namespace}space"
FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # in XML
DEEPEST = 20  # nesting of links and formats in a paragraph; what is deeper stays untranslated


@dataclass(frozen=True)
class Dialect:
    """The names that a format has for paragraphs and what is in them."""

    parts: str  # a pattern of the entries with text
    paragraphs: tuple[str, ...]
    wrappers: tuple[str, ...]  # elements around runs or text that move with it
    run: str = ""  # an element with one format, which holds its text in elements of its own
    text: str = ""  # that element; without it, text stands in paragraphs and wrappers themselves
    format: str = ""
    first: tuple[str, ...] = ()  # stay before all text
    last: tuple[str, ...] = ()  # stay after it
    breaks: tuple[str, ...] = ()  # part the text: each side is translated on its own
    dropped: tuple[str, ...] = ()  # marks of a spelling checker
    vague: tuple[str, ...] = ()  # parts of a format that do not make it another one


WORD = Dialect(
    r"word/(document|header\d*|footer\d*|footnotes|endnotes)\.xml",
    (f"{W}p",),
    (f"{W}hyperlink", f"{W}ins", f"{W}smartTag", f"{W}customXml"),
    run=f"{W}r",
    text=f"{W}t",
    format=f"{W}rPr",
    first=(f"{W}pPr", f"{W}bookmarkStart", f"{W}commentRangeStart"),
    last=(f"{W}bookmarkEnd", f"{W}commentRangeEnd"),
    breaks=(f"{W}br", f"{W}cr", f"{W}tab", f"{W}ptab"),
    dropped=(f"{W}proofErr", f"{W}lastRenderedPageBreak"),
    vague=(f"{W}lang", f"{W}noProof"),
)
SLIDES = Dialect(
    r"ppt/(slides|notesSlides|diagrams)/\w+\.xml",
    (f"{A}p",),
    (),
    run=f"{A}r",
    text=f"{A}t",
    format=f"{A}rPr",
    first=(f"{A}pPr",),
    last=(f"{A}endParaRPr",),
    breaks=(f"{A}br",),
)
OPEN = Dialect(
    r"(content|styles)\.xml",
    (f"{T}p", f"{T}h"),
    (f"{T}span", f"{T}a", f"{T}meta"),
    first=(f"{T}bookmark-start", f"{T}soft-page-break"),
    last=(f"{T}bookmark-end",),
    breaks=(f"{T}line-break", f"{T}tab"),
)


class OfficeDocument:
    """A document as texts with markup, one for each paragraph that has letters or digits.

    Raises ValueError if it is damaged or hostile.
    """

    form = "html"

    def __init__(self, data: bytes, dialect: Dialect) -> None:
        self.package = Package(data)
        self.roots = {
            name: parse_xml(part, name)
            for name, part in self.package.parts.items()
            if re.fullmatch(dialect.parts, name)
        }
        if not self.roots:
            raise ValueError("the document is damaged: it has no part with text")
        found = (
            Paragraph(element, dialect)
            for root in self.roots.values()
            for element in [*root.iter(*dialect.paragraphs)]
        )
        self.paragraphs = [each for each in found if any(map(str.isalnum, each.plain))]
        self.texts = [each.markup for each in self.paragraphs]

    def fill(self, said: Sequence[str]) -> bytes:
        """Return the document with these translations in place of its texts."""
        for paragraph, markup in zip(self.paragraphs, said, strict=True):
            paragraph.fill(markup)
        return self.package.write({name: write_xml(root) for name, root in self.roots.items()})


@dataclass
class InlinePart:
    """A part of a paragraph: text, a wrapper with children, or elements that are no text."""

    text: str = ""
    shell: Any = None  # a wrapper's element, or None
    format: Any = None  # of text, or of the run that an element stood in
    kept: list[Any] = field(default_factory=list)
    is_in_run: bool = False  # whether the kept element needs a run around it
    children: list[InlinePart] = field(default_factory=list)


class Paragraph:
    """One paragraph: its markup, and its elements by the numbers of the markup's tags."""

    def __init__(self, element: Any, dialect: Dialect) -> None:
        self.element, self.dialect = element, dialect
        self.numbered: list[InlinePart] = []
        self.first: list[Any] = []
        self.last: list[Any] = []
        self._field: list[Any] | None = None  # elements of a field of Word that has begun
        nodes = _merge([*self._read(element, 0)])
        weights, formats = Counter[bytes](), dict[bytes, Any]()
        for node in _list_texts(nodes):
            key = self._name_format(node.format)
            weights[key] += len(node.text)
            formats.setdefault(key, node.format)
        self.most = weights.most_common(1)[0][0] if weights else b""
        self.base = formats.get(self.most)
        self.plain = "".join(node.text for node in _list_texts(nodes))
        self.markup = "".join(map(self._mark, nodes))

    def _read(self, element: Any, depth: int) -> Iterator[InlinePart]:
        """Yield the parts of an element in order; Word's fields become one part each."""
        names = self.dialect
        if not names.run and element.text:
            yield InlinePart(element.text)
        for child in element:
            if self._field is not None or _begins_field(child):
                yield from self._gather_field(child)
            elif child.tag in names.first and not depth:
                self.first.append(child)
            elif child.tag in names.last and not depth:
                self.last.append(child)
            elif child.tag == names.run:
                yield from self._read_run(child)
            elif child.tag in names.wrappers and depth < DEEPEST:
                yield InlinePart(shell=child, children=_merge([*self._read(child, depth + 1)]))
            elif child.tag not in names.dropped:
                yield InlinePart(kept=[child])
            if not names.run and child.tail:
                yield InlinePart(child.tail)
        if self._field and not depth:
            yield InlinePart(kept=self._field)
            self._field = None

    def _read_run(self, run: Any) -> Iterator[InlinePart]:
        """Yield the texts of a run, and what else is in it; each gets a run of its own."""
        names = self.dialect
        format = run.find(names.format)
        for child in run:
            if child.tag == names.text:
                yield InlinePart(child.text or "", format=format)
            elif child is not format and child.tag not in names.dropped:
                yield InlinePart(kept=[child], format=format, is_in_run=True)

    def _gather_field(self, child: Any) -> Iterator[InlinePart]:
        """Gather the elements of a field, from its begin to its end; they stay as they are."""
        self._field = [*(self._field or ()), child]
        marks = [mark.get(f"{W}fldCharType") for each in self._field for mark in _list_marks(each)]
        if marks.count("end") >= marks.count("begin"):
            yield InlinePart(kept=self._field)
            self._field = None

    def make_run(self, format: Any, content: Any) -> Any:
        """Return a new run of a format around an element."""
        run = self.element.makeelement(self.dialect.run)
        if format is not None:
            run.append(deepcopy(format))
        run.append(content)
        return run

    def _name_format(self, format: Any) -> bytes:
        """Return a text that is equal for equal formats, the language of a spelling aside."""
        if format is None:
            return b""
        from lxml import etree

        plain = deepcopy(format)
        for child in [*plain]:
            if child.tag in self.dialect.vague:
                plain.remove(child)
        for name in ("lang", "altLang", "dirty", "err", "noProof"):  # PowerPoint has attributes
            plain.attrib.pop(name, None)
        if not len(plain) and not plain.attrib:
            return b""
        written: bytes = etree.tostring(plain, method="c14n", with_tail=False)
        return written

    def _mark(self, node: InlinePart) -> str:
        """Return a part as markup, and number it if it gets a tag."""
        if node.kept:
            tag = "br" if node.kept[0].tag in self.dialect.breaks else "img"
            return f'<{tag} id="{self._number(node)}">'
        inner = escape(node.text, quote=False) + "".join(map(self._mark, node.children))
        if node.shell is None and self._name_format(node.format) == self.most:
            return inner
        return f'<span id="{self._number(node)}">{inner}</span>'

    def _number(self, node: InlinePart) -> int:
        self.numbered.append(node)
        return len(self.numbered) - 1

    def fill(self, markup: str) -> None:
        """Replace the content of the paragraph by that of a translated markup."""
        tail, names = self.element.tail, dict(self.element.attrib)
        self.element.clear()
        self.element.tail = tail
        self.element.attrib.update(names)
        _move(self.first, self.element)
        writer = _Writer(self)
        writer.feed(markup)
        writer.close()
        _move(self.last, self.element)


class _Writer(HTMLParser):
    """A reader of translated markup that builds the paragraph's elements."""

    def __init__(self, paragraph: Paragraph) -> None:
        super().__init__(convert_charrefs=True)
        self.paragraph, self.dialect = paragraph, paragraph.dialect
        self.open: list[tuple[Any, Any]] = [(paragraph.element, paragraph.base)]  # parent, format

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = self.paragraph.numbered[int(dict(attrs).get("id") or 0)]
        parent, format = self.open[-1]
        if node.is_in_run:
            (inner,) = node.kept
            parent.append(self.paragraph.make_run(node.format, inner))
            return
        if node.kept:
            _move(node.kept, parent)
            return
        if node.shell is None:
            self.open.append((parent, node.format))
            return
        shell = parent.makeelement(node.shell.tag, dict(node.shell.attrib))
        parent.append(shell)
        self.open.append((shell, format))

    def handle_endtag(self, tag: str) -> None:
        if tag == "span" and len(self.open) > 1:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        parent, format = self.open[-1]
        data = FORBIDDEN.sub("", data)
        if not self.dialect.run:
            _append_text(parent, data)
            return
        text = parent.makeelement(self.dialect.text)
        text.text = data
        if self.dialect is WORD:
            text.set(SPACE, "preserve")
        parent.append(self.paragraph.make_run(format, text))


def _move(elements: Sequence[Any], parent: Any) -> None:
    for element in elements:
        element.tail = None
        parent.append(element)


def _append_text(parent: Any, data: str) -> None:
    if len(parent):
        parent[-1].tail = (parent[-1].tail or "") + data
    else:
        parent.text = (parent.text or "") + data


def _merge(nodes: Sequence[InlinePart]) -> list[InlinePart]:
    """Return the parts with neighbouring texts of one format as one: programs split them freely."""
    merged: list[InlinePart] = []
    for node in nodes:
        is_text = not node.kept and node.shell is None
        before = merged[-1] if merged else None
        if is_text and not node.text:
            continue
        is_after_text = before and not before.kept and before.shell is None
        if before and is_text and is_after_text and _is_same(before.format, node.format):
            before.text += node.text
            continue
        merged.append(node)
    return merged


def _is_same(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other
    from lxml import etree

    sides = (etree.tostring(each, method="c14n", with_tail=False) for each in (one, other))
    return next(sides) == next(sides)


def _list_texts(nodes: Sequence[InlinePart]) -> Iterator[InlinePart]:
    for node in nodes:
        if node.text:
            yield node
        yield from _list_texts(node.children)


def _list_marks(element: Any) -> Iterator[Any]:
    yield from element.iter(f"{W}fldChar")


def _begins_field(element: Any) -> bool:
    return any(mark.get(f"{W}fldCharType") == "begin" for mark in _list_marks(element))

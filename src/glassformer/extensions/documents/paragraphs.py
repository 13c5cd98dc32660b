"""A paragraph of an office document as a line of HTML, and a translated line put back.

The tags are of this module only: `<span id=N>` around text of another format than most of the
paragraph, and around links; `<sup id=N>` and `<sub id=N>` where that format raises or lowers text;
`<img id=N>` for what is no text, such as a picture or a footnote's mark; `<br id=N>` for what parts
text, a line break or a tab. `markup` moves them with the words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from html import escape
from html.parser import HTMLParser
from typing import Any

from .catalogues import cut_at_breaks, cut_verbatim
from .dialects import Dialect
from .inline_parts import (
    DEEPEST,
    InlinePart,
    fold_fields,
    fold_pairs,
    is_translated_field,
    list_text_parts,
    merge_texts,
)
from .text_formats import FormatKey, spell_format
from .verbatim_points import write_attribute

TAGS = {"superscript": "sup", "subscript": "sub"}
FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # in XML


class Paragraph:
    """One paragraph: its markup, and its elements by the numbers of the markup's tags."""

    def __init__(self, element: Any, dialect: Dialect) -> None:
        self.element, self.dialect = element, dialect
        self.numbered: list[InlinePart] = []
        self.first: list[Any] = []
        self.last: list[Any] = []
        self._names = dict[int, tuple[Any, FormatKey]]()
        parts = self._read(element, 0)
        weights, formats = Counter[FormatKey](), dict[FormatKey, Any]()
        for part in list_text_parts(parts):
            key = self.name_format(part.format)
            weights[key] += len(part.text)
            formats.setdefault(key, part.format)
        self.most: FormatKey = weights.most_common(1)[0][0] if weights else ()
        self.base = formats.get(self.most)
        self.plain = "".join(part.text for part in list_text_parts(parts))
        self.markup = "".join(map(self._mark, parts))

    def _read(self, element: Any, depth: int) -> list[InlinePart]:
        """Return the parts of an element in order."""
        parts = fold_fields([*self._list_parts(element, depth)], self.dialect)
        if self.dialect.pair_begins:
            parts = fold_pairs(parts, self.dialect)
        return [each for part in merge_texts(parts) for each in self._set_aside(part)]

    def _set_aside(self, part: InlinePart) -> Iterator[InlinePart]:
        """Yield a part; a placeholder, link, tag or break in a text is a part of its own."""
        if not part.text:
            yield part
            return
        breaks = self.dialect.text_breaks
        for number, text in enumerate(cut_at_breaks(part.text, breaks) if breaks else [part.text]):
            if number % 2:
                yield InlinePart(verbatim=text, is_break=True)
                continue
            for token in cut_verbatim(text, self.dialect.verbatim):
                if token.is_tag:
                    yield InlinePart(verbatim=token.text, format=part.format)
                else:
                    yield InlinePart(token.text, format=part.format)

    def _list_parts(self, element: Any, depth: int) -> Iterator[InlinePart]:
        names = self.dialect
        if not names.run and element.text:
            yield InlinePart(element.text)
        for child in element:
            if child.tag in names.first and not depth:
                self.first.append(child)
            elif child.tag in names.last and not depth:
                self.last.append(child)
            elif child.tag == names.run:
                yield from self._read_run(child, depth)
            elif self._is_wrapper(child) and depth < DEEPEST:
                yield self._read_wrapper(child, depth)
            elif child.tag not in names.dropped:
                yield InlinePart(kept=[child])
            if not names.run and child.tail:
                yield InlinePart(child.tail)

    def _is_wrapper(self, element: Any) -> bool:
        names = self.dialect
        if element.tag == names.simple_field:
            return is_translated_field(element.get(names.instruction) or "")
        return element.tag in names.wrappers and find_inner(element, names) is not None

    def _read_wrapper(self, element: Any, depth: int) -> InlinePart:
        children = self._read(find_inner(element, self.dialect), depth + 1)
        return InlinePart(shell=element, children=children)

    def _read_run(self, run: Any, depth: int) -> Iterator[InlinePart]:
        """Yield the texts of a run, and what else is in it; each gets a run of its own."""
        names = self.dialect
        format = run.find(names.format)
        for child in run:
            if child.tag == names.text:
                yield InlinePart(child.text or "", format=format)
            elif self._is_wrapper(child) and depth < DEEPEST:
                part = self._read_wrapper(child, depth)
                part.is_in_run, part.format = True, format
                yield part
            elif child is not format and child.tag not in names.dropped:
                yield InlinePart(kept=[child], format=format, is_in_run=True)

    def name_format(self, format: Any) -> FormatKey:
        """Return what is equal for equal formats, the language of a spelling aside."""
        if format is None:
            return ()
        if id(format) not in self._names:
            self._names[id(format)] = format, spell_format(format, self.dialect)
        return self._names[id(format)][1]

    def _mark(self, part: InlinePart) -> str:
        """Return a part as markup, and number it if it gets a tag."""
        if part.kept or part.is_opaque or part.verbatim:
            is_break = part.is_break or (part.kept and part.kept[0].tag in self.dialect.breaks)
            own = write_attribute(part.verbatim) if part.verbatim else ""
            return f'<{"br" if is_break else "img"} id="{self._number(part)}"{own}>'
        number = self._number(part) if self._needs_tag(part) else None
        inner = escape(part.text, quote=False) + "".join(map(self._mark, part.children))
        tag = "span" if part.is_wrapper else _name_tag(part.format, self.dialect)
        return inner if number is None else f'<{tag} id="{number}">{inner}</{tag}>'

    def _needs_tag(self, part: InlinePart) -> bool:
        return part.is_wrapper or self.name_format(part.format) != self.most

    def _number(self, part: InlinePart) -> int:
        self.numbered.append(part)
        return len(self.numbered) - 1

    def fill(self, markup: str) -> None:
        """Replace the content of the paragraph by that of a translated markup.

        It stays as it is where an error is raised.
        """
        before = deepcopy(self.element)
        try:
            self._write(markup)
        except Exception:
            empty(self.element)
            self.element.text = before.text
            self.element.extend([*before])
            raise

    def _write(self, markup: str) -> None:
        empty(self.element)
        _move(self.first, self.element)
        writer = _Writer(self)
        writer.feed(markup)
        writer.close()
        writer.close_text()
        if self.dialect.has_one_text:
            for run in self.element.findall(self.dialect.run):
                _join_texts(run, self.dialect)
        _move(self.last, self.element)


class _Writer(HTMLParser):
    """A reader of translated markup that builds the paragraph's elements."""

    def __init__(self, paragraph: Paragraph) -> None:
        super().__init__(convert_charrefs=True)
        self.paragraph, self.dialect = paragraph, paragraph.dialect
        self.open: list[tuple[Any, Any, InlinePart | None]] = [
            (paragraph.element, paragraph.base, None)
        ]  # parent, format, what to close
        self.last_run: tuple[Any, Any] = None, None  # that was written, and its format
        self.texts: list[str] = []  # of the last element, until another begins

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        part = self.paragraph.numbered[int(dict(attrs).get("id") or 0)]
        parent, format, _ = self.open[-1]
        if part.verbatim and not self.dialect.run:
            self.texts.append(part.verbatim)
            return
        self.close_text()
        if part.shell is not None:
            self._open_shell(part)
        elif part.closing:
            self._write_kept(parent, part.opening)
            self.open.append((parent, format, part))
        elif part.is_opaque or part.kept:
            self._write_kept(parent, [part])
        elif part.verbatim:
            self._append_text(parent, part.format, part.verbatim)
        else:
            self.open.append((parent, part.format, None))

    def _open_shell(self, part: InlinePart) -> None:
        parent, format, _ = self.open[-1]
        inner = find_inner(part.shell, self.dialect)
        empty(inner)
        part.shell.tail = None
        if part.is_in_run:
            self._append_to_run(parent, part.format, part.shell)
            format = part.format if format is None else format
        else:
            parent.append(part.shell)
        self.open.append((inner, format, None))

    def _write_kept(self, parent: Any, parts: Sequence[InlinePart]) -> None:
        for part in (kept for each in parts for kept in each.list_kept()):
            if text := part.text or part.verbatim:
                self._append_text(parent, part.format, text)
            elif part.is_in_run:
                element = part.shell if part.shell is not None else part.kept[0]
                self._append_to_run(parent, part.format, element)
            else:
                _move([part.shell] if part.shell is not None else part.kept, parent)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("span", "sub", "sup") and len(self.open) > 1:
            self.close_text()
            parent, _, part = self.open.pop()
            if part:
                self._write_kept(parent, part.closing)

    def handle_data(self, data: str) -> None:
        self.texts.append(FORBIDDEN.sub("", data))

    def close_text(self) -> None:
        """Write the text that was gathered."""
        text, (parent, format, _) = "".join(self.texts), self.open[-1]
        self.texts.clear()
        if text:
            self._append_text(parent, format, text)

    def _append_text(self, parent: Any, format: Any, text: str) -> None:
        if self.dialect.run:
            self._append_text_run(parent, format, text)
        elif len(parent):
            parent[-1].tail = (parent[-1].tail or "") + text
        else:
            parent.text = (parent.text or "") + text

    def _append_text_run(self, parent: Any, format: Any, text: str) -> None:
        element = parent.makeelement(self.dialect.text, dict(self.dialect.text_attributes))
        element.text = text
        self._append_to_run(parent, format, element)

    def _append_to_run(self, parent: Any, format: Any, content: Any) -> None:
        """Append an element in a run of a format: a new one, or the last one of the same source."""
        content.tail = None
        run, former = self.last_run
        if format is None or former is not format or not len(parent) or parent[-1] is not run:
            run = parent.makeelement(self.dialect.run)
            if format is not None:
                run.append(deepcopy(format))
            parent.append(run)
            self.last_run = run, format
        run.append(content)


def find_inner(element: Any, dialect: Dialect) -> Any:
    """Return the element that holds the text of a wrapper: itself, or one in it; None if absent."""
    inner = dialect.inner.get(element.tag)
    return element if inner is None else element.find(inner)


def _name_tag(format: Any, dialect: Dialect) -> str:
    """Return the name of the tag around text of a format: sup and sub are raised and lowered."""
    if format is None:
        return "span"
    if dialect.raising:
        mark = format.find(dialect.raising)
        return "span" if mark is None else TAGS.get(mark.get(dialect.raising_value), "span")
    height = (format.get(dialect.baseline) or "") if dialect.baseline else ""
    if not height.strip("-0.%"):
        return "span"
    return "sub" if height.startswith("-") else "sup"


def _join_texts(run: Any, dialect: Dialect) -> None:
    """Make the texts of a run one."""
    texts = run.findall(dialect.text)
    for each in texts[1:]:
        run.remove(each)
    if texts:
        texts[0].text = "".join(each.text or "" for each in texts)


def empty(element: Any) -> None:
    """Take the content out of an element; its attributes and what follows it stay."""
    del element[:]
    element.text = None


def _move(elements: Sequence[Any], parent: Any) -> None:
    for element in elements:
        element.tail = None
        parent.append(element)

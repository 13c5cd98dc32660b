"""The parts of a paragraph of an office document, and the fields of Word among them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .dialects import Dialect
from .text_formats import spell_element

TRANSLATED_FIELDS = frozenset(("HYPERLINK", "REF", "TOC"))  # what they show is text of the document
DEEPEST = 20  # nesting of links, formats and fields; what is deeper stays untranslated


@dataclass
class InlinePart:
    """A part of a paragraph: text, a wrapper with children, or elements that are no text."""

    text: str = ""
    shell: Any = None  # a wrapper's element, or None
    format: Any = None  # of text, or of the run that an element stood in
    kept: list[Any] = field(default_factory=list)
    is_in_run: bool = False  # whether the element, or the shell, needs a run around it
    children: list[InlinePart] = field(default_factory=list)
    opening: list[InlinePart] = field(default_factory=list)  # of a field: what begins it
    closing: list[InlinePart] = field(default_factory=list)
    is_opaque: bool = False  # whether the opening is all of it, and no text is translated
    verbatim: str = ""  # text that is not translated, such as a placeholder
    is_break: bool = False  # whether that parts the text

    @property
    def is_text(self) -> bool:
        return bool(self.text)

    @property
    def is_wrapper(self) -> bool:
        return self.shell is not None or bool(self.closing)

    def list_kept(self) -> Iterator[InlinePart]:
        """Yield what is in an opaque part, in order, nested fields taken apart."""
        waiting = [iter((self,))]
        while waiting:
            part = next(waiting[-1], None)
            if part is None:
                waiting.pop()
            elif part.opening or part.closing:
                waiting.append(iter((*part.opening, *part.children, *part.closing)))
            else:
                yield part


@dataclass
class _OpenField:
    """A field whose end has not come: where it begins in the list, and what divides it."""

    begin: int
    divide: int = -1


def fold_fields(parts: Sequence[InlinePart], dialect: Dialect) -> list[InlinePart]:
    """Return the parts with each field of Word as one part.

    A link's field is a wrapper around the text that it shows; any other stays as it is. Of a field
    that goes on in the next paragraph, what comes before its text is one part.
    """
    folded: list[InlinePart] = []
    opened: list[_OpenField] = []
    for part in parts:
        kind = _name_field_mark(part, dialect)
        folded.append(part)
        if kind == "begin":
            opened.append(_OpenField(len(folded) - 1))
        elif kind == "separate" and opened and opened[-1].divide < 0:
            opened[-1].divide = len(folded) - 1
        elif kind == "end" and opened:
            last = opened.pop()
            folded[last.begin :] = [_make_field(folded, last, len(opened), dialect)]
    for each in reversed(opened):
        if each.divide >= 0:
            head = folded[each.begin : each.divide + 1]
            folded[each.begin : each.divide + 1] = [InlinePart(opening=head, is_opaque=True)]
    return folded


def _name_field_mark(part: InlinePart, dialect: Dialect) -> str:
    if not dialect.field_mark or not part.is_in_run or not part.kept:
        return ""
    mark = part.kept[0]
    return (mark.get(dialect.field_type) or "") if mark.tag == dialect.field_mark else ""


def _make_field(
    folded: Sequence[InlinePart], field: _OpenField, depth: int, dialect: Dialect
) -> InlinePart:
    """Return a field as one part; `folded` ends with its end."""
    opening, result = folded[field.begin : field.divide + 1], folded[field.divide + 1 : -1]
    code = "".join(
        part.kept[0].text or ""
        for part in opening
        if part.kept and part.kept[0].tag == dialect.field_code
    )
    if field.divide < 0 or depth >= DEEPEST or not is_translated_field(code):
        return InlinePart(opening=[*folded[field.begin :]], is_opaque=True)
    return InlinePart(opening=[*opening], children=[*result], closing=[folded[-1]])


def is_translated_field(code: str) -> bool:
    """Return whether what a field shows is text, by its instruction."""
    words = code.split(maxsplit=1)
    return bool(words) and words[0].upper() in TRANSLATED_FIELDS


def merge_texts(parts: Sequence[InlinePart]) -> list[InlinePart]:
    """Return the parts with neighbouring texts of one format as one: programs split them freely."""
    merged: list[InlinePart] = []
    texts: list[str] = []

    def close() -> None:
        if texts:
            merged[-1].text = "".join(texts)
            texts.clear()

    for part in parts:
        is_text = not (part.kept or part.is_wrapper or part.is_opaque or part.verbatim)
        if is_text and not part.text:
            continue
        if is_text and texts and _is_same(merged[-1].format, part.format):
            texts.append(part.text)
            continue
        close()
        merged.append(part)
        if is_text:
            texts.append(part.text)
    close()
    return merged


def _is_same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if one is None or other is None:
        return False
    return spell_element(one) == spell_element(other)


def fold_pairs(parts: Sequence[InlinePart], dialect: Dialect) -> list[InlinePart]:
    """Return the parts with two elements that begin and end a pair as a wrapper of what is between.

    Pairs that overlap stay as they are.
    """
    folded: list[InlinePart] = []
    opened: list[tuple[int, str]] = []
    for part in parts:
        element = part.kept[0] if part.kept else None
        folded.append(part)
        if element is None:
            continue
        if element.tag in dialect.pair_begins:
            opened.append((len(folded) - 1, _name_pair(element)))
        elif element.tag in dialect.pair_ends and opened and opened[-1][1] == _name_pair(element):
            begin, _ = opened.pop()
            if len(opened) < DEEPEST:
                inner = folded[begin + 1 : -1]
                whole = InlinePart(opening=[folded[begin]], children=inner, closing=[part])
                folded[begin:] = [whole]
    return folded


def _name_pair(element: Any) -> str:
    return element.get("startRef") or element.get("rid") or element.get("id") or ""


def list_text_parts(parts: Sequence[InlinePart]) -> Iterator[InlinePart]:
    for part in parts:
        if part.text:
            yield part
        yield from list_text_parts(part.children)

"""The names that office formats have for paragraphs and what is in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

TRANSITIONAL = "http://schemas.openxmlformats.org/"
STRICT = "http://purl.oclc.org/ooxml/"  # ISO/IEC 29500 Strict has other namespaces
SPACE = "{http://www.w3.org/XML/1998/namespace}space"


@dataclass(frozen=True)
class Dialect:
    """The names that a format has for paragraphs and what is in them."""

    paragraphs: tuple[str, ...]
    wrappers: frozenset[str]  # elements around runs or text that move with it
    inner: Mapping[str, str] = field(default_factory=dict)  # of a wrapper: what holds its text
    run: str = ""  # an element with one format, which holds its text in elements of its own
    text: str = ""  # that element; without it, text stands in paragraphs and wrappers themselves
    format: str = ""
    has_one_text: bool = False  # whether a run may hold no second text
    raising: str = ""  # an element of a format that raises or lowers text, as `raising_value` says
    raising_value: str = ""
    baseline: str = ""  # an attribute of a format: how far text is raised, or below 0, lowered
    first: frozenset[str] = frozenset()  # stay before all text
    last: frozenset[str] = frozenset()  # stay after it
    breaks: frozenset[str] = frozenset()  # part the text: each side is translated on its own
    dropped: frozenset[str] = frozenset()  # marks of a spelling checker
    vague: frozenset[str] = frozenset()  # parts of a format that do not make it another one
    field_mark: str = ""  # of Word: begins, divides and ends a field
    field_type: str = ""
    field_code: str = ""
    simple_field: str = ""  # a field in one element; `instruction` is its attribute
    instruction: str = ""
    text_attributes: Mapping[str, str] = field(default_factory=dict)
    pair_begins: frozenset[str] = frozenset()  # elements that begin a pair, as in XLIFF
    pair_ends: frozenset[str] = frozenset()
    verbatim: re.Pattern[str] | None = None  # what is not translated, besides placeholders
    text_breaks: re.Pattern[str] | None = None  # in a text: part it, as `breaks` do
    comments: frozenset[str] = frozenset()  # elements with paragraphs that are not translated


def name_elements(namespace: str, names: str) -> frozenset[str]:
    """Return the full names of elements, which are given with spaces between."""
    return frozenset(f"{{{namespace}}}{name}" for name in names.split())


def _make_word(w: str) -> Dialect:
    def name(local: str) -> str:
        return f"{{{w}}}{local}"

    return Dialect(
        paragraphs=(name("p"),),
        wrappers=name_elements(w, "hyperlink ins moveTo smartTag customXml bdo dir sdt ruby"),
        inner={name("sdt"): name("sdtContent"), name("ruby"): name("rubyBase")},
        run=name("r"),
        text=name("t"),
        format=name("rPr"),
        raising=name("vertAlign"),
        raising_value=name("val"),
        first=name_elements(w, "pPr bookmarkStart commentRangeStart permStart moveToRangeStart"),
        last=name_elements(w, "bookmarkEnd commentRangeEnd permEnd moveToRangeEnd"),
        breaks=name_elements(w, "br cr tab ptab"),
        dropped=name_elements(w, "proofErr lastRenderedPageBreak"),
        vague=name_elements(w, "lang noProof"),
        field_mark=name("fldChar"),
        field_type=name("fldCharType"),
        field_code=name("instrText"),
        simple_field=name("fldSimple"),
        instruction=name("instr"),
        text_attributes={SPACE: "preserve"},
    )


def _make_slides(a: str) -> Dialect:
    def name(local: str) -> str:
        return f"{{{a}}}{local}"

    return Dialect(
        paragraphs=(name("p"),),
        wrappers=frozenset(),
        run=name("r"),
        text=name("t"),
        format=name("rPr"),
        has_one_text=True,
        baseline="baseline",
        first=name_elements(a, "pPr"),
        last=name_elements(a, "endParaRPr"),
        breaks=name_elements(a, "br"),
    )


def _make_open(t: str) -> Dialect:
    return Dialect(
        paragraphs=(f"{{{t}}}p", f"{{{t}}}h"),
        wrappers=name_elements(t, "span a meta ruby"),
        inner={f"{{{t}}}ruby": f"{{{t}}}ruby-base"},
        first=name_elements(t, "bookmark-start soft-page-break"),
        last=name_elements(t, "bookmark-end"),
        breaks=name_elements(t, "line-break tab"),
        comments=name_elements(t.replace(":text:", ":office:"), "annotation"),
    )


_WORD = _make_word(f"{TRANSITIONAL}wordprocessingml/2006/main")
_STRICT_WORD = _make_word(f"{STRICT}wordprocessingml/main")
_SLIDES = _make_slides(f"{TRANSITIONAL}drawingml/2006/main")
_STRICT_SLIDES = _make_slides(f"{STRICT}drawingml/main")
_OPEN = _make_open("urn:oasis:names:tc:opendocument:xmlns:text:1.0")


def choose_dialect(kind: str, root: Any) -> Dialect:
    """Return the dialect of a part; `kind` is word, slides or open."""
    if kind == "open":
        return _OPEN
    is_strict = root.tag.startswith(f"{{{STRICT}")
    if kind == "word":
        return _STRICT_WORD if is_strict else _WORD
    return _STRICT_SLIDES if is_strict else _SLIDES

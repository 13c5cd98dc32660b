"""Rules of Word that few documents show: fields within fields, and what XML cannot have."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

pytest.importorskip("lxml", reason="the extra `documents` is not installed")

from lxml import etree

from glassformer.extensions.documents.formats import open_document

SPACE = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
RULE = f"{{{SPACE}}}"


def make(inner: str) -> bytes:
    body = f'<w:document xmlns:w="{SPACE}"><w:body><w:p>{inner}</w:p></w:body></w:document>'
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", body)
    return buffer.getvalue()


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def mark(kind: str) -> str:
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


def fill(data: bytes, change: Any) -> Any:
    document = open_document(data, "a.docx")
    written = document.fill([change(text) for text in document.texts])
    with zipfile.ZipFile(io.BytesIO(written)) as archive:
        return etree.fromstring(archive.read("word/document.xml"))


NESTED = (
    mark("begin")
    + "<w:r><w:instrText> IF </w:instrText></w:r>"
    + mark("begin")
    + "<w:r><w:instrText> PAGE </w:instrText></w:r>"
    + mark("separate")
    + run("7")
    + mark("end")
    + mark("separate")
    + run("inner text")
    + mark("end")
)


def test_a_field_within_a_field_belongs_to_it() -> None:
    """The text after the inner field is still the outer one's: it stays, whole and in order."""
    data = make(run("Before ") + NESTED + run(" after"))
    (text,) = open_document(data, "a.docx").texts
    assert "Before" in text and "after" in text
    assert "inner text" not in text and "7" not in text
    root = fill(data, lambda text: text.replace("Before", "Vor").replace("after", "nach"))
    kinds = [each.get(f"{RULE}fldCharType") for each in root.iter(f"{RULE}fldChar")]
    assert kinds == ["begin", "begin", "separate", "end", "separate", "end"]
    shown = "".join(each.text for each in root.iter(f"{RULE}t", f"{RULE}instrText"))
    assert shown.split() == ["Vor", "IF", "PAGE", "7inner", "text", "nach"]


@pytest.mark.parametrize("forbidden", ["\x01", "\x0b", "\x1b", "\ufffe", "\ud800"])
def test_a_translation_loses_what_xml_cannot_have(forbidden: str) -> None:
    root = fill(make(run("One cat.")), lambda text: text.replace("One", f"Ei{forbidden}ne"))
    assert "".join(each.text for each in root.iter(f"{RULE}t")) == "Eine cat."

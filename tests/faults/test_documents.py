"""Documents with some of their bytes changed: translated, or refused in one sentence."""

from __future__ import annotations

import io
import zipfile

import pytest
from damage.ledger import Ledger
from damage.mutation import damaged
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("lxml", reason="the extra `documents` is not installed")

from glassformer.extensions.documents.formats import open_document

TABLE = "Bad input"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
XML = (
    f'<w:document xmlns:w="{WORD}"><w:body><w:p><w:r><w:t>The </w:t></w:r><w:hyperlink><w:r>'
    "<w:rPr><w:b/></w:rPr><w:t>black</w:t><w:tab/></w:r></w:hyperlink><w:r><w:t> dog.</w:t></w:r>"
    "</w:p></w:body></w:document>"
).encode()
SUBTITLES = (
    b"1\n00:00:01,000 --> 00:00:02,000\n<i>The cat\n\n2\n00:00:02,000 --> 00:00:03,000\nis old."
)
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
SLIDE = (
    f'<p:sld xmlns:p="p" xmlns:a="{DRAWING}"><a:p><a:r><a:rPr b="1"/><a:t>The </a:t></a:r>'
    "<a:r><a:t>black</a:t></a:r><a:br/><a:fld><a:t>dog</a:t></a:fld></a:p></p:sld>"
).encode()
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
OPEN = (
    f'<d xmlns:t="{TEXT}"><t:h>A cat</t:h><t:p>The <t:span t:style-name="b">black</t:span><t:s/>'
    "<t:a>dog<t:line-break/></t:a>.<t:note><t:note-body><t:p>a</t:p></t:note-body></t:note></t:p></d>"
).encode()
XLIFF = b"""<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2"><file><body><trans-unit id="1">
<source>The <g id="1">dog</g> runs.</source><target/></trans-unit></body></file></xliff>"""
PO = b"""msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8"\n
msgid "%d dog"\nmsgid_plural "%d dogs"\nmsgstr[0] ""\nmsgstr[1] ""\n"""
CUES = b"WEBVTT\n\nNOTE a\n\n00:01.000 --> 00:02.000 align:start\n<v Ann>The <c.a>cat</c> runs."
PAGE = b"<p>The <b>black</b> dog &amp; a <a href='x'>cat</a>.<script>a</script>"


def pack(xml: bytes, part: str = "word/document.xml") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(part, xml)
        if part == "a.opf":
            archive.writestr("META-INF/container.xml", b'<c><rootfile full-path="a.opf"/></c>')
            archive.writestr("a.xhtml", PAGE)
            archive.writestr("a.ncx", b"<ncx><text>The cat</text></ncx>")
    return buffer.getvalue()


def open_and_fill(data: bytes, name: str) -> None:
    try:
        document = open_document(data, name)
    except ValueError as error:
        assert str(error) and "\n" not in str(error)
        return
    assert isinstance(document.fill(document.texts), bytes)


@pytest.mark.parametrize("times", [200, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["a.docx", "inside.docx", "a.srt", "a.html", "a.txt"])
def test_damaged_documents(ledger: Ledger, name: str, times: int) -> None:
    whole = {"a.docx": pack(XML), "inside.docx": XML, "a.srt": SUBTITLES}.get(name, PAGE)

    @settings(max_examples=times, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.data())
    def check(data: st.DataObject) -> None:
        made = bytes(data.draw(damaged(whole)))
        open_and_fill(pack(made) if name.startswith("inside") else made, name)

    check()
    told = "translated, or refused in one sentence; never an internal error"
    ledger.note(TABLE, "damaged documents: .docx .srt .html .txt", told, times=times)


BOOK = b"""<package><item href="a.xhtml" media-type="application/xhtml+xml"/>
<item href="a.ncx" media-type="application/x-dtbncx+xml"/></package>"""
PACKED = {
    "pptx": (SLIDE, "ppt/slides/slide1.xml"),
    "odt": (OPEN, "content.xml"),
    "epub": (BOOK, "a.opf"),
}
OTHERS = {"vtt": CUES, "xlf": XLIFF, "po": PO}
KINDS = [*PACKED, *(f"inside.{kind}" for kind in PACKED), *OTHERS]


@pytest.mark.parametrize("times", [200, pytest.param(3000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_other_damaged_documents(ledger: Ledger, kind: str, times: int) -> None:
    ending = kind.removeprefix("inside.")
    xml, part = PACKED.get(ending, (b"", ""))
    whole = pack(xml, part) if kind in PACKED else xml or OTHERS[kind]
    if ending == "po":
        pytest.importorskip("polib", reason="the extra `documents` is not installed")
    assert open_document(pack(whole, part) if kind != ending else whole, f"a.{ending}").texts

    @settings(max_examples=times, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.data())
    def check(data: st.DataObject) -> None:
        made = bytes(data.draw(damaged(whole)))
        open_and_fill(pack(made, part) if kind != ending else made, f"a.{ending}")

    check()
    told = "translated, or refused in one sentence; never an internal error"
    ledger.note(TABLE, "damaged documents: .pptx .odt .epub .vtt .xlf .po", told, times=times)

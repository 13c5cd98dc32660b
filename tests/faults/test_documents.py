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
PAGE = b"<p>The <b>black</b> dog &amp; a <a href='x'>cat</a>.<script>a</script>"


def pack(xml: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("word/document.xml", xml)
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

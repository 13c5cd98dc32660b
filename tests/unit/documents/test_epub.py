"""Electronic books: their pages and contents are translated, and all else stays."""

from __future__ import annotations

import asyncio
import io
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("lxml", reason="the extra `documents` is not installed")

from glassformer.cli import main
from glassformer.extensions.documents.apart import DocumentProcesses
from glassformer.extensions.documents.declared import declare_language, find_languages
from glassformer.extensions.documents.formats import open_document

CONTAINER = b"""<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OPS/book.opf"/></rootfiles></container>"""
CONTENTS = b"""<package xmlns="http://www.idpf.org/2007/opf" version="3.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:language>en</dc:language></metadata>
<manifest><item id="a" href="text/one%20.xhtml" media-type="application/xhtml+xml"/>
<item id="n" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item id="i" href="a.png" media-type="image/png"/><item href="text/one%20.xhtml"
media-type="application/xhtml+xml"/><item href="../../x" media-type="application/xhtml+xml"/>
</manifest></package>"""
PAGE = """<?xml version="1.0"?><!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en"><body><h1 id="é">My dog</h1>
<p>The cat is <i>small</i>.<a epub:type="noteref" href="#n">1</a></p></body></html>""".encode()
LABELS = b"""<?xml version="1.0"?><!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "x.dtd">
<ncx><docTitle><text>My dog</text></docTitle><navLabel><text>The cat</text></navLabel></ncx>"""
ENTRIES = {
    "mimetype": b"application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OPS/book.opf": CONTENTS,
    "OPS/text/one .xhtml": PAGE,
    "OPS/toc.ncx": LABELS,
    "OPS/a.png": b"\x89PNG",
}

NAMES = {
    "container": "META-INF/container.xml",
    "contents": "OPS/book.opf",
    "encryption": "META-INF/encryption.xml",
    "labels": "OPS/toc.ncx",
    "other": "OPS/other.html",
    "page": "OPS/text/one .xhtml",
}


def pack(**changes: bytes | None) -> bytes:
    """Return a book with some entries replaced, added or left out."""
    entries = ENTRIES | {NAMES[key]: changes[key] for key in changes}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in entries.items():
            if data is not None:
                archive.writestr(name, data)
    return buffer.getvalue()


def unpack(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_a_book_is_its_pages_and_its_contents() -> None:
    book = open_document(pack(), "a.epub")
    assert book.texts == [PAGE.decode(), "My dog", "The cat"]
    assert unpack(book.fill(book.texts)) == ENTRIES
    filled = unpack(book.fill([PAGE.decode().replace("cat", "chat"), "Mon chien", "&lt;"]))
    assert [*filled] == [*ENTRIES]
    assert filled["OPS/text/one .xhtml"] == PAGE.replace(b"cat", b"chat")
    assert b"<text>Mon chien</text>" in filled["OPS/toc.ncx"]
    assert b"<text>&lt;</text>" in filled["OPS/toc.ncx"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"container": None}, "no META-INF/container.xml"),
        ({"container": b"<container/>"}, "its list of pages is missing"),
        ({"contents": None}, "its list of pages is missing"),
        ({"contents": b"<package>"}, "the document is damaged: OPS/book.opf"),
        ({"contents": b'<!DOCTYPE p [<!ENTITY a "b">]><p>&a;</p>'}, "declares a document type"),
        (
            {"encryption": b'<e><CipherReference URI="OPS/text/one%20.xhtml"/></e>'},
            "the document is encrypted: OPS/text/one .xhtml",
        ),
    ],
)
def test_a_book_that_cannot_be_read_is_refused(changes: dict[str, bytes | None], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("/", ".")):
        open_document(pack(**changes), "a.epub")


def test_a_book_with_encrypted_fonts_alone_is_read() -> None:
    locked = b'<e><CipherReference URI="OPS/font.otf"/></e>'
    assert len(open_document(pack(encryption=locked), "a.epub").texts) == 3


def test_other_spellings_are_read() -> None:
    contents = b'<!DOCTYPE package PUBLIC "+//ISBN" "oeb.dtd">' + CONTENTS.replace(b"dc:", b"d:")
    contents = contents.replace(b"xmlns:d:", b"xmlns:d").replace(b"xmlns:dc", b"xmlns:d")
    page = '<?xml version="1.0" encoding="iso-8859-1"?><html><p>A café</p></html>'.encode("latin-1")
    labels = b'<ncx:ncx><ncx:text xml:lang="en">My dog</ncx:text ></ncx:ncx>'
    book = open_document(pack(contents=contents, page=page, labels=labels), "a.epub")
    assert "café" in book.texts[0] and book.texts[1:] == ["My dog"]
    assert unpack(book.fill(book.texts))["OPS/text/one .xhtml"] == page
    assert find_languages(pack(contents=contents), "a.epub") == [("en", "")]


def test_what_a_book_does_not_list_stays(tmp_path: Path) -> None:
    other = b'<html lang="en"><p>Not listed.</p></html>'
    written = unpack(declare_language(pack(other=other), "a.epub", "fr"))
    assert written["OPS/other.html"] == other
    assert b'xml:lang="fr"' in written["OPS/text/one .xhtml"]


def test_a_page_that_is_no_text_stays() -> None:
    book = open_document(pack(page=b"\xff" * 9), "a.epub")
    assert book.texts == ["My dog", "The cat"] and len(book.failures.said) == 1
    assert unpack(book.fill(book.texts))["OPS/text/one .xhtml"] == b"\xff" * 9


def test_the_command_translates_a_book(tmp_path: Path) -> None:
    book, out = tmp_path / "a.epub", tmp_path / "b.epub"
    book.write_bytes(pack())
    assert main(["translate", "demo", str(book), "-o", str(out)]) == 0
    data = out.read_bytes()
    assert find_languages(data, "b.epub") == [("fr", "")]
    page = unpack(data)["OPS/text/one .xhtml"].decode()
    assert (
        'xml:lang="fr"' in page
        and "Le chat est <i>petit</i>.<a epub:type" in page
        and 'id="é"' in page
    )


def test_a_server_opens_a_book_in_a_process_apart() -> None:
    async def copy() -> bytes:
        async with DocumentProcesses().open(pack(), "a.epub") as document:
            return await document.fill(document.texts, ("de", "fr"))

    filled = unpack(asyncio.run(copy()))
    assert b'xml:lang="fr"' in filled["OPS/text/one .xhtml"]
    assert b"<dc:language>fr<" in filled["OPS/book.opf"]

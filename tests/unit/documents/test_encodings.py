"""The encoding of a file: what it declares or begins with, and the same when it is written."""

from __future__ import annotations

import codecs

import pytest

from glassformer.extensions.documents.formats import open_document

PAGE = "<html><head><meta charset={}></head><body><p>Un caf\u00e9</p></body></html>"
PO = 'msgid ""\nmsgstr "Content-Type: text/plain; charset={}\\n"\n\nmsgid "caf\u00e9"\nmsgstr ""\n'


@pytest.mark.parametrize("name", ["utf-8", "windows-1252", "iso-8859-15", "'latin1'", '"UTF-8"'])
def test_a_page_is_written_in_the_encoding_that_it_declares(name: str) -> None:
    data = PAGE.format(name).encode(name.strip("'\""))
    document = open_document(data, "a.html")
    assert "caf\u00e9" in document.texts[0] and document.fill(document.texts) == data


def test_what_an_encoding_lacks_becomes_a_reference() -> None:
    document = open_document(PAGE.format("windows-1252").encode("cp1252"), "a.html")
    made = document.fill([document.texts[0].replace("caf\u00e9", "\u732b")])
    assert "Un &#29483;" in made.decode("cp1252")


@pytest.mark.parametrize("mark", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["a.txt", "a.html", "a.srt", "a.strings"])
def test_a_byte_order_mark_is_kept(name: str, mark: str) -> None:
    text = {"a.srt": "00:00:01,0 --> 00:00:02,0\ncaf\u00e9", "a.strings": '"a" = "caf\u00e9";'}
    start = codecs.BOM_UTF16_BE if mark == "utf-16-be" else b""
    data = start + text.get(name, "caf\u00e9").encode(mark)
    document = open_document(data, name)
    assert document.texts == ["caf\u00e9"] and document.fill(document.texts) == data


@pytest.mark.parametrize("space", ["", " "])
def test_po_declares_its_encoding(space: str) -> None:
    pytest.importorskip("polib", reason="the extra `documents` is not installed")
    data = PO.format(f"{space}ISO-8859-1").encode("latin-1")
    document = open_document(data, "a.po")
    assert document.texts == ["caf\u00e9"]
    assert document.fill(["th\u00e9"]).endswith(
        'msgid "caf\u00e9"\nmsgstr "th\u00e9"\n'.encode("latin-1")
    )


@pytest.mark.parametrize(
    ("charset", "translation", "written"),
    [
        ("ISO-8859-1", "th\u00e9", ("ISO-8859-1", "latin-1")),
        ("ISO-8859-1", "\u0153uf", ("UTF-8", "utf-8")),  # not in Latin-1, but in cp1252
        ("us-ascii", "th\u00e9", ("UTF-8", "utf-8")),
        ("CHARSET", "\u8336", ("UTF-8", "utf-8")),
        ("utf-8", "\u8336", ("utf-8", "utf-8")),
    ],
)
def test_po_says_the_encoding_that_it_is_in(
    charset: str, translation: str, written: tuple[str, str]
) -> None:
    pytest.importorskip("polib", reason="the extra `documents` is not installed")
    data = PO.replace("caf\u00e9", "coffee").format(charset).encode("ascii")
    text = open_document(data, "a.po").fill([translation]).decode(written[1])
    assert f"charset={written[0]}\\n" in text and f'msgstr "{translation}"' in text


def test_a_text_in_no_known_encoding_is_refused() -> None:
    with pytest.raises(ValueError, match="no UTF-8: byte 4 cannot be read"):
        open_document(b"caf\xe9 and more", "a.txt")

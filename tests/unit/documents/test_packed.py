"""The zip and the XML of a document: with limits, and without anything from outside."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("lxml", reason="the extra `documents` is not installed")

from glassformer.extensions.documents.packed import PART, Package, parse_xml


@pytest.mark.parametrize(
    "entities",
    [
        '<!ENTITY x SYSTEM "file:///nowhere/at/all">',
        '<!ENTITY x "harmless">',
        '<!ENTITY x SYSTEM "http://localhost:1/x">',
    ],
    ids=["file", "harmless", "address"],
)
def test_no_entity_is_expanded_before_the_document_type_is_refused(entities: str) -> None:
    """Expanded, the first would be missed."""
    text = f"<!DOCTYPE a [{entities}]><a>&x;</a>"
    with pytest.raises(ValueError, match=r"^part\.xml declares a document type"):
        parse_xml(text.encode(), "part.xml")


def test_what_a_file_says_does_not_get_in(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("<b/", encoding="utf-8")  # would break the XML that it was put into
    text = f'<!DOCTYPE a [<!ENTITY x SYSTEM "{secret.as_uri()}">]><a>&x;</a>'
    with pytest.raises(ValueError, match="declares a document type"):
        parse_xml(text.encode(), "part.xml")


def test_a_document_may_have_as_much_as_the_limit_says() -> None:
    """256 MiB, pictures and all."""
    for pictures, is_fine in ((5, True), (9, False)):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for number in range(pictures):
                archive.writestr(f"word/media/{number}.bmp", bytes(31 << 20))
        if is_fine:
            assert sum(map(len, Package(buffer.getvalue()).parts.values())) == 155 << 20
        else:
            with pytest.raises(ValueError, match="unpacked it has more than 256 MiB"):
                Package(buffer.getvalue())


def _pack(*entries: tuple[str, bytes, int], level: int = 1) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compresslevel=level) as archive:
        for name, data, method in entries:
            archive.writestr(name, data, compress_type=method)
    return buffer.getvalue()


def test_unchanged_entries_stay_as_they_are_packed() -> None:
    film = bytes(PART + 1)  # larger than a part that is read
    names = ("mimetype", "\u00e9.xml", "film.mp4")
    methods = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED)
    data = _pack(*zip(names, (b"word", b"<a/>" * 99, film), methods, strict=True))
    package = Package(data)
    assert list(package.parts) == [*names] and package.parts["\u00e9.xml"] == b"<a/>" * 99
    again = package.write({"\u00e9.xml": b"<b/>"})
    assert again == package.write({"\u00e9.xml": b"<b/>"})
    assert Package(again).packed["film.mp4"] == package.packed["film.mp4"]
    with zipfile.ZipFile(io.BytesIO(again)) as archive:
        assert archive.testzip() is None and tuple(archive.namelist()) == names
        assert tuple(each.compress_type for each in archive.infolist()) == methods
        assert archive.read("\u00e9.xml") == b"<b/>" and archive.read("film.mp4") == film
    with pytest.raises(ValueError, match=r"too large: film\.mp4 has more than 32 MiB"):
        package.parts["film.mp4"]


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_entries_are_stored_or_deflated(method: int) -> None:
    """The others take minutes, and no office program writes them."""
    with pytest.raises(ValueError, match=r"a\.bin is encrypted, or packed in an unusual way"):
        Package(_pack(("a.bin", bytes(9), method)))


def test_entries_may_not_share_their_bytes() -> None:
    """Written, a few would take as much space as there is."""
    data = _pack(*((f"{number}.bin", bytes(range(256)), zipfile.ZIP_STORED) for number in range(2)))
    first, second = data.index(b"PK\1\2"), data.rindex(b"PK\1\2")
    wide = bytearray(data)
    for at in (first, second):
        wide[at + 20 : at + 24] = (400).to_bytes(4, "little")  # its packed size
    with pytest.raises(ValueError, match="overlap"):
        Package(bytes(wide))

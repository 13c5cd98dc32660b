"""The zip and the XML of a document: with limits, and without anything from outside."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("lxml", reason="the extra `documents` is not installed")

from glassformer.extensions.documents.packed import Package, parse_xml


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

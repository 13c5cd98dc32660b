"""Read and write the zip of a document, with limits, and its XML without anything from outside."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

UNPACKED = 256 << 20  # bytes of all entries
ENTRIES = 10_000
PART = 32 << 20  # bytes of one entry
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


class Package:
    """The entries of a document's zip, in order.

    Raises ValueError if it is damaged, encrypted, or too large once it is unpacked.
    """

    def __init__(self, data: bytes) -> None:
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                self.entries = archive.infolist()
                self._check_sizes()
                self.parts = {each.filename: self._unpack(archive, each) for each in self.entries}
        except BROKEN as error:
            message = " ".join(str(error).split())
            raise ValueError(f"the document is damaged or encrypted: {message}") from None

    def _check_sizes(self) -> None:
        names = [each.filename for each in self.entries]
        if len(names) > ENTRIES or len(set(names)) < len(names):
            raise ValueError(f"its zip has more than {ENTRIES:,} entries, or one of them twice")
        if sum(each.file_size for each in self.entries) > UNPACKED:
            raise ValueError(f"unpacked it has more than {UNPACKED >> 20} MiB")

    def _unpack(self, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
        """Return one entry; a header that lies about its size is found out while reading."""
        with archive.open(entry) as packed:
            data = packed.read(min(entry.file_size, PART) + 1)
        if len(data) != entry.file_size:
            raise ValueError(f"{entry.filename} is not of the size that it says, or too large")
        return data

    def write(self, changed: Mapping[str, bytes]) -> bytes:
        """Return the zip with some entries replaced; the others, their order and packing stay."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for entry in self.entries:
                data = changed.get(entry.filename, self.parts[entry.filename])
                archive.writestr(entry, data, compress_type=entry.compress_type)
        return buffer.getvalue()


def parse_xml(data: bytes, name: str, *, may_declare: bool = False) -> Any:
    """Return the root of an XML document; nothing outside it is read, no entity is expanded.

    Raises ValueError if it is damaged, nested too deeply, or declares a document type, which
    `may_declare` permits if that has no entities.
    """
    from lxml import etree

    options = {"load_dtd": False, "no_network": True, "remove_pis": False, "huge_tree": False}
    parser = etree.XMLParser(resolve_entities=False, **options)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        message = " ".join(str(error).split())
        raise ValueError(f"the document is damaged: {name}: {message}") from None
    declared = root.getroottree().docinfo.internalDTD
    if declared is not None and not (may_declare and not [*declared.iterentities()]):
        raise ValueError(f"{name} declares a document type, which no office program writes")
    return root


def write_xml(root: Any) -> bytes:
    from lxml import etree

    written: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
    return written

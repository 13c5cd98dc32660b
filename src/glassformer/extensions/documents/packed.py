"""Read and write the zip of a document, with limits, and its XML without anything from outside."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from copy import copy
from typing import Any

UNPACKED = 256 << 20  # bytes of all entries
ENTRIES = 10_000
PART = 32 << 20  # bytes of an entry that is read
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # those that the formats permit
ENCRYPTED = 1  # a bit of an entry's flags
HEADER = struct.Struct("<4s22xHH")  # of an entry: its mark, and how long its name and extra are
BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error),
    *(EOFError, NotImplementedError, RuntimeError, ValueError),
)


class Package:
    """The entries of a document's zip, in order.

    Raises ValueError if it is damaged, encrypted, or too large once it is unpacked.
    """

    def __init__(self, data: bytes) -> None:
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
            self.entries = archive.infolist()
            self._check_entries(len(data))
            view = memoryview(data)
            self.packed = {each.filename: _find_packed(view, each) for each in self.entries}
        except BROKEN as error:
            raise _explain(error) from None
        self.parts: Mapping[str, bytes] = _Parts(archive)

    def _check_entries(self, size: int) -> None:
        names = [each.filename for each in self.entries]
        if len(names) > ENTRIES or len(set(names)) < len(names):
            raise ValueError(f"its zip has more than {ENTRIES:,} entries, or one of them twice")
        if sum(each.file_size for each in self.entries) > UNPACKED:
            raise ValueError(f"unpacked it has more than {UNPACKED >> 20} MiB")
        if sum(each.compress_size for each in self.entries) > size:
            raise ValueError("entries of its zip overlap, or are cut off")
        for each in self.entries:
            if each.flag_bits & ENCRYPTED or each.compress_type not in METHODS:
                raise ValueError(f"{each.filename} is encrypted, or packed in an unusual way")

    def write(self, changed: Mapping[str, bytes]) -> bytes:
        """Return the zip with some entries replaced; the others, their order and packing stay."""
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for entry in map(copy, self.entries):
                if entry.filename in changed:
                    data = changed[entry.filename]
                    archive.writestr(entry, data, compress_type=entry.compress_type)
                else:
                    _write_packed(archive, entry, self.packed[entry.filename])
                    buffer.seek(entry.header_offset)  # the archive itself goes on at its end
                    buffer.write(entry.FileHeader())
        return buffer.getvalue()


class _Parts(Mapping[str, bytes]):
    """The entries of a zip by name, each unpacked when it is read: pictures never are."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self.archive = archive

    def __getitem__(self, name: str) -> bytes:
        """Return one entry; a header that lies about its size is found out while reading."""
        entry = self.archive.getinfo(name)
        if entry.file_size > PART:
            raise ValueError(f"the document is too large: {name} has more than {PART >> 20} MiB")
        try:
            with self.archive.open(entry) as packed:
                data = packed.read(entry.file_size + 1)
            if len(data) != entry.file_size:
                raise ValueError(f"{name} is not of the size that it says")
        except BROKEN as error:
            raise _explain(error) from None
        return data

    def __contains__(self, name: object) -> bool:
        return name in self.archive.NameToInfo

    def __iter__(self) -> Iterator[str]:
        return iter(self.archive.namelist())

    def __len__(self) -> int:
        return len(self.archive.infolist())


def _explain(error: Exception) -> ValueError:
    return ValueError(f"the document is damaged or encrypted: {' '.join(str(error).split())}")


def _find_packed(data: memoryview, entry: zipfile.ZipInfo) -> memoryview:
    """Return the bytes of an entry as they are packed."""
    start = entry.header_offset + HEADER.size
    mark, name, extra = HEADER.unpack_from(data, entry.header_offset)
    packed = data[start + name + extra :][: entry.compress_size]
    if mark != b"PK\3\4" or len(packed) < entry.compress_size:
        raise ValueError(f"{entry.filename} is cut off")
    return packed


def _write_packed(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, packed: memoryview) -> None:
    """Write an entry as it was packed. The header before it is not right yet."""
    kept = {name: getattr(entry, name) for name in ("CRC", "file_size", "compress_type")}
    archive.writestr(entry, packed, compress_type=zipfile.ZIP_STORED)
    for name, value in kept.items():
        setattr(entry, name, value)


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

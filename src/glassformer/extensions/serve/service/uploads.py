"""Uploads of training text: each is checked while it is written, and refused in one sentence."""

import codecs
import errno
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import BinaryIO

from glassformer.foundation.disk import PARTIAL

from ..api_error import TrainingError

SIDES = ("source", "target")
TABLE = "pairs"  # the part that is both sides: a table of pairs
TABLES = (".tsv", ".csv", ".jsonl", ".tmx")
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True)
class UploadedFile:
    """A file as its owner calls it, its name on the disk, its size and its number of lines."""

    name: str
    stored: str
    bytes: int
    lines: int


def name_part(part: str, name: str) -> str:
    """Return under which name a part is stored. Raises TrainingError for an unknown kind."""
    if part in SIDES:
        return f"{part}.txt"
    kind = PurePath(name).suffix.lower()
    if part != TABLE or kind not in TABLES:
        raise TrainingError("table", name=name)
    return f"{TABLE}{kind}"


class UploadWriter:
    """A writer of one file of UTF-8. Nothing is left of a file that is refused."""

    def __init__(self, folder: Path, stored: str, name: str, most: int) -> None:
        self.path, self.name, self.most = folder / stored, name, most
        self.partial = folder / (stored + PARTIAL)
        self.size, self.lines, self.ends_line = 0, 0, True
        self.has_text = False
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._file: BinaryIO | None = None

    def add(self, data: bytes) -> None:
        """Write what came next. Raises TrainingError if this is no text, or too large."""
        if not data:
            return
        if not self.size and data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise TrainingError("utf16", name=self.name)
        if b"\0" in data:
            before = data[: data.index(b"\0")].count(b"\n")
            raise TrainingError("binary", name=self.name, line=self.lines + before + 1)
        self.size += len(data)
        if self.size > self.most:
            raise TrainingError("large", 413, name=self.name, most=self.most >> 20)
        self._decode(data)
        self.has_text = self.has_text or bool(data.removeprefix(BOM_UTF8).strip())
        try:
            if self._file is None:
                self._file = self.partial.open("wb")
            self._file.write(data)
        except OSError as error:
            raise explain_full(error) from None
        self.lines += data.count(b"\n")
        self.ends_line = data.endswith(b"\n")

    def _decode(self, data: bytes, final: bool = False) -> None:
        try:
            self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            line = self.lines + error.object[: error.start].count(b"\n") + 1
            raise TrainingError("encoding", name=self.name, line=line) from None

    def finish(self) -> UploadedFile:
        """Give the file its name. Raises TrainingError if there is no text in it."""
        if not self.has_text or self._file is None:
            raise TrainingError("empty", name=self.name)
        self._decode(b"", final=True)
        try:
            self._file.close()
            self.partial.replace(self.path)
        except OSError as error:
            raise explain_full(error) from None
        lines = self.lines + (not self.ends_line)
        return UploadedFile(self.name, self.path.name, self.size, lines)

    def close(self) -> None:
        """Remove what is not finished."""
        with suppress(OSError):
            if self._file:
                self._file.close()
        with suppress(OSError):
            self.partial.unlink(missing_ok=True)


def explain_full(error: OSError) -> Exception:
    """Return the TrainingError of a full disk; another error as it is."""
    return TrainingError("full", 507) if error.errno in FULL else error


def check_uploads(files: dict[str, UploadedFile]) -> None:
    """Raise TrainingError if text is missing, or two files have different numbers of lines."""
    if TABLE in files:
        return
    if set(files) != set(SIDES):
        raise TrainingError("missing_text")
    source, target = (files[side] for side in SIDES)
    if source.lines != target.lines:
        names: dict[str, object] = {"source": source.name, "target": target.name}
        raise TrainingError("lines", 400, **names, n=source.lines, m=target.lines)

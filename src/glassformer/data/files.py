"""Reading of lines from files: plain, gzipped, in a .zip or from the standard input.

Moses files in a .zip from OPUS are two members, such as X.de-en.de and X.de-en.en.
"""

import gzip
import re
import sys
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EINVAL
from functools import partial
from hashlib import sha256
from io import BufferedReader, RawIOBase
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeVar, cast
from zipfile import BadZipFile, ZipFile, is_zipfile

T = TypeVar("T")
LONGEST_LINE = 16 << 20  # bytes; a whole book has fewer
STANDARD = Path("-")  # stands for the standard input where a file is read
_APPENDIX = re.compile(r"(?:.*/)?(?:__MACOSX/|\._)")  # of macOS, about a file: no text


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The fingerprint of a file: its name, its lines, its bytes on the disk and their SHA-256."""

    name: str
    lines: int
    bytes: int
    sha256: str


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream of the bytes of a file, decompressed if it is a .gz or a member of a .zip.

    "-" is the standard input; it can be read once. ValueError if the file is damaged.
    """
    if path == STANDARD:
        if sys.__stdin__ is None:
            raise ValueError("the standard input is closed: name a file to read")
        yield cast(BinaryIO, sys.stdin.buffer)
        return
    try:
        if member := split_member(path):
            with open_member(*member) as stream:
                yield stream
        elif path.suffix == ".gz":
            with gzip.open(path) as packed:
                yield cast(BinaryIO, packed)
        else:
            with path.open("rb") as plain:
                yield plain
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: damaged, or not a .gz file: {error}") from None


def cut_lines(stream: BinaryIO, path: Path) -> Iterator[bytes]:
    """Yield the lines of an opened file. ValueError if one is too long to be one."""
    for number, raw in enumerate(iter(partial(stream.readline, LONGEST_LINE + 1), b""), 1):
        if len(raw) > LONGEST_LINE:
            name, most = name_input(path), LONGEST_LINE >> 20
            raise ValueError(f"{name}, line {number}: no text: it is longer than {most} MiB")
        yield raw


def decode_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    r"""Yield lines of UTF-8, cut at "\n" only, without a BOM at the start or a "\r" at their end.

    ValueError, with the line number, if a line is not UTF-8, or if all lines end with "\r" alone.
    """
    for number, raw in enumerate(stream, 1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            is_wide = number == 1 and raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
            kind = "perhaps Latin-1 or Windows-1252"
            if is_wide or b"\0" in raw:  # of most letters, UTF-16 has a byte that is 0
                kind = "this is UTF-16" if is_wide else "perhaps UTF-16, or no text"
            byte = f"byte 0x{error.object[error.start]:02X}"
            message = f"not UTF-8 ({byte}): {kind}, save it as UTF-8"
            raise ValueError(f"{name}, line {number}: {message}") from None
        if number == 1 and "\r" in line[:-1] and not line.endswith("\n"):
            raise ValueError(f"{name}: its lines end with CR alone: save it with LF or CR LF")
        yield line.removesuffix("\n").removesuffix("\r")


def name_input(path: Path) -> str:
    """Return the name of a file for messages."""
    return "standard input" if path == STANDARD else str(path)


def read_lines(path: Path) -> Iterator[str]:
    with open_bytes(path) as stream:
        yield from decode_lines(cut_lines(stream, path), name_input(path))


def count_lines(path: Path) -> int:
    with open_bytes(path) as stream:
        return sum(1 for _ in cut_lines(stream, path))


def take_fingerprint(path: Path) -> Fingerprint:
    """Return the fingerprint of a file as it is stored, or of a member of a .zip decompressed."""
    digest, size = sha256(), 0
    with open_bytes(path) if split_member(path) else path.open("rb") as stored:
        while block := stored.read(1 << 20):
            digest.update(block)
            size += len(block)
    return Fingerprint(path.name, count_lines(path), size, digest.hexdigest())


def cut_chunks(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of `size` items, each as soon as it is complete; the last may be shorter."""
    rest = iter(items)
    return iter(lambda: list(islice(rest, size)), [])


Member = tuple[Path, str]


def split_member(path: Path) -> Member | None:
    """Return archive and member of a path, A.zip and B/C.en for A.zip/B/C.en; None for others."""
    for parent in path.parents:
        if parent.suffix == ".zip" and parent.is_file():
            return parent, path.relative_to(parent).as_posix()
    return None


@contextmanager
def open_member(archive: Path, name: str) -> Iterator[BinaryIO]:
    try:
        with ZipFile(archive) as opened, opened.open(name) as stream:
            yield BufferedReader(cast(RawIOBase, stream))
    except (BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise ValueError(f"{archive}: damaged, locked, or not a .zip file: {error}") from None
    except KeyError:
        raise ValueError(f"{archive}: holds no {name}") from None
    except OSError as error:
        if error.errno != EINVAL:
            raise
        raise ValueError(f"{archive}: damaged: it leads to a place before its begin") from None


def find_members(archive: Path, source: str | None, target: str | None) -> tuple[Path, Path]:
    """Return the paths of the two members whose names differ only in the language at their end.

    ValueError if there are none, or several such pairs.
    """
    if not (source and target):
        raise ValueError(f"{archive}: say which of its languages: --source-lang and --target-lang")
    if not is_zipfile(archive):
        raise ValueError(f"{archive}: not a .zip file")
    try:
        with ZipFile(archive) as opened:
            names = [name for name in opened.namelist() if not _APPENDIX.match(name)]
    except (BadZipFile, NotImplementedError, ValueError, OSError) as error:
        raise ValueError(f"{archive}: damaged, or not a .zip file: {error}") from None
    stems = [name.removesuffix(source) for name in names if name.endswith(f".{source}")]
    pairs = [stem for stem in stems if stem + target in names]
    if len(pairs) != 1:
        held = ", ".join(sorted(names)[:8]) or "nothing"
        raise ValueError(
            f"{archive}: {len(pairs) or 'no'} pairs of files ending in .{source} and .{target}; "
            f"it holds {held}"
        )
    return archive / (pairs[0] + source), archive / (pairs[0] + target)

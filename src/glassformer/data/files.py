"""Reading of lines from files: plain, gzipped, in a .zip or from the standard input."""

from __future__ import annotations

import gzip
import sys
import zlib
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from .zipped import open_member, split_member

T = TypeVar("T")
STANDARD = Path("-")  # stands for the standard input where a file is read


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


def decode_lines(stream: Iterable[bytes], name: str) -> Iterator[str]:
    r"""Yield lines of UTF-8, cut at "\n" only, without a BOM at the start or a "\r" at their end.

    ValueError, with the line number, if a line is not UTF-8.
    """
    for number, raw in enumerate(stream, 1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            is_wide = number == 1 and raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE))
            wide = ": this is UTF-16, save it as UTF-8" if is_wide else ""
            byte = f"byte 0x{error.object[error.start]:02X}"
            raise ValueError(f"{name}, line {number}: not UTF-8 ({byte}){wide}") from None
        yield line.removesuffix("\n").removesuffix("\r")


def name_input(path: Path) -> str:
    """Return the name of a file for messages."""
    return "standard input" if path == STANDARD else str(path)


def read_lines(path: Path) -> Iterator[str]:
    with open_bytes(path) as stream:
        yield from decode_lines(stream, name_input(path))


def count_lines(path: Path) -> int:
    with open_bytes(path) as stream:
        return sum(1 for _ in stream)


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

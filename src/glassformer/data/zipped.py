"""Reading of Moses files in a .zip from OPUS: two members, such as X.de-en.de and X.de-en.en."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EINVAL
from pathlib import Path
from typing import BinaryIO, cast
from zipfile import BadZipFile, ZipFile, is_zipfile

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
            yield cast(BinaryIO, stream)
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
            names = opened.namelist()
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

"""Files that are whole or not there, whatever happens; and reading files that may not be ours."""

from __future__ import annotations

import errno
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

MOST_TEXT = 1 << 28  # bytes of a file that is read as a whole and is no tensors
PARTIAL, FORMER = ".partial", ".former"
# What systems answer that have no way, and no need, to sync a folder.
CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM}


def write_bytes(path: Path, data: bytes) -> None:
    """The whole file or none of it. When this returns, the disk has it."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        with suppress(OSError):  # on a full disk this is room for others
            partial.unlink(missing_ok=True)
        raise name_file(error, path) from None
    sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """The whole file or none of it. When this returns, the disk has it."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def sync_folder(folder: Path) -> None:
    """Wait until the disk knows which files a folder holds: fsync of a file does not see to it."""
    if os.name != "posix":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise name_file(error, folder) from None
    finally:
        os.close(opened)


def sync_files(folder: Path) -> None:
    """Wait until the disk has every file of a folder, and the folder."""
    for path in sorted(folder.iterdir()):
        with path.open("r+b") as file:
            os.fsync(file.fileno())
    sync_folder(folder)


def put_folder(finished: Path, path: Path) -> None:
    """A folder whose files the disk has takes the place of another, or of none.

    Killed between the two renames, it is `path` with FORMER at its end that is still there.
    """
    former = path.with_name(path.name + FORMER)
    if path.exists():
        shutil.rmtree(former, ignore_errors=True)
        os.replace(path, former)
    os.replace(finished, path)
    sync_folder(path.parent)
    shutil.rmtree(former, ignore_errors=True)


def drop_folder(path: Path) -> None:
    """Remove a folder so that no half of it is ever found under its name."""
    former = path.with_name(path.name + FORMER)
    shutil.rmtree(former, ignore_errors=True)
    os.replace(path, former)
    shutil.rmtree(former, ignore_errors=True)


def name_file(error: OSError, path: Path) -> OSError:
    """The error, with the file that a user knows instead of none or a temporary one."""
    return OSError(error.errno, error.strerror or str(error), str(path))


def read_text(path: Path) -> str:
    """ValueError if it is not UTF-8, or too large to be what it is taken for."""
    size = path.stat().st_size
    if size > MOST_TEXT:
        raise ValueError(f"{path}: damaged ({size:,} bytes; at most {MOST_TEXT:,} make sense)")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: damaged (not UTF-8 at byte {error.start})") from None


def read_json(path: Path) -> Any:
    """ValueError, in one sentence, if it is not JSON."""
    try:
        return json.loads(read_text(path))
    except json.JSONDecodeError as error:
        said = f"no JSON: {error.msg}, line {error.lineno}"
        raise ValueError(f"{path}: damaged ({said})") from None
    except RecursionError:
        raise ValueError(f"{path}: damaged (nested too deeply)") from None

"""Atomic writing of files and folders, and careful reading of files from unknown sources."""

import errno
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TextIO

MOST_TEXT = 1 << 28  # bytes: the largest file without tensors that is read as a whole
MOST_VALUES = 1 << 23  # of JSON: an empty list is 2 bytes of text, and 60 in memory
MOST_TOML = 1 << 19  # bytes
# A key that is too long in parts: tomllib takes memory and time by the square of them.
PART = r"""(?:[\w-]{1,100}|"(?:[^"\\\n]|\\.){0,100}"|'[^'\n]{0,100}')[ \t]*\.[ \t]*"""
LONG_KEY = rf"(?<![\w-])(?:{PART}){{50}}"
FileStamp = tuple[int, int, int]
PARTIAL, FORMER = ".partial", ".former"
# The errors of systems that cannot sync a folder, and do not need to.
CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EBADF, errno.EACCES, errno.EPERM}
CACHE = "GLASSFORMER_CACHE"  # an environment variable: where the cache is kept instead


def find_cache() -> Path:
    """Return the cache folder of this system. RuntimeError if the home folder is unknown."""
    if chosen := os.environ.get(CACHE):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "glassformer"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "glassformer"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "glassformer"


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all, and wait until it is on the disk."""
    partial = path.with_name(path.name + PARTIAL)
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except OSError as error:
        with suppress(OSError):  # on a full disk this frees space
            partial.unlink(missing_ok=True)
        raise name_file(error, path) from None
    sync_folder(path.parent)


def write_text(path: Path, text: str) -> None:
    """Write a file of UTF-8, whole or not at all, and wait until it is on the disk."""
    write_bytes(path, text.encode())


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def sync_folder(folder: Path) -> None:
    """Wait until the list of files in a folder is on the disk; fsync of a file does not do this."""
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


def sync_file(path: Path) -> None:
    """Wait until what was written to a file is on the disk."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def sync_files(folder: Path) -> None:
    """Wait until every file of a folder, and the folder itself, is on the disk."""
    for path in sorted(folder.iterdir()):
        sync_file(path)
    sync_folder(folder)


def put_folder(finished: Path, path: Path) -> None:
    """Rename the folder `finished`, whose files are on the disk, to `path`, and replace that.

    If the process is killed between the two renames, the former folder is `path` + FORMER.
    """
    former = path.with_name(path.name + FORMER)
    if path.exists():
        _remove(former)
        os.replace(path, former)
    os.replace(finished, path)
    sync_folder(path.parent)
    _remove(former)


def check_new(path: Path, kind: str = "folder") -> None:
    """Raise ValueError if there is a file or a folder of this name already."""
    if path.exists():
        raise ValueError(f"{path} is there already: name a new {kind}")


@contextmanager
def prepare_beside(path: Path) -> Iterator[Path]:
    """Yield an empty folder beside `path` to prepare it in, and remove that folder afterwards."""
    scratch = path.with_name(path.name + PARTIAL)
    _remove(scratch)
    scratch.mkdir(parents=True)
    try:
        yield scratch
    finally:
        _remove(scratch)


def _remove(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as that is possible."""
    import shutil  # opening a model does not need it

    shutil.rmtree(folder, ignore_errors=True)


def drop_folder(path: Path) -> None:
    """Remove a folder; it is renamed first, so that no half of it is found under its name."""
    former = path.with_name(path.name + FORMER)
    _remove(former)
    os.replace(path, former)
    _remove(former)


def take_lock(file: IO[str]) -> bool:
    """Lock an open file and return whether that worked.

    The lock ends when the file is closed or when this process ends, even if it is killed.
    """
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            file.seek(1 << 30)  # a byte past the end, so other processes can read the text
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    except (BlockingIOError, PermissionError):
        return False
    return True


def is_still(path: Path, file: IO[str]) -> bool:
    """Return whether `path` still names the open file: it may have been renamed or removed."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def stamp_file(path: Path) -> FileStamp | None:
    """Return a stamp that changes when a file does; None if there is none."""
    try:
        result = path.stat()
    except OSError:
        return None
    return result.st_mtime_ns, result.st_size, result.st_ino


def open_alone(path: Path, *, keep: bool = False) -> TextIO:
    """Return a locked file to write text to, empty unless `keep`, when its end is written to.

    ValueError if another process holds it.
    """
    while True:
        file = path.open("a+", encoding="utf-8", newline="\n")
        if not take_lock(file):
            file.close()
            raise ValueError(f"{path} is being written by another process")
        if is_still(path, file):
            if not keep:
                file.seek(0)
                file.truncate()
            return file
        file.close()


def name_file(error: OSError, path: Path) -> OSError:
    """Return the error with the file that a user knows, instead of a temporary one or none."""
    return OSError(error.errno, error.strerror or str(error), str(path))


def check_file_size(path: Path) -> None:
    """Raise ValueError if a file is larger than MOST_TEXT, and so must be damaged."""
    size = path.stat().st_size
    if size > MOST_TEXT:
        raise ValueError(f"{path}: damaged ({size:,} bytes; at most {MOST_TEXT:,} make sense)")


def read_text(path: Path) -> str:
    """Return the text of a file. ValueError if it is no file, not UTF-8, or too large."""
    if path.exists() and not path.is_file():  # a pipe or a device would never end
        raise ValueError(f"{path} is no file")
    check_file_size(path)
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: damaged (not UTF-8 at byte {error.start})") from None


def read_json(path: Path) -> Any:
    """Return the value in a JSON file. ValueError, in one sentence, if it is not JSON."""
    text = read_text(path)
    if count_values(text) > MOST_VALUES:
        raise ValueError(f"{path}: damaged (more than {MOST_VALUES:,} values)")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        message = f"no JSON: {error.msg}, line {error.lineno}"
        raise ValueError(f"{path}: damaged ({message})") from None
    except RecursionError:
        raise ValueError(f"{path}: damaged (nested too deeply)") from None


def count_values(text: str) -> int:
    """Return about how many values a text of JSON has, if its texts have none of these."""
    return sum(map(text.count, ",[{"))


def read_toml(path: Path) -> dict[str, Any]:
    """Return the tables of a TOML file. ValueError, in one sentence, if it is not TOML of ours."""
    try:
        is_large = path.stat().st_size > MOST_TOML
        text = "" if is_large else path.read_text(encoding="utf-8")
        if is_large or re.search(LONG_KEY, text):
            raise ValueError("it is too large, or a key has too many parts")
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError(f"{path}: not a TOML file of ours: nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{path}: not a TOML file: {error}") from None

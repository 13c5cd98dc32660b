"""Input and output of the command line: lines, files, progress bars, warnings."""

import errno
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from ..data.files import STANDARD, count_lines, cut_lines, decode_lines, name_input, open_bytes
from ..foundation.disk import PARTIAL, name_file, open_alone
from ..foundation.plurals import tell_count
from ..foundation.progress import Reporter

CHUNK = 1000  # lines translated together, and kept in memory
FULL = (errno.ENOSPC, errno.EFBIG)  # errors when the disk is full or the file too large
VERSION = "--version"  # the option that prints it
INTERRUPTED = 130  # the exit code after Ctrl-C

# Half of a UTF-16 pair, as some programs write it; valid UTF-8 never has these bytes.
SURROGATE = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")


@contextmanager
def open_lines(path: Path) -> Iterator[Iterator[str]]:
    """Open a file, or the standard input if `path` is "-"; give its lines one by one."""
    with open_bytes(path) as stream:
        if path == STANDARD and sys.stdin.isatty():
            warn("type a line to translate it; Ctrl-D ends (Ctrl-Z and Enter on Windows)")
        lines = _replace_surrogates(cut_lines(stream, path))
        yield _drop_zeros(decode_lines(lines, name_input(path)))


def _replace_surrogates(stream: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the lines with U+FFFD for lone surrogates; at the end, warn how many there were."""
    replaced = 0
    for line in stream:
        line, here = SURROGATE.subn("\ufffd".encode(), line)
        replaced += here
        yield line
    if replaced:
        warn(f"{replaced:,} lone surrogates in the input, each replaced by U+FFFD")


def _drop_zeros(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines without NUL; at the end, warn how many there were."""
    dropped = 0
    for line in lines:
        dropped += line.count("\0")
        yield line.replace("\0", "")
    if dropped:
        warn(f"{tell_count(dropped, 'zero byte')} in the input left out: is it UTF-16?")


def read_typed(text: str | None) -> Iterator[str]:
    """Yield the text of the command line or, without one, each line of the standard input."""
    yield from [text] if text is not None else (line.rstrip("\n") for line in sys.stdin)


def count_if_file(path: Path) -> int | None:
    """Return the number of lines; None for a stream, which tells it only at its end."""
    return count_lines(path) if path.is_file() else None


def keep_apart(output: Path | None, *inputs: Path | None) -> None:
    """Raise ValueError if the output would overwrite an input.

    Raise it also if two inputs are the standard input.
    """
    if inputs.count(STANDARD) > 1:
        raise ValueError("- is the standard input: it can stand for one file only")
    for path in inputs:
        if output and path and output.is_file() and path.is_file() and output.samefile(path):
            raise ValueError(f"{output} is read here, and would be lost: name another file")


@contextmanager
def open_output(path: Path | None) -> Iterator[TextIO]:
    """Open the standard output, or a file that gets its name only once it is complete."""
    if path is None or path == STANDARD:
        if sys.__stdout__ is None:
            raise ValueError("the standard output is closed: name a file with --output")
        yield sys.stdout
        sys.stdout.flush()
        return
    is_file = path.is_file() or not path.exists()  # a pipe or /dev/null is written to directly
    place = path.with_name(path.name + PARTIAL) if is_file else path
    with name_full(place, path), _open_place(place, is_file) as file:
        yield file
        if is_file:
            put_in_place(file, place, path)


@contextmanager
def name_full(partial: Path, path: Path) -> Iterator[None]:
    """Let errors of an unfinished file, as of a full disk, name the file that the user knows."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL or error.filename == str(partial):
            raise name_file(error, path) from None
        raise


@contextmanager
def _open_place(place: Path, is_file: bool) -> Iterator[TextIO]:
    """Open a file to write to; ValueError if another process writes to it."""
    with open_alone(place) if is_file else place.open("w", encoding="utf-8", newline="\n") as file:
        try:
            yield file
        except BaseException:
            if is_file:
                _keep_if_any(file, place)
            raise


def put_in_place(file: TextIO, partial: Path, path: Path) -> None:
    """Give a complete file its name, after it is on disk and before its lock is released."""
    file.flush()
    os.fsync(file.fileno())
    if os.name != "posix":  # Windows does not rename an open file
        file.close()
    os.replace(partial, path)


def _keep_if_any(file: TextIO, partial: Path) -> None:
    """Keep the file after an error, unless it is empty: it may be hours of work."""
    with suppress(OSError, ValueError):  # the disk is full; or the file is closed and has its name
        file.flush()
        if os.fstat(file.fileno()).st_size:
            warn(f"what was done by then is in {partial}")
        else:
            partial.unlink(missing_ok=True)


@contextmanager
def show_progress(
    what: str, total: int | None = None, *, beside: TextIO | None = None
) -> Iterator[Callable[[int], None]]:
    """Show progress on stderr; give a function that takes how much more is done.

    There is no bar if `beside`, the output meanwhile, is the same terminal.
    """
    is_shared = beside is not None and beside.isatty() and sys.stderr.isatty()
    with Reporter(quiet=is_shared).counting(what, total) as tell:
        yield tell


def name_lines(lines: Sequence[int]) -> str:
    """Return, in words, the first of some lines, and how many more there are."""
    return f"line {lines[0]}" + (f", like {len(lines) - 1:,} more," if lines[1:] else "")


def to_json(value: Any) -> str:
    """Return a value as JSON on one line."""
    return json.dumps(value, ensure_ascii=False)


def warn(text: str) -> None:
    """Print a warning on stderr, and go on."""
    print(f"glassformer: {text}", file=sys.stderr)

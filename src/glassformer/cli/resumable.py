"""An output file that the same command, stopped and given again, goes on with where it was.

Beside the unfinished file OUT.partial stands OUT.partial.json: what the job was, how many lines of
its input are done, and how many bytes these gave. What a kill left after those bytes is cut off.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any, TextIO

from ..data.files import STANDARD, take_fingerprint
from ..foundation.disk import PARTIAL, open_alone, read_json, write_json
from ..foundation.plurals import tell_count
from .terminal import name_full, open_output, put_in_place, warn

EVERY = 1.0  # seconds between two notes of how much is done, at least
# Options that say nothing of what is written, or how fast.
APART = {"output", "overwrite", "workers", "threads", "ray_address", "document"}
FILES = ("file", "prefix_file", "glossary")
FOLDERS = ("model", "lm")
STATE = ".json"


class ResumableOutput:
    """An output, with the number of input lines whose output is written and known to be.

    A stream that cannot be gone on with has no `state`: then nothing is noted.
    """

    def __init__(
        self, file: TextIO, state: Path | None, job: Mapping[str, Any], lines: int
    ) -> None:
        self.file, self.state, self.job, self.lines = file, state, job, lines
        self.noted = monotonic()

    def keep(self, lines: int, *, now: bool = False) -> None:
        """Note that the output of so many input lines is written, unless that was a moment ago."""
        self.file.flush()
        if self.state is None or not (now or monotonic() - self.noted > EVERY):
            return
        os.fsync(self.file.fileno())
        size = os.fstat(self.file.fileno()).st_size
        write_json(self.state, {"job": self.job, "lines": lines, "bytes": size})
        self.lines, self.noted = lines, monotonic()


@contextmanager
def open_resumable(
    path: Path | None, job: Mapping[str, Any] | None, overwrite: bool
) -> Iterator[ResumableOutput]:
    """Open a file that gets its name once it is complete; it goes on with what `job` began.

    job: what the output depends on; None: it cannot be told. ValueError if an unfinished file is
    there that another job began, unless `overwrite`.
    """
    is_file = path is not None and path != STANDARD and (path.is_file() or not path.exists())
    if path is None or not is_file:
        with open_output(path) as stream:
            yield ResumableOutput(stream, None, {}, 0)
        return
    partial = path.with_name(path.name + PARTIAL)
    state = partial.with_name(partial.name + STATE)
    with name_full(partial, path), open_alone(partial, keep=True) as file:
        lines = 0 if overwrite else _go_on(file, partial, state, job)
        if not lines:
            file.truncate(0)
            state.unlink(missing_ok=True)
        output = ResumableOutput(file, state if job is not None else None, job or {}, lines)
        try:
            yield output
            put_in_place(file, partial, path)
            state.unlink(missing_ok=True)
        except BaseException as error:
            _leave(output, partial, isinstance(error, KeyboardInterrupt))
            raise


def _go_on(file: TextIO, partial: Path, state: Path, job: Mapping[str, Any] | None) -> int:
    """Cut an unfinished file after the lines that are known to be done; return their number."""
    size = os.fstat(file.fileno()).st_size
    if not size:
        return 0
    begun: dict[str, Any] = {}
    if state.is_file():
        with suppress(ValueError):
            begun = read_json(state)
    if job is None or begun.get("job") != job or not 0 <= begun.get("bytes", -1) <= size:
        raise ValueError(f"{partial} is there, {_compare(begun.get('job'), job)}: give --overwrite")
    file.truncate(begun["bytes"])
    file.seek(0, os.SEEK_END)
    return int(begun["lines"])


def _compare(begun: Any, job: Mapping[str, Any] | None) -> str:
    """Return, in words, why an unfinished output cannot be gone on with."""
    if job is None or not isinstance(begun, dict):
        return "unfinished, and nothing tells how to go on with it"
    others = [name for name in job if begun.get(name) != job[name]]
    return f"begun with another {', '.join(others) or 'command'}"


def _leave(output: ResumableOutput, partial: Path, is_stopped: bool) -> None:
    """Say what an error leaves behind: it may be hours of work.

    is_stopped: by its user, who is told of no error.
    """
    with suppress(OSError, ValueError):  # the disk is full; or the file is closed and has its name
        output.file.flush()
        if not os.fstat(output.file.fileno()).st_size:
            partial.unlink(missing_ok=True)
            if is_stopped:
                warn("stopped before anything was written")
        elif output.lines:
            done = tell_count(output.lines, "line")
            warn(f"{done} done by then: the same command goes on from there ({partial})")
        else:
            warn(f"what was done by then is in {partial}")


def describe_job(options: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the output depends on: options, and SHA-256 of files and models; None: unknown.

    The standard input cannot be read again, so that nothing can be gone on with.
    """
    if options["file"] == STANDARD or not options["file"].is_file():
        return None
    from ..foundation.version import __version__
    from ..model.files.directory import LATER, locate
    from ..train.publish.card import HASHED

    job: dict[str, Any] = {"glassformer": __version__}
    for name, value in sorted(options.items()):
        if name not in APART and value is not None:
            job[name] = [*map(str, value)] if isinstance(value, list) else _plain(value)
    paths = [options[name] for name in FILES if options.get(name)]
    models = [options[name] for name in FOLDERS if options.get(name)] + [
        *(options.get("ensemble") or ())
    ]
    paths += [locate(model) / name for model in models for name in (*HASHED, *LATER)]
    job["contents"] = [take_fingerprint(path).sha256 for path in paths if path.is_file()]
    return job


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else str(value)


def say_where(lines: int) -> None:
    """Say that a command goes on, and after how many lines."""
    if lines:
        print(f"goes on after {tell_count(lines, 'line')} that were done already", file=sys.stderr)

"""The lock that allows one training a folder; the system releases it when the process ends."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from ..disk import is_still, take_lock

LOCK = "lock"  # the file, which names the process that holds the lock


@contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder`, which is made if need be. ValueError if another process holds it.

    In a distributed training, the first process holds the lock for all.
    """
    if int(os.environ.get("RANK") or 0) > 0:
        yield
        return
    made = [each for each in (folder, folder.parent) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    file = _open(folder / LOCK)
    try:
        yield
    finally:
        _give_back(folder / LOCK, file)
        for each in made:
            with suppress(OSError):  # it is no longer empty
                each.rmdir()


def _open(path: Path) -> IO[str]:
    while True:
        file = path.open("a+", encoding="utf-8")
        if not take_lock(file):
            holder = _read(file)
            file.close()
            raise ValueError(f"{path.parent.parent} is being trained already, by {holder}")
        if is_still(path, file):
            file.truncate(0)
            file.write(f"process {os.getpid()} on {platform.node()}\n")
            file.flush()
            return file
        file.close()  # the process that had the lock has just removed the file


def _read(file: IO[str]) -> str:
    file.seek(0)
    return file.read(200).strip() or "another process"


def _give_back(path: Path, file: IO[str]) -> None:
    if os.name == "posix":
        path.unlink(missing_ok=True)  # while we hold it: later it may be another process's
        file.close()
    else:  # an open file cannot be removed
        file.close()
        with suppress(OSError):
            path.unlink(missing_ok=True)

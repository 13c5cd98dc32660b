"""A training asks this of the system: the lock of its folder, its signals, a limit of memory."""

import os
import platform
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import IO

import torch

from ...foundation.disk import is_still, take_lock
from ...foundation.machine.properties import GIB, measure_memory
from ...model.files.directory import LOCK

HANGUP = getattr(signal, "SIGHUP", None)  # Windows has none


@contextmanager
def hold_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder`, which is made if need be. ValueError if another process holds it.

    In a distributed training, the first process holds the lock for all.
    """
    if int(os.environ.get("RANK") or 0) > 0:
        yield
        return
    results = [each for each in (folder, folder.parent) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    file = _open(folder / LOCK)
    try:
        yield
    finally:
        _give_back(folder / LOCK, file)
        for each in results:
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


@contextmanager
def listen_for_stop(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` at the first Ctrl-C, SIGTERM or SIGHUP during the body; a second one ends it.

    SIGHUP says that the terminal was closed; below nohup it is ignored. Outside the main thread, do
    nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def answer(number: int, frame: FrameType | None) -> None:
        for each in former:
            is_key = each == signal.SIGINT
            signal.signal(each, signal.default_int_handler if is_key else signal.SIG_DFL)
        stop()  # with those handlers set: a second signal, even during this, ends the training

    heard = [signal.SIGINT, signal.SIGTERM]
    if HANGUP and signal.getsignal(HANGUP) != signal.SIG_IGN:
        heard.append(HANGUP)
    former = {each: signal.signal(each, answer) for each in heard}
    try:
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)


@contextmanager
def repeat_bits(is_wanted: bool) -> Iterator[None]:
    """Let a GPU compute the same bits each time during the body, if that is wanted.

    PyTorch then raises an error where it has no such algorithm. Processors always do.
    """
    if not is_wanted:
        yield
        return
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when cuBLAS is first used
    was = torch.are_deterministic_algorithms_enabled(), torch.backends.cudnn.benchmark
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(was[0])
        torch.backends.cudnn.benchmark = was[1]


@contextmanager
def limit_memory(device: torch.device, processes: int = 1) -> Iterator[None]:
    """Limit the memory of this process, so that running out of it raises an error.

    Otherwise the system would kill the process, and no smaller batch could be tried. This works
    for CPUs on Linux; `processes` share the memory of the machine.
    """
    most = measure_memory()
    if most is None or sys.platform != "linux" or device.type != "cpu":
        yield
        return
    import resource

    # The limit counts allocated memory, used or not: threads have allocated stacks.
    pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()
    unused = max(0, int(pages[5]) - int(pages[1])) * resource.getpagesize()
    share = int(most * GIB) // processes + unused
    now, highest = resource.getrlimit(resource.RLIMIT_DATA)
    if now == resource.RLIM_INFINITY or share < now:
        resource.setrlimit(resource.RLIMIT_DATA, (share, highest))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (now, highest))

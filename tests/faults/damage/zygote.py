"""A process that has imported everything and forks a new one for each command that it is given.

Requests are lines of JSON on the standard input; the answers are lines of JSON on the output: the
process id at once, what is happening inside it, and how it ended. A fork is a process of its own
with its own death; what it saves is the seconds in which Python imports torch.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

TOLD = {  # what is told about while it happens
    "save": ("glassformer.train.run.checkpoint", "save_checkpoint"),
    "store": ("glassformer.data.store", "build_mixed_store"),
    "validate": ("glassformer.train.run.validation", "validate"),
    "model": ("glassformer.model.files.directory", "save_model"),
}


def tell(**what: Any) -> None:
    os.write(3, (json.dumps(what) + "\n").encode())


def announce(name: str, module: str, function: str) -> None:
    """Tell when a function begins, under whatever names modules have it."""
    inner: Callable[..., Any] = getattr(import_module(module), function)

    def outer(*given: Any, **named: Any) -> Any:
        tell(begins=name)
        return inner(*given, **named)

    for each in [it for at, it in sys.modules.items() if at.startswith("glassformer.")]:
        for attribute, value in list(vars(each).items()):
            if value is inner:
                setattr(each, attribute, outer)


def count_calls(limit: int | None, path: str | None) -> None:
    """Write down each file-system call; die right after number `limit`."""
    from damage import recording

    log: list[Any] = []

    def note(*call: Any) -> None:
        log.append(call)
        if len(log) == limit:
            os.kill(os.getpid(), signal.SIGKILL)

    root = os.path.realpath(path or ".")
    recording.install(note, root)


def refuse_pickle(event: str, given: Any) -> None:
    if event.startswith("pickle."):
        raise AssertionError(f"{event} {given}")


def become(request: dict[str, Any]) -> None:
    """The forked process: run one command line and end."""
    from glassformer.cli import main

    os.fsync = lambda fd: None  # as in tests/conftest.py; what counts calls counts this one too
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    out = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(out, stream)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for name in request.get("tell", ()):
        announce(name, *TOLD[name])
    if request.get("refuse_pickle"):
        sys.addaudithook(refuse_pickle)
    if limit := request.get("largest_file"):
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    if request.get("die_after"):
        count_calls(request["die_after"], request["within"])
    tell(runs=True)
    code = main(request["argv"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def serve() -> None:
    import torch

    import glassformer.train.start  # noqa: F401
    from glassformer.cli.verbs import make_verb
    from glassformer.extensions.check_data.characters import word_table

    word_table()
    make_verb("train").make_context("train", ["--resume", "."])
    with suppress(ImportError):
        import torch.utils.tensorboard
    torch.set_num_threads(1)
    gc.freeze()  # no training has to look through what is imported here
    tell(ready=True)
    for line in iter(sys.stdin.readline, ""):
        request = json.loads(line)
        began = time.monotonic()
        pid = os.fork()
        if pid == 0:
            become(request)
        tell(pid=pid)
        _, status = os.waitpid(pid, 0)
        ended = {"code": os.waitstatus_to_exitcode(status), "seconds": time.monotonic() - began}
        tell(ended=ended)


if __name__ == "__main__":
    os.dup2(1, 3)  # the answers; what the commands print goes elsewhere
    assert threading.active_count() == 1
    serve()

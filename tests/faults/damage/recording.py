"""Every call that changes the file system below a folder, noted as it happens.

Calls: ("mkdir", path), ("open", path, truncates), ("write", path, offset, bytes), ("fsync", path),
("rename", path, path), ("unlink", path), ("rmdir", path). A write of more than SHORT bytes is made
in two, as a system may make it.
"""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable
from typing import Any

SHORT = 512
Note = Callable[..., None]


class _File(io.FileIO):
    """A file that notes what is written, without a buffer."""

    def __init__(self, path: str, mode: str, note: Note) -> None:
        super().__init__(path, mode)
        self.path, self.note = path, note
        if mode[0] in "wax":
            note("open", path, mode[0] == "w")

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        if len(view) > SHORT:
            view = view[: len(view) // 2]
        offset = self.seek(0, 2) if "a" in self.mode else self.tell()
        done = super().write(view)
        self.note("write", self.path, offset, bytes(view[:done]))
        return done


def install(note: Note, root: str) -> Callable[[], None]:
    """Begin; what is returned ends it."""
    opened: dict[int, str] = {}  # descriptors of folders and of files that Python opened
    names = ("open", "close", "fsync", "replace", "rename", "mkdir", "unlink", "remove", "rmdir")
    real = {name: getattr(os, name) for name in names}
    real_open = builtins.open

    def resolve(path: Any, dir_fd: int | None = None) -> str:
        above = "" if dir_fd is None else opened.get(dir_fd, "")
        return os.path.abspath(os.path.join(above, os.fspath(path)))

    def is_ours(path: str) -> bool:
        return path.startswith(root)

    def open_(file: Any, mode: str = "r", buffering: int = -1, *rest: Any, **named: Any) -> Any:
        changes = set(mode) & set("wax+")
        if not changes or not isinstance(file, str | os.PathLike) or not is_ours(resolve(file)):
            return real_open(file, mode, buffering, *rest, **named)
        path = resolve(file)
        raw = _File(path, mode.replace("t", "").replace("b", ""), note)
        opened[raw.fileno()] = path
        whole = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        if "b" in mode:
            return whole
        named.pop("closefd", None), named.pop("opener", None)
        return io.TextIOWrapper(whole, *rest, **named)

    def os_open(path: Any, flags: int, *rest: Any, dir_fd: int | None = None, **named: Any) -> int:
        found = real["open"](path, flags, *rest, dir_fd=dir_fd, **named)
        opened[found] = resolve(path, dir_fd)
        return found

    def close(descriptor: int) -> None:
        opened.pop(descriptor, None)
        real["close"](descriptor)

    def fsync(descriptor: Any) -> None:
        real["fsync"](descriptor)
        number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
        if is_ours(path := opened.get(number, "")):
            note("fsync", path)

    def two(name: str) -> Callable[..., None]:
        def move(source: Any, target: Any, **named: Any) -> None:
            real[name](source, target, **named)
            if is_ours(resolve(target)):
                note("rename", resolve(source), resolve(target))

        return move

    def one(name: str, said: str) -> Callable[..., None]:
        def change(path: Any, *rest: Any, dir_fd: int | None = None) -> None:
            real[name](path, *rest, dir_fd=dir_fd)
            if is_ours(found := resolve(path, dir_fd)):
                note(said, found)

        return change

    patched = {
        "open": os_open,
        "close": close,
        "fsync": fsync,
        "replace": two("replace"),
        "rename": two("rename"),
        "mkdir": one("mkdir", "mkdir"),
        "unlink": one("unlink", "unlink"),
        "remove": one("remove", "unlink"),
        "rmdir": one("rmdir", "rmdir"),
    }
    for name, function in patched.items():
        setattr(os, name, function)
    builtins.open = io.open = open_  # type: ignore[assignment]

    def end() -> None:
        for name, function in real.items():
            setattr(os, name, function)
        builtins.open = io.open = real_open

    return end

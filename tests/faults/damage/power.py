"""What a disk may hold when the power goes.

A file holds what was synced, and of the rest nothing, a part, or zeros. A folder holds what it held
when it was synced, and of the changes since then the first few: each folder for itself, for nothing
says in which order two folders reach the disk. Syncing a file does not sync its folder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

Call = tuple[Any, ...]
Change = dict[str, "Node | None"]  # names of a folder that come, or go
RANDOM = 3  # layouts by chance for each prefix


class Node:
    """A file, or a folder; as it is, and as the disk surely has it."""

    def __init__(self, is_folder: bool) -> None:
        self.is_folder = is_folder
        self.names: dict[str, Node] = {}
        self.synced_names: dict[str, Node] = {}
        self.changes: list[Change] = []  # since then
        self.data, self.synced = b"", b""

    def change(self, change: Change) -> None:
        apply(self.names, change)
        self.changes.append(change)

    def sync(self) -> None:
        self.synced, self.synced_names, self.changes = self.data, dict(self.names), []


def apply(names: dict[str, Node], change: Change) -> None:
    for name, node in change.items():
        if node is None:
            names.pop(name, None)
        else:
            names[name] = node


def read_tree(folder: Path) -> Node:
    """A folder whose disk has all of it."""
    node = Node(True)
    for path in folder.iterdir():
        if path.is_dir():
            node.names[path.name] = read_tree(path)
        else:
            node.names[path.name] = child = Node(False)
            child.data = child.synced = path.read_bytes()
    node.sync()
    return node


def replay(root: Node, top: Path, call: Call) -> None:
    kind, path, *more = call
    *above, name = Path(path).relative_to(top).parts or ("",)
    folder = root
    for part in above:
        folder = folder.names[part]
    if kind == "mkdir":
        folder.change({name: Node(True)})
    elif kind == "open":
        if name not in folder.names:
            folder.change({name: Node(False)})
        elif more[0]:
            folder.names[name].data = b""
    elif kind == "write":
        node, (offset, data) = folder.names[name], more
        node.data = node.data[:offset].ljust(offset, b"\0") + data + node.data[offset + len(data) :]
    elif kind == "fsync":
        (folder.names[name] if name else folder).sync()
    elif kind == "rename":
        assert Path(more[0]).parent == Path(path).parent, "a rename within one folder is atomic"
        folder.change({name: None, Path(more[0]).name: folder.names[name]})
    else:
        folder.change({name: None})


Names = Callable[[Node], dict[str, Node]]
Data = Callable[[Node], bytes]


def keep_changes(count: int | None) -> Names:
    """The first few changes of every folder; None: all."""

    def names(node: Node) -> dict[str, Node]:
        kept = dict(node.synced_names)
        for change in node.changes[:count]:
            apply(kept, change)
        return kept

    return names


def tear(node: Node) -> bytes:
    return node.data[: (len(node.synced) + len(node.data)) // 2]


def fill(node: Node) -> bytes:
    """The right length, and zeros where nothing was synced."""
    return node.synced[: len(node.data)].ljust(len(node.data), b"\0")


def layouts(random: Random) -> Iterator[tuple[Names, Data]]:
    yield keep_changes(0), lambda node: node.synced
    yield keep_changes(None), lambda node: node.synced
    yield keep_changes(None), tear
    yield keep_changes(None), fill
    for _ in range(RANDOM):
        yield (
            lambda node: keep_changes(random.randint(0, len(node.changes)))(node),
            lambda node: random.choice([node.data, node.synced, tear(node), fill(node)]),
        )


def lay_out(node: Node, names: Names, data: Data) -> dict[str, bytes | None]:
    """Paths to what is there; None for a folder."""
    found: dict[str, bytes | None] = {}
    for name, child in names(node).items():
        if child.is_folder:
            found[name] = None
            for below, held in lay_out(child, names, data).items():
                found[f"{name}/{below}"] = held
        else:
            found[name] = data(child)
    return found


def write_tree(found: dict[str, bytes | None], top: Path) -> None:
    top.mkdir(parents=True)
    for name, data in found.items():
        if data is None:
            (top / name).mkdir(parents=True, exist_ok=True)
        else:
            (top / name).write_bytes(data)


def states(
    before: Node, top: Path, calls: Sequence[Call], seed: int = 0
) -> Iterator[tuple[int, dict[str, bytes | None]]]:
    """After each prefix of the calls, each different thing that the disk may hold."""
    random, seen = Random(seed), set[str]()
    for done in range(len(calls) + 1):
        if done:
            replay(before, top, calls[done - 1])
        for names, data in layouts(random):
            found = lay_out(before, names, data)
            key = hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()
            if key not in seen:
                seen.add(key)
                yield done, found

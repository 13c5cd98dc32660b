"""A file of text in shards of whole lines, each made apart, and joined in order at the end.

Finished shards are kept: work that was stopped goes on with those that are missing.
"""

import io
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, tee
from pathlib import Path
from typing import Any

from glassformer.data.files import decode_lines
from glassformer.foundation.disk import write_text
from glassformer.foundation.typed_json import read_typed

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Shard:
    """A range of lines of a file; `first` counts from 0, `start` and `stop` are in bytes."""

    number: int
    first: int
    lines: int
    start: int
    stop: int


def cut_file(source: Path, lines: int) -> Iterator[Shard]:
    """Yield the shards of a file. ValueError, naming the line, if it is not UTF-8, or for a .gz."""
    if source.suffix == ".gz":
        raise ValueError(f"{source}: shards cannot be cut out of a .gz file; unpack it first")
    number = first = start = stop = count = 0
    with source.open("rb") as file:
        raws, same = tee(file)
        for raw, _ in zip(raws, decode_lines(same, str(source)), strict=True):
            stop, count = stop + len(raw), count + 1
            if count == lines:
                yield Shard(number, first, count, start, stop)
                number, first, start, count = number + 1, first + count, stop, 0
    if count:
        yield Shard(number, first, count, start, stop)


def read_shard(source: Path, shard: Shard) -> list[str]:
    with source.open("rb") as file:
        file.seek(shard.start)
        raws = io.BytesIO(file.read(shard.stop - shard.start))
    before = [b"\n"] if shard.first else []  # only the first line of a file may have a BOM
    return list(decode_lines(chain(before, raws), str(source)))[len(before) :]


def begin_parts(parts: Path, requested: dict[str, Any], advice: str = "delete it") -> None:
    """Make the folder of the parts of a job; what is wanted stands in its manifest.

    Raises ValueError if it is there, and was made for another job.
    """
    manifest = parts / MANIFEST
    if not manifest.is_file():
        parts.mkdir(parents=True, exist_ok=True)
        write_text(manifest, json.dumps(requested, indent=1) + "\n")
        return
    begun = read_typed(manifest, dict[str, Any])
    if other := [name for name in requested if begun.get(name) != requested[name]]:
        raise ValueError(
            f"{parts} was begun with another {', '.join(other)}: go on so, or {advice}"
        )


def name_shard(parts: Path, shard: Shard) -> Path:
    """Return the file that a finished shard is written to."""
    return parts / f"{shard.number:08d}"


def join_shards(parts: Path, shards: list[Shard], out: Path) -> None:
    """Join the translated shards in order into `out`, and remove them."""
    partial = out.with_name(f"{out.name}.partial")
    with partial.open("wb") as whole:
        for shard in shards:
            with name_shard(parts, shard).open("rb") as part:
                shutil.copyfileobj(part, whole, 1 << 20)
        whole.flush()
        os.fsync(whole.fileno())
    os.replace(partial, out)
    shutil.rmtree(parts)

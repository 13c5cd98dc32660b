"""A model as one zip file: packed, and unpacked without trusting it.

Only files that a model directory has are taken out, by their plain names; there is no program and
no pickle among them. Nothing is unpacked before the sum of the whole file is right.
"""

from __future__ import annotations

import hashlib
import shutil
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO

from glassformer.extensions.publish.publishing import PUBLISHED
from glassformer.foundation.disk import check_new, prepare_beside, put_folder, sync_files
from glassformer.model.files.directory import WEIGHTS, locate, open_model

from .index import NAME, ListedModel, Read, open_file, read_languages, write_index

README = "README.md"
TAKEN = frozenset({*PUBLISHED, README})
CHUNK = 1 << 20  # bytes that are copied at once
ALWAYS = (1980, 1, 1, 0, 0, 0)  # the same model gives the same file
DAMAGED = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError)
Tell = Callable[[int], object]


def pack(model: Path | str, place: Path) -> ListedModel:
    """Write a model as a zip file into a folder, list it there, and return the entry.

    ValueError for what `fetch` would refuse.
    """
    folder = locate(model)
    config, name = open_model(folder)[0], folder.resolve().name
    if config.model.plugin:
        raise ValueError(f"{folder}: its network is a program of its own (model.plugin)")
    if not NAME.fullmatch(f"{name}.zip"):
        raise ValueError(
            f"{folder}: the name of a folder to be packed is at most 96 letters, digits, hyphens, "
            "dots and underscores: rename it"
        )
    place.mkdir(parents=True, exist_ok=True)
    path, files = place / f"{name}.zip", sorted(each for each in TAKEN if (folder / each).is_file())
    partial = path.with_name(f"{path.name}.partial")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for each in files:
                written = zipfile.ZipInfo(each, ALWAYS)
                written.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(written, (folder / each).read_bytes())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    with path.open("rb") as file:
        total = hashlib.file_digest(file, "sha256").hexdigest()
    unpacked = sum((folder / each).stat().st_size for each in files)
    entry = ListedModel(
        name, path.name, total, path.stat().st_size, unpacked, read_languages(folder)
    )
    write_index(place, entry)
    return entry


def fetch(place: str, entry: ListedModel, home: Path, tell: Tell = lambda _: None) -> Path:
    """Return the folder of a model that a place has, which is new in `home`.

    ValueError if it is there already, if the file is not what the index says, or if it is no model.
    """
    folder = home / entry.name
    check_new(folder)
    with prepare_beside(folder) as scratch:
        whole = scratch / "model"
        whole.mkdir()
        path = scratch / "archive"
        with open_file(place, entry.file) as read, path.open("wb") as target:
            _copy(read, target, entry, tell)
        try:
            unpack(path, entry, whole)
            _check(whole)
        except (ValueError, FileNotFoundError, *DAMAGED) as error:
            raise ValueError(f"{entry.file} of {place} is no model: {error}") from None
        sync_files(whole)
        put_folder(whole, folder)
    return folder


def _check(folder: Path) -> None:
    """Raise ValueError if a folder is no model, or one that needs somebody's program."""
    if open_model(folder)[0].model.plugin:
        raise ValueError("its network is a program of its own (model.plugin)")


def _copy(read: Read, target: IO[bytes], entry: ListedModel, tell: Tell) -> None:
    """Copy a file, not a byte more than it is to have. ValueError if it is another one."""
    result, count = hashlib.sha256(), 0
    while chunk := read(min(CHUNK, entry.bytes + 1 - count)):
        count += len(chunk)
        result.update(chunk)
        target.write(chunk)
        tell(len(chunk))
    if count != entry.bytes or result.hexdigest() != entry.sha256:
        raise ValueError(
            f"{entry.file} is damaged, or was changed: its SHA-256 is not that of the list"
        )


def unpack(path: Path, entry: ListedModel, folder: Path) -> None:
    """Take the files of a model out of a zip file; ValueError for any other, or for more bytes."""
    left = entry.unpacked
    with zipfile.ZipFile(path) as archive:
        names = [each.filename for each in archive.infolist()]
        if odd := [name for name in names if name not in TAKEN]:
            raise ValueError(f"{odd[0]!r} is no file of a model")
        if len(set(names)) < len(names) or WEIGHTS not in names:
            raise ValueError(f"it has {WEIGHTS} not at all, or a file twice")
        for name in names:
            with archive.open(name) as source, (folder / name).open("wb") as target:
                while chunk := source.read(min(CHUNK, left + 1)):
                    left -= len(chunk)
                    if left < 0:
                        raise ValueError("it holds more bytes than it says")
                    target.write(chunk)
    if left:
        raise ValueError("it holds fewer bytes than it says")


def remove(name: str, home: Path) -> Path:
    """Remove a model that was fetched; ValueError if there is none of this name."""
    folder = home / name
    if not NAME.fullmatch(name) or not (folder / WEIGHTS).is_file():
        raise ValueError(f"{name} is none of the models that were fetched into {home}")
    shutil.rmtree(folder)
    return folder

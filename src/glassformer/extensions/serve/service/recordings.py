"""Recorded translations: in memory, up to a number of bytes, and as single files."""

import ctypes
import io
import secrets
import tempfile
import threading
import zipfile
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from glassformer.foundation.disk import count_values
from glassformer.see import Trace
from glassformer.see.document import LEVELS
from glassformer.see.files import HEAD, PARAMETERS, VOCABULARY

from ..api_error import ApiError

DESCRIBED = 4096  # bytes of tokens, equations and names for each tensor, measured
TRIMMED = 32 << 20  # bytes of dropped recordings after which memory is given back
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What an upload may have: a sentence of 500 tokens needs 60,000 values with a beam of 5.
VALUES = {HEAD: 500_000, VOCABULARY: 1_000_000}  # of JSON
DESCRIPTION = 16 << 20  # bytes of a file of JSON
TENSOR_NAMES = 4 << 20  # bytes at the begin of a file of tensors
FILES = {HEAD, PARAMETERS, VOCABULARY, *(f"{level}.safetensors" for level in LEVELS)}


@dataclass(frozen=True)
class Recording:
    trace: Trace
    model: str | None = None  # None: it was uploaded
    request: dict[str, Any] = field(default_factory=dict)  # the request that made it, without edits
    base: str | None = None  # the id of the unedited one
    id: str = field(default_factory=lambda: secrets.token_hex(8))

    def describe(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "model": self.model,
            "base": self.base,
            "text": self.trace.text,
            "translation": self.trace.translation,
            "level": self.trace.level,
            "edits": list(self.trace.edits),
            "bytes": self.trace.size,
        }


class Recordings:
    """A cache of recordings with at most `most` bytes, all that they take in memory counted.

    The least recently used are dropped first; one recording is always kept.
    """

    def __init__(self, most: int) -> None:
        self.most, self._dropped = most, 0
        self._kept: OrderedDict[str, Recording] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, recording: Recording) -> Recording:
        with self._lock:
            self._kept[recording.id] = recording
        self.make_room()
        return recording

    def find(self, id: str) -> Recording:
        self.make_room()
        with self._lock:
            if id not in self._kept:
                raise ApiError(404, f"there is no recording {id} any more: record it again")
            self._kept.move_to_end(id)
            return self._kept[id]

    def remove(self, id: str) -> None:
        self.find(id)
        with self._lock:
            self._kept.pop(id, None)

    def list(self) -> list[Recording]:
        """Return the recordings, the last used first."""
        with self._lock:
            return [*reversed(self._kept.values())]

    @property
    def size(self) -> int:
        """Return the bytes that all recordings take."""
        return sum(map(weigh, self.list()))

    def make_room(self) -> None:
        """Drop recordings until the rest fits; tensors derived since count too."""
        with self._lock:
            total = sum(map(weigh, self._kept.values()))
            while total > self.most and len(self._kept) > 1:
                _, old = self._kept.popitem(last=False)
                total -= weigh(old)
                self._dropped += weigh(old)
            is_much = self._dropped > TRIMMED
            if is_much:
                self._dropped = 0
        if is_much:
            give_back_memory()


def weigh(recording: Recording) -> int:
    """Return the bytes of a recording: its tensors, and the objects that describe them."""
    return recording.trace.size + DESCRIBED * len(recording.trace.tensors)


def give_back_memory() -> None:
    """Return freed memory to the system: glibc keeps what many small tensors leave behind."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def write_archive(trace: Trace, compact: bool, parameters: bool) -> bytes:
    """Return a recording as a file: its folder, zipped without compression."""
    buffer = io.BytesIO()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "trace"
        trace.save(folder, compact=compact, parameters=parameters)
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, path.name)
    return buffer.getvalue()


def read_archive(data: bytes, most: int) -> Trace:
    """Return the recording in a zip; other files in it are ignored.

    Raises ApiError if it is no recording, or has more than `most` bytes.
    """
    with tempfile.TemporaryDirectory() as place:
        try:
            _unpack(data, Path(place), most)
            return Trace.load(place)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
            raise ApiError(400, f"this is no zip of a recording: {error}") from None
        except (ValueError, OSError) as error:
            raise ApiError(400, str(error).replace(f"{place}/", "").replace(place, "it")) from None


def _unpack(data: bytes, folder: Path, most: int) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for entry in archive.infolist():
            name = Path(entry.filename).name
            if name not in FILES or entry.is_dir():
                continue
            most -= entry.file_size
            if most < 0:
                raise ApiError(413, "the recording is too large")
            if entry.compress_type not in METHODS:
                raise ApiError(400, f"{name} is packed in an unusual way")
            with archive.open(entry) as packed:
                unpacked = packed.read(entry.file_size)
            _check_description(unpacked, name)
            (folder / name).write_bytes(unpacked)


def _check_description(data: bytes, name: str) -> None:
    """Raise ApiError if a file says more of its tensors than any recording has.

    Read, it would take a hundred times its size.
    """
    is_large = int.from_bytes(data[:8], "little") > TENSOR_NAMES
    if most := VALUES.get(name):
        is_large = len(data) > DESCRIPTION or count_values(data.decode("latin-1")) > most
    if is_large:
        raise ApiError(413, f"the recording is too large: {name} describes too much")

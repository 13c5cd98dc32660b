"""A weights file: mapped into memory once, and checked before it is used.

Beside the weights stand notes, and aliases: further names of tied weights, which are stored once.
A matrix of int8 numbers has a scale for each row: see `int8`. NumPy is imported only where values
are read as numbers: opening a model does not need it.
"""

from __future__ import annotations

import ctypes
import json
import math
import mmap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...foundation.compatibility.former_names import rename_tensor
from ...foundation.typed_json import check_type

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NOTES, ALIASES = "notes", "aliases"  # what is written beside the weights
SCALE = ".scale"  # ends the name of the scales of an int8 matrix
# The types of numbers, as safetensors names them; NumPy has no bf16.
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "BOOL": "?"}
DTYPES |= {f"{sign}{8 * n}": f"<{sign.lower()}{n}" for sign in "IU" for n in (1, 2, 4, 8)}
# All bits of the exponent are 1 in a number that is not finite. Here they are by byte, the last
# one, with the sign, first.
EXPONENTS = {"F32": (0x7F, 0x80), "F16": (0x7C,), "BF16": (0x7F, 0x80)}
LONGEST_HEADER = 100_000_000  # bytes, as safetensors has it
CHECKED = 1 << 18  # bytes checked at once
MAPPED = 1 << 24  # bytes that are read before the system is told that they are not needed again

Shapes = Mapping[str, tuple[int, ...]]


class LyingFileError(Exception):
    """Says that what a file tells of itself is not so."""


class StoredTensor(NamedTuple):
    """A tensor as a file has it."""

    type: str  # a key of DTYPES
    shape: tuple[int, ...]
    buffer: memoryview  # its bytes, a view of the file
    scale: StoredTensor | None = None  # of each row; int8 only

    @property
    def data(self) -> NDArray[Any]:
        """Return the values as an array that shares their memory, bf16 as 16-bit integers."""
        import numpy as np

        return np.frombuffer(self.buffer.toreadonly(), DTYPES[self.type]).reshape(self.shape)

    @property
    def address(self) -> int | None:
        """Return where the values lie; None if there are none."""
        if not self.buffer:
            return None
        return ctypes.addressof(ctypes.c_char.from_buffer(self.buffer))

    def to_fp32(self) -> NDArray[np.float32]:
        """Return a copy of the values in fp32."""
        values = self.data
        if self.scale is not None:
            return values.astype("f4") * self.scale.data[:, None]
        if self.type == "BF16":
            return (values.astype("u4") << 16).view("f4")
        return values.astype("f4")

    def is_finite(self) -> bool:
        """Return whether no value is NaN or infinite."""
        if self.scale is not None:
            return self.scale.is_finite()
        exponent, size = EXPONENTS[self.type], int(self.type[-2:]) // 8
        for start in range(0, len(self.buffer), CHECKED):
            part = bytes(self.buffer[start : start + CHECKED])
            suspects = part[size - 1 :: size].translate(_mark(exponent[0]))
            if 1 not in suspects:  # nearly always: a number of 2 to the power 127 has that byte too
                continue
            lower = [part[size - 2 :: size].translate(_mark(bits)) for bits in exponent[1:]]
            if 1 in map(min, zip(suspects, *lower, strict=True)):
                return False
        return True


@cache
def _mark(bits: int) -> bytes:
    """Return the table that maps a byte to 1 if it has all these bits, else to 0."""
    return bytes(byte & bits == bits for byte in range(256))


class WeightsFile:
    """The weights of a file by name, a tied one under each of its names.

    The file stays mapped as long as this object or a tensor of it is in use; if it is replaced
    meanwhile, what was opened can still be read. Written over in place, a mapped file changes too,
    and cut short, it ends the process (SIGBUS): a server reads it `in_memory`.
    """

    def __init__(self, path: Path, *, in_memory: bool = False):
        """Map the file, or copy it. ValueError, in one sentence, if it is damaged."""
        self.path, self.in_memory = path, in_memory
        with explain_damage(path):
            if not path.stat().st_size:
                raise LyingFileError("it is empty")
            self._map = _copy_file(path) if in_memory else _map_file(path)
            header = _read_header(self._map)
            self.notes, aliases = _read_metadata(path, header.pop("__metadata__", None))
            begin = 8 + int.from_bytes(self._map[:8], "little")
            self.stored = _join_scales(path, dict(_list_tensors(header, self._map, begin)))
            self.tensors = self.stored | {
                rename_tensor(name): self.stored[rename_tensor(other)]
                for name, other in aliases.items()
            }

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {name: each.shape for name, each in self.tensors.items()}

    @property
    def parameters(self) -> int:
        """Return the number of weights, tied ones counted once."""
        return sum(math.prod(each.shape) for each in self.stored.values())

    @property
    def is_int8(self) -> bool:
        """Return whether all matrices are stored in int8."""
        return all(each.type == "I8" for each in self.stored.values() if len(each.shape) == 2)

    def __getitem__(self, name: str) -> StoredTensor:
        """Return a tensor. ValueError if there is none of that name."""
        with explain_damage(self.path):
            return self.tensors[name]

    def check_shapes(self, shapes: Shapes) -> None:
        """Raise ValueError unless the file has exactly these names and shapes, in a type known."""
        if self.shapes != shapes:
            raise ValueError(f"{self.path}: {_tell_difference(self.shapes, shapes)}")
        for name, each in self.stored.items():
            if each.type not in EXPONENTS and each.scale is None:
                known = "not fp32, fp16, or int8 with scales"
                raise ValueError(f"{self.path}: {name} is of {each.type}, {known}")

    def check_finite(self) -> None:
        """Raise ValueError, naming the tensor, if some of the weights are NaN or infinite."""
        read = 0
        for name, each in self.stored.items():
            if not each.is_finite():
                raise ValueError(
                    f"{self.path}: some of {name} are not finite numbers: get the file anew, or "
                    "train again from an earlier checkpoint"
                )
            read += len(each.buffer)
            if read > MAPPED:
                self.release()
                read = 0
        self.release()

    def release(self) -> None:
        """Tell the system that what was read of a mapped file is not needed for now."""
        if self.in_memory:
            return
        with suppress(AttributeError, OSError, ValueError):  # not on every system
            self._map.madvise(mmap.MADV_DONTNEED)


def _map_file(path: Path) -> mmap.mmap:
    """Map a file. It is writable, but never written: only so does ctypes tell where it lies."""
    with path.open("rb") as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except OSError as error:  # no more can be mapped than memory could hold
            raise LyingFileError(f"{path.stat().st_size:,} bytes: {error.strerror}") from error


def _copy_file(path: Path) -> mmap.mmap:
    """Return the bytes of a file, as `_map_file` does. LyingFileError if it shrinks meanwhile."""
    with path.open("rb") as file:
        size = path.stat().st_size
        copied = mmap.mmap(-1, size)
        if file.readinto(copied) != size:
            raise LyingFileError(f"it had {size:,} bytes a moment ago")
        return copied


def _read_header(mapped: mmap.mmap) -> dict[str, Any]:
    """Return what a file of safetensors says of its tensors. LyingFileError if it is cut short."""
    size = int.from_bytes(mapped[:8], "little")
    if not 2 <= size <= min(len(mapped) - 8, LONGEST_HEADER):
        raise LyingFileError(f"a header of {size} bytes")
    header = json.loads(mapped[8 : 8 + size])
    if not isinstance(header, dict):
        raise LyingFileError("its header has no names")
    return header


def _list_tensors(
    header: Mapping[str, Any], mapped: mmap.mmap, begin: int
) -> Iterator[tuple[str, StoredTensor]]:
    """Yield the tensors of a file; they have to fill the data, from byte `begin` on, without gaps.

    LyingFileError names one that lies.
    """
    data, filled = memoryview(mapped)[begin:], 0
    for name, tensors in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        match tensors:
            case {"dtype": str(kind), "shape": [*shape], "data_offsets": [int(start), int(end)]}:
                is_right = kind in DTYPES and all(type(n) is int and n >= 0 for n in shape)
                is_right &= start == filled and end <= len(data)
            case _:
                is_right = False
        if not is_right or end - start != math.prod(shape) * _measure_number(kind):
            raise LyingFileError(f"{name} is not as it says")
        values = data[start:end]
        if (begin + start) % _measure_number(kind):  # of a header that was not padded
            values = memoryview(bytearray(values))  # which the engine in C can read as numbers
        yield rename_tensor(name), StoredTensor(kind, tuple(shape), values)
        filled = end
    if filled != len(data):
        raise LyingFileError(f"{len(data) - filled} bytes more than its tensors have")


def _measure_number(kind: str) -> int:
    return 1 if kind == "BOOL" else int(DTYPES[kind][-1])


def _join_scales(path: Path, tensors: dict[str, StoredTensor]) -> dict[str, StoredTensor]:
    """Return the tensors, those of int8 with their scales. ValueError if a scale cannot be one."""
    scales = dict(tensors)
    for name, each in tensors.items():
        if each.type != "I8" or f"{name}{SCALE}" not in tensors:
            continue
        scale = scales.pop(f"{name}{SCALE}")
        if len(each.shape) != 2 or (scale.type, scale.shape) != ("F32", each.shape[:1]):
            message = f"{scale.type} {[*scale.shape]} for {each.type} {[*each.shape]}"
            raise ValueError(f"{path}: {name}{SCALE} is no scale of each row ({message})")
        if not scale.is_finite() or min(scale.buffer.cast("f"), default=1) <= 0:
            raise ValueError(f"{path}: {name}{SCALE} has numbers that are not positive and finite")
        scales[name] = each._replace(scale=scale)
    return scales


def _read_metadata(
    path: Path, written: Mapping[str, str] | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the notes and the aliases of a file. Some files have the aliases beside the notes."""
    metadata = written or {}
    notes = check_type(json.loads(metadata.get(NOTES, "{}")), dict[str, Any], str(path))
    aliases = notes.get(ALIASES, json.loads(metadata.get(ALIASES, "{}")))
    return notes, check_type(aliases, dict[str, str], str(path))


@contextmanager
def explain_damage(path: Path) -> Iterator[None]:
    """Turn the errors that a damaged file causes into one sentence that names it."""
    try:
        yield
    except (
        LyingFileError,
        KeyError,
        AttributeError,
        TypeError,
        RecursionError,
        UnicodeDecodeError,
    ) as error:
        raise ValueError(f"{path}: damaged, or no safetensors file ({error})") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: damaged (what it says of itself is no JSON: {error})") from None


def _tell_difference(stored: Shapes, expected: Shapes) -> str:
    """Return, in words, the first difference between the weights and the settings."""
    name = sorted(k for k in {*stored, *expected} if stored.get(k) != expected.get(k))[0]
    if name not in expected:
        return f"{name} is no weight of a model with these settings"
    if name not in stored:
        return f"{name} is missing"
    return f"{name} is {list(stored[name])}, but settings and tokenizer say {list(expected[name])}"

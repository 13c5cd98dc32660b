"""A weights file, read with NumPy: mapped into memory once, and checked before it is used.

Beside the weights stand notes, and aliases: further names of tied weights, which are stored once.
A matrix of int8 numbers has a scale for each row: see `int8`.
"""

from __future__ import annotations

import json
import math
import mmap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from ..compatibility.former_names import rename_tensor
from ..typed_json import check_type

NOTES, ALIASES = "notes", "aliases"  # what is written beside the weights
SCALE = ".scale"  # ends the name of the scales of an int8 matrix
# The types of numbers, as safetensors names them; NumPy has no bf16.
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "BOOL": "?"}
DTYPES |= {f"{sign}{8 * n}": f"<{sign.lower()}{n}" for sign in "IU" for n in (1, 2, 4, 8)}
EXPONENTS = {"F32": 0x7F800000, "F16": 0x7C00, "BF16": 0x7F80}  # all 1 in what is not finite
CHECKED = 1 << 20  # numbers checked at once
MAPPED = 1 << 24  # bytes that are read before the system is told that they are not needed again

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class StoredTensor:
    """A tensor as a file has it."""

    type: str  # a key of DTYPES
    shape: tuple[int, ...]
    data: NDArray[Any]  # of this shape; a view of the file, bf16 as 16-bit integers
    scale: NDArray[np.float32] | None = None  # of each row; int8 only

    def to_fp32(self) -> NDArray[np.float32]:
        """Return a copy of the values in fp32."""
        if self.scale is not None:
            return self.data.astype(np.float32) * self.scale[:, None]
        if self.type == "BF16":
            return (self.data.astype(np.uint32) << 16).view(np.float32)
        return self.data.astype(np.float32)

    def is_finite(self) -> bool:
        """Return whether no value is NaN or infinite."""
        if self.scale is not None:
            return bool(np.isfinite(self.scale).all())
        kind = np.uint32 if self.type == "F32" else np.uint16
        bits, exponent = self.data.reshape(-1).view(kind), kind(EXPONENTS[self.type])
        parts = (bits[start : start + CHECKED] for start in range(0, len(bits), CHECKED))
        return all(np.bitwise_and(part, exponent).max() != exponent for part in parts)


class WeightsFile:
    """The weights of a file by name, a tied one under each of its names.

    The file stays mapped as long as this object or a tensor of it is in use; if it is replaced
    meanwhile, what was opened can still be read.
    """

    def __init__(self, path: Path):
        """Map the file. ValueError, in one sentence, if it is damaged."""
        self.path = path
        with explain_damage(path):
            with safe_open(path, "np") as checked:  # which refuses sizes that cannot be
                metadata = checked.metadata()
            with path.open("rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            self.notes, aliases = _read_metadata(path, metadata)
            self.stored = _join_scales(path, dict(_list_tensors(self._map)))
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

    def __getitem__(self, name: str) -> StoredTensor:
        """Return a tensor. ValueError if there is none of that name."""
        with explain_damage(self.path):
            return self.tensors[name]

    def check_shapes(self, wanted: Shapes) -> None:
        """Raise ValueError unless the file has exactly these names and shapes, in a type known."""
        if self.shapes != wanted:
            raise ValueError(f"{self.path}: {_say_difference(self.shapes, wanted)}")
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
            read += each.data.nbytes
            if read > MAPPED:
                self.release()
                read = 0
        self.release()

    def release(self) -> None:
        """Tell the system that what was read is not needed in memory for now."""
        with suppress(AttributeError, OSError, ValueError):  # not on every system
            self._map.madvise(mmap.MADV_DONTNEED)


def _list_tensors(mapped: mmap.mmap) -> Iterator[tuple[str, StoredTensor]]:
    """Yield the tensors of a file that safetensors has found to be whole."""
    begin = 8 + int.from_bytes(mapped[:8], "little")
    for name, told in json.loads(mapped[8:begin]).items():
        if name == "__metadata__":
            continue
        shape, (start, end) = tuple(told["shape"]), told["data_offsets"]
        if told["dtype"] not in DTYPES:
            raise TypeError(f"{name} is of {told['dtype']}")
        dtype, count = np.dtype(DTYPES[told["dtype"]]), math.prod(shape)
        if end - start != count * dtype.itemsize:
            raise KeyError(f"{name} has {end - start} bytes")
        data = np.frombuffer(mapped, dtype, count, begin + start) if count else np.empty(0, dtype)
        yield rename_tensor(name), StoredTensor(told["dtype"], shape, data.reshape(shape))


def _join_scales(path: Path, tensors: dict[str, StoredTensor]) -> dict[str, StoredTensor]:
    """Return the tensors, those of int8 with their scales. ValueError if a scale cannot be one."""
    found = dict(tensors)
    for name, each in tensors.items():
        if each.type != "I8" or f"{name}{SCALE}" not in tensors:
            continue
        scale = found.pop(f"{name}{SCALE}")
        if len(each.shape) != 2 or (scale.type, scale.shape) != ("F32", each.shape[:1]):
            said = f"{scale.type} {[*scale.shape]} for {each.type} {[*each.shape]}"
            raise ValueError(f"{path}: {name}{SCALE} is no scale of each row ({said})")
        if not (np.isfinite(scale.data) & (scale.data > 0)).all():
            raise ValueError(f"{path}: {name}{SCALE} has numbers that are not positive and finite")
        found[name] = replace(each, scale=scale.data)
    return found


def _read_metadata(
    path: Path, written: Mapping[str, str] | None
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the notes and the aliases of a file. Some files have the aliases beside the notes."""
    found = written or {}
    notes = check_type(json.loads(found.get(NOTES, "{}")), dict[str, Any], str(path))
    aliases = notes.get(ALIASES, json.loads(found.get(ALIASES, "{}")))
    return notes, check_type(aliases, dict[str, str], str(path))


@contextmanager
def explain_damage(path: Path) -> Iterator[None]:
    """Turn the errors that a damaged file causes into one sentence that names it."""
    try:
        yield
    except (SafetensorError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: damaged, or no safetensors file ({error})") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: damaged (what it says of itself is no JSON: {error})") from None


def _say_difference(found: Shapes, wanted: Shapes) -> str:
    """Return, in words, the first difference between the weights and the settings."""
    name = sorted(k for k in {*found, *wanted} if found.get(k) != wanted.get(k))[0]
    if name not in wanted:
        return f"{name} is no weight of a model with these settings"
    if name not in found:
        return f"{name} is missing"
    return f"{name} is {list(found[name])}, but settings and tokenizer say {list(wanted[name])}"

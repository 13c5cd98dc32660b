"""Read and write Marian's binary files, version 1: what browsers ship, and float models.

After two numbers, the version and the count, stand for each tensor four numbers (the bytes of its
name, its type, its axes, its bytes), then all names, all shapes and, aligned, all data. A matrix of
8 or 16 bits holds integers, then one float by which they were multiplied; NAME_QuantMultA, if it is
there, is what the other factor of its product is multiplied by. Such a matrix lies in the file as
outputs by inputs, although its shape says inputs by outputs; a table of embeddings has a row for
each token either way.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.foundation.disk import write_bytes

Array = NDArray[Any]

VERSION = 1
LARGEST = 8 << 30  # bytes of a file
MOST = 1 << 16  # tensors
FLOATS = {0x402: "<f2", 0x404: "<f4", 0x408: "<f8"}
INTEGERS = {0x101: "<i1", 0x201: "<u1"}
QUANTIZED = {0x4101: "<i1", 0x4102: "<i2"}  # for any processor
ALPHA = "_QuantMultA"
TABLE = "Wemb"  # in the names of tables of embeddings
FLOAT, TEXT, INT8 = 0x404, 0x101, 0x4101  # the types of what is written
ALIGNED = 256  # bytes


@dataclass(frozen=True)
class QuantizedMatrix:
    """A matrix of integers, inputs by outputs, or tokens by width; `multiplier` times its numbers.

    alpha: what the other factor of its product is multiplied by; None: that is chosen anew each
    time.
    """

    values: Array
    multiplier: float
    alpha: float | None = None

    def to_fp32(self) -> Array:
        """Return the numbers that the integers stand for."""
        numbers: Array = self.values.astype(np.float32) / np.float32(self.multiplier)
        return numbers


@dataclass(frozen=True)
class MarianFile:
    """The tensors of a file by their names: those of floats and bytes, and quantized ones."""

    plain: Mapping[str, Array]
    quantized: Mapping[str, QuantizedMatrix] = field(default_factory=dict)


def is_marian_bin(path: Path) -> bool:
    """Return whether a file begins as Marian's binary files do."""
    try:
        with path.open("rb") as file:
            version, count = struct.unpack("<QQ", file.read(16))
    except (OSError, struct.error):
        return False
    return version == VERSION and 0 < count < MOST


def read_marian_bin(path: Path) -> MarianFile:
    """Read a file. ValueError, in one sentence, if it is damaged or of a kind that is not known."""
    if path.stat().st_size > LARGEST:
        raise ValueError(f"{path}: larger than {LARGEST >> 30} GiB: no model of Marian")
    try:
        return _sort_tensors(dict(_read_tensors(path.read_bytes())))
    except (struct.error, UnicodeDecodeError, IndexError):
        raise ValueError(f"{path}: damaged, or no model of Marian") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


Read = Array | QuantizedMatrix


def _read_tensors(file: bytes) -> Iterator[tuple[str, Read]]:
    """Yield the name and the numbers of each tensor."""
    version, count = struct.unpack_from("<QQ", file)
    if version != VERSION or not 0 < count < MOST:
        raise ValueError("no binary model of Marian of version 1")
    heads = [struct.unpack_from("<QQQQ", file, 16 + 32 * n) for n in range(count)]
    at, names, shapes = 16 + 32 * count, [], []
    for size, *_ in heads:
        names.append(_take(file, at, size).rstrip(b"\0").decode())
        at += size
    for _, _, axes, _ in heads:
        shapes.append(np.frombuffer(_take(file, at, 4 * axes), "<i4").tolist())
        at += 4 * axes
    (gap,) = struct.unpack_from("<Q", file, at)
    at += 8 + gap
    for name, shape, (_, kind, _, size) in zip(names, shapes, heads, strict=True):
        yield name, _read_numbers(name, kind, shape, _take(file, at, size))
        at += size


def _take(file: bytes, at: int, size: int) -> bytes:
    if not 0 <= size <= len(file) - at:
        raise IndexError(size)
    return file[at : at + size]


def _read_numbers(name: str, kind: int, shape: list[int], data: bytes) -> Read:
    types = {**FLOATS, **INTEGERS, **QUANTIZED}
    if kind not in types:
        raise ValueError(
            f"{name} has numbers of type {kind:#x}, packed for one processor: take the model as it "
            "was before, such as model.intgemm.alphas.bin or model.npz"
        )
    if any(size < 0 for size in shape) or not 0 < len(shape) < 5:
        raise IndexError(shape)
    numbers = np.frombuffer(data, types[kind], count=int(np.prod(shape)))
    if kind in INTEGERS:
        return numbers
    if kind in FLOATS:
        return numbers.astype(np.float32).reshape(shape)
    (multiplier,) = struct.unpack_from("<f", data, numbers.nbytes)
    if not 0 < multiplier < float("inf"):
        raise ValueError(f"{name} was multiplied by {multiplier}")
    is_table = TABLE in name or len(shape) != 2
    values = numbers.reshape(shape if is_table else shape[::-1])
    return QuantizedMatrix(values if is_table else values.T, multiplier)


def _sort_tensors(tensors: Mapping[str, Read]) -> MarianFile:
    """Return the tensors, each quantized one with its alpha."""
    alphas = {
        name.removesuffix(ALPHA): float(_to_fp32(each).reshape(-1)[0])
        for name, each in tensors.items()
        if name.endswith(ALPHA)
    }
    if "none" in alphas:  # of the turned table of the logits
        alphas[TABLE] = alphas[f"decoder_{TABLE}"] = alphas["none"]
    plain, quantized = dict[str, Array](), dict[str, QuantizedMatrix]()
    for name, each in tensors.items():
        if name.endswith(ALPHA):
            continue
        if isinstance(each, QuantizedMatrix):
            quantized[name] = QuantizedMatrix(each.values, each.multiplier, alphas.get(name))
        else:
            plain[name] = each
    return MarianFile(plain, quantized)


def _to_fp32(tensor: Read) -> Array:
    return tensor.to_fp32() if isinstance(tensor, QuantizedMatrix) else tensor


def quantize_matrix(
    weights: Array, alpha: float | None, multiplier: float | None = None
) -> QuantizedMatrix:
    """Return a matrix, inputs by outputs, or a table, in int8.

    multiplier: of its integers, if they are known; otherwise the largest of them becomes 127.
    """
    if multiplier is None:
        multiplier = float(127 / max(np.abs(weights).max(), 1e-9))
    values = np.clip(np.rint(weights * np.float32(multiplier)), -127, 127).astype(np.int8)
    return QuantizedMatrix(values, multiplier, alpha)


def write_tensors(path: Path, file: MarianFile) -> None:
    """Write a file; a plain tensor of bytes is a text, and every other one is written in fp32."""
    tensors = [_spell_plain(name, each) for name, each in file.plain.items()]
    for name, each in file.quantized.items():
        tensors += _spell_quantized(name, each)
    write_bytes(path, _lay_out(sorted(tensors)))


Spelled = tuple[str, int, tuple[int, ...], bytes]  # name, type, shape, bytes


def _spell_plain(name: str, tensor: Array) -> Spelled:
    if tensor.dtype.itemsize == 1:
        return name, TEXT, tensor.shape, tensor.tobytes()
    return name, FLOAT, tensor.shape, _fill(np.ascontiguousarray(tensor, "<f4").tobytes())


def _spell_quantized(name: str, matrix: QuantizedMatrix) -> list[Spelled]:
    """Return a matrix, outputs by inputs but for tables, and its alpha under the name of its own.

    Marian multiplies by the turned table of both sides without a name, so that its alpha is none's;
    the one of a table of targets alone is itself quantized.
    """
    values = matrix.values if TABLE in name else matrix.values.T
    body = values.tobytes() + struct.pack("<f", matrix.multiplier)
    found: list[Spelled] = [(name, INT8, matrix.values.shape, _fill(body))]
    if matrix.alpha is not None:
        alpha = _fill(struct.pack("<f", matrix.alpha))
        owner = "none" if TABLE in name else name
        found.append((owner + ALPHA, FLOAT, (1, 1), alpha))
        if name == f"decoder_{TABLE}":
            body = struct.pack("<bf", 127, 127 / matrix.alpha)
            found.append((name + ALPHA, INT8, (1, 1), _fill(body)))
    return found


def _fill(data: bytes) -> bytes:
    """Return the bytes, and zeros up to a multiple of ALIGNED."""
    return data + bytes(-len(data) % ALIGNED)


def _lay_out(tensors: Sequence[Spelled]) -> bytes:
    """Return a file of these tensors."""
    heads, names, shapes = b"", b"", b""
    for name, kind, shape, data in tensors:
        named = name.encode() + b"\0"
        heads += struct.pack("<4Q", len(named), kind, len(shape), len(data))
        names += named
        shapes += struct.pack(f"<{len(shape)}i", *shape)
    start = struct.pack("<2Q", VERSION, len(tensors)) + heads + names + shapes
    gap = -(len(start) + 8) % ALIGNED
    bodies = b"".join(data for *_, data in tensors)
    return start + struct.pack("<Q", gap) + bytes(gap) + bodies

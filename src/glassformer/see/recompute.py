"""Following the op-graph: every tensor from its operands, in NumPy and float64. No torch.

Plain on purpose: it is what the network's own arithmetic is held against.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping

import numpy as np

from ..config import PAD, Positions
from .ops import Op, Operand
from .trace import Array

Fetch = Callable[[str], Array]
BASE = 10000.0

_erf = np.vectorize(math.erf, otypes=[np.float64])

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x * np.exp(-np.logaddexp(0, -x)),  # x / (1 + e^-x), however negative x is
    "gelu": lambda x: x * (1 + _erf(x / math.sqrt(2))) / 2,
}


def recompute(op: Op, fetch: Fetch) -> Array:
    """All cells of a tensor, made of cells that `fetch` gives by name."""
    if op.kind in ("input", "parameter"):
        return fetch(op.name)
    if op.kind == "position":
        place, d = (np.arange(axis.size) for axis in op.axes)
        return encode_position(op.detail, op.axes[1].size, place[:, None], d)
    letters = "".join(axis.letter for axis in op.axes)
    found = [_take(op, operand, fetch) for operand in op.operands]
    if op.kind in ("matmul", "dot", "weighted_sum", "concat"):
        spelled = ",".join(letters for letters, _ in found)
        value = np.einsum(f"{spelled}->{letters}", *(cells for _, cells in found))
    elif op.kind in ("gather", "copy", "add"):
        value = np.sum([cells for _, cells in found], axis=0)
    else:
        return _apply(op, [cells for _, cells in found], fetch)
    value = op.scale * value
    if op.bias:
        own, cells = _take(op, op.bias, fetch)
        value = value + cells[tuple(slice(None) if x in own else None for x in letters)]
    return value


def _apply(op: Op, cells: list[Array], fetch: Fetch) -> Array:
    """The kinds that are no sum of products."""
    x = cells[0]
    if op.kind in ACTIVATIONS:
        return ACTIVATIONS[op.kind](x)
    if op.kind in ("softmax", "masked"):
        if op.mask:
            _, allowed = _take(op, op.mask, fetch)
            x = np.where(allowed > 0, x, -np.inf)
        return x if op.kind == "masked" else _soften(x)
    if op.kind == "mask":
        places = np.arange(len(x))
        seen = places[: op.axes[1].size, None] >= places if op.detail else True
        return np.broadcast_to((x != PAD) & seen, tuple(axis.size for axis in op.axes))
    if op.kind == "argmax":
        return x.argmax(-1)
    mean, deviation = x.mean(-1), np.sqrt(x.var(-1) + op.detail)
    if op.kind == "layernorm":
        normed = (cells[1] - mean[:, None]) / deviation[:, None] * cells[2]
        assert op.bias
        return normed + fetch(op.bias.name).astype(np.float64)
    return mean if op.kind == "mean" else deviation


def _soften(x: Array) -> Array:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def encode_position(settings: Positions, d_model: int, position: Array, d: Array) -> Array:
    """The positional encoding (3.5) at these positions and places in d_model."""
    half = d_model // 2
    if settings.layout == "interleaved":
        frequency, is_sine = d // 2, d % 2 == 0
    else:
        frequency, is_sine = d % half, d < half
    steps = d_model / 2 if settings.grid == "paper" else max(half - 1, 1)
    angle = (position + settings.offset) * BASE ** (-frequency / steps)
    return settings.amplitude * np.where(is_sine, np.sin(angle), np.cos(angle))


def _take(op: Op, operand: Operand, fetch: Fetch) -> tuple[str, Array]:
    """The cells of an operand, one axis for each letter in its index, and these letters."""
    axes = [*op.axes, *([op.over] if op.over else [])]
    used = [axis for axis in axes if axis.letter in read_letters(operand)]
    grids = np.ix_(*(np.arange(axis.size) for axis in used))
    values = dict(zip((axis.letter for axis in used), grids, strict=True))
    cells = fetch(operand.name)[locate(op, operand, values, fetch)]
    return "".join(values), np.asarray(cells, np.float64)


def read_letters(operand: Operand) -> set[str]:
    return set(re.findall(r"\b[a-z]\b", " ".join(operand.index)))


def locate(
    op: Op, operand: Operand, values: Mapping[str, Array], fetch: Fetch
) -> tuple[Array, ...]:
    """The index of an operand where its letters have these values."""
    scope = dict(values)
    if op.kind == "gather":
        scope["ids"] = fetch(op.detail)
    return tuple(eval(text, {"__builtins__": {}}, scope) for text in operand.index)

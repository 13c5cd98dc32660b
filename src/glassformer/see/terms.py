"""The terms that one number is the sum of, for each kind of op. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .ops import Op, Operand
from .recompute import ACTIVATIONS, encode_position, locate

if TYPE_CHECKING:
    from .trace import Trace

LEAVES = ("input", "parameter", "position")


@dataclass(frozen=True)
class Cell:
    """One number of a tensor."""

    name: str
    index: tuple[int, ...]
    value: float


@dataclass(frozen=True)
class Term:
    """What is added up, and the cells that it is made of."""

    value: float
    operands: tuple[Cell, ...] = ()


def take_cells(trace: Trace, op: Op, operand: Operand, at: Mapping[str, Any]) -> list[Cell]:
    """The cells of an operand; as many as there are places to sum over, if it is summed."""
    index = np.broadcast_arrays(*locate(op, operand, at, trace.__getitem__))
    values = np.atleast_1d(trace[operand.name][tuple(index)]).tolist()
    places = zip(*(np.atleast_1d(each).tolist() for each in index), strict=True)
    return [
        Cell(operand.name, place, float(value)) for place, value in zip(places, values, strict=True)
    ]


Parts = tuple[list[Term], float, float]


def take_apart(trace: Trace, op: Op, at: dict[str, Any], where: tuple[int, ...]) -> Parts:
    """The terms, the scale and the bias of one cell."""
    if op.kind in LEAVES:
        if op.kind != "position":
            return [Term(float(trace[op.name][where]))], 1.0, 0.0
        plain = op.detail.model_copy(update={"amplitude": 1.0})
        wave = encode_position(plain, op.axes[1].size, np.array(where[0]), np.array(where[1]))
        return [Term(float(wave))], op.detail.amplitude, 0.0
    if op.kind in NONLINEAR:
        return NONLINEAR[op.kind](trace, op, at)
    spread = at if op.over is None else {**at, op.over.letter: np.arange(op.over.size)}
    bias = take_cells(trace, op, op.bias, at)[0].value if op.bias else 0.0
    columns = [take_cells(trace, op, operand, spread) for operand in op.operands]
    if op.over is None:
        return [Term(cell.value, (cell,)) for (cell,) in columns], op.scale, bias
    rows = zip(*columns, strict=True)
    terms = [Term(math.prod(cell.value for cell in row), row) for row in rows]
    return terms, op.scale, bias


def _row(trace: Trace, op: Op, at: Mapping[str, Any], operand: int = 0) -> list[Cell]:
    """All cells along the axis that an op looks along."""
    axis = op.over or op.axes[-1]
    return take_cells(trace, op, op.operands[operand], {**at, axis.letter: np.arange(axis.size)})


def _soften(trace: Trace, op: Op, at: dict[str, Any]) -> Parts:
    """exp of one score over the sum of all that may be looked at: its own first, then the rest."""
    row, axis = _row(trace, op, at), op.axes[-1]
    spread = {**at, axis.letter: np.arange(axis.size)}
    allowed = [cell.value for cell in take_cells(trace, op, op.mask, spread)] if op.mask else []
    seen = [cell for cell, may in zip(row, allowed or [1.0] * len(row), strict=True) if may]
    top = max(cell.value for cell in seen)
    own = row[at[axis.letter]]
    others = [cell for cell in seen if cell is not own]
    term = Term(math.exp(min(own.value - top, 0.0)), (own, *others))
    return [term], 1 / math.fsum(math.exp(cell.value - top) for cell in seen), 0.0


def _norm(trace: Trace, op: Op, at: dict[str, Any]) -> Parts:
    """(x - mean) * gain, over the deviation."""
    row = _row(trace, op, at)
    own, gain = (take_cells(trace, op, operand, at)[0] for operand in op.operands[1:])
    values = np.array([cell.value for cell in row])
    terms = [
        Term(own.value * gain.value, (own, gain)),
        Term(float(-values.mean()) * gain.value, (*row, gain)),
    ]
    assert op.bias
    bias = take_cells(trace, op, op.bias, at)[0].value
    return terms, 1 / math.sqrt(values.var() + op.detail), bias


def _average(trace: Trace, op: Op, at: dict[str, Any]) -> Parts:
    row = _row(trace, op, at)
    return [Term(cell.value, (cell,)) for cell in row], 1 / len(row), 0.0


def _deviate(trace: Trace, op: Op, at: dict[str, Any]) -> Parts:
    """The variance and epsilon; their root is the value."""
    row = _row(trace, op, at)
    mean = math.fsum(cell.value for cell in row) / len(row)
    return [Term((cell.value - mean) ** 2, (cell,)) for cell in row], 1 / len(row), op.detail


def _activate(trace: Trace, op: Op, at: dict[str, Any]) -> Parts:
    (cell,) = take_cells(trace, op, op.operands[0], at)
    return [Term(float(ACTIVATIONS[op.kind](np.array(cell.value))), (cell,))], 1.0, 0.0


def _pass(trace: Trace, op: Op, at: dict[str, Any]) -> Parts:
    (cell,) = take_cells(trace, op, op.operands[0], at)
    return [Term(cell.value, (cell,))], 1.0, 0.0


def _allow(trace: Trace, op: Op, at: dict[str, Any]) -> Parts:
    (cell,) = take_cells(trace, op, op.operands[0], at)
    may = cell.value != 0 and (not op.detail or at["m"] <= at["q"])
    return [Term(float(may), (cell,))], 1.0, 0.0


def _choose(trace: Trace, op: Op, at: dict[str, Any]) -> Parts:
    row = _row(trace, op, at)
    best = max(range(len(row)), key=lambda place: row[place].value)
    return [Term(float(best), (row[best],))], 1.0, 0.0


NONLINEAR: dict[str, Callable[[Trace, Op, dict[str, Any]], Parts]] = {
    "softmax": _soften,
    "layernorm": _norm,
    "mask": _allow,
    "masked": _pass,
    "mean": _average,
    "deviation": _deviate,
    "argmax": _choose,
    **dict.fromkeys(ACTIVATIONS, _activate),
}

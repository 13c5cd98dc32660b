"""Evaluate equations in NumPy and float64, whole tensors at a time. Imports no torch.

It is plain on purpose: tests compare the network's own arithmetic with it.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .expression import Call, Cells, Constant, Expression, Letter, Number, Operation, Reduction
from .opgraph import Equation

Array = NDArray[Any]
Fetch = Callable[[str], Array]


class Along(NamedTuple):
    """The values of a letter, and the number of the axis along which they lie."""

    axis: int
    values: Array


class Grid(NamedTuple):
    """An array with one dimension for each axis in `axes`, in ascending order."""

    axes: tuple[int, ...]
    cells: Array


Where = Mapping[str, Along | int]  # each letter with all its values, or with one

OPERATIONS: dict[str, Callable[[Array, Array], Array]] = {
    " ": np.multiply,
    "*": np.multiply,
    "/": np.divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "+": np.add,
    "-": np.subtract,
    "**": np.power,
    "<": np.less,
    "<=": np.less_equal,
    "==": np.equal,
    "!=": np.not_equal,
    "and": np.logical_and,
}
FUNCTIONS: dict[str, Callable[..., Array]] = {
    "sqrt": np.sqrt,
    "exp": np.exp,
    "sin": np.sin,
    "cos": np.cos,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "max": np.maximum,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "where": np.where,
}


def recompute(equation: Equation, fetch: Fetch) -> Array:
    """Return a tensor computed by its equation; `fetch` returns the operands by name."""
    if equation.right is None:
        return fetch(equation.name)
    letters = [axis.letter for axis in equation.axes]
    shape = tuple(axis.size for axis in equation.axes)
    where = {
        letter: Along(n, np.arange(size))
        for n, (letter, size) in enumerate(zip(letters, shape, strict=True))
    }
    expression = evaluate_expression(equation.right, where, fetch, equation.sizes)
    return np.broadcast_to(_spread(expression, range(len(shape))), shape)


def evaluate_expression(
    expression: Expression, where: Where, fetch: Fetch, sizes: Mapping[str, int]
) -> Grid:
    """Return the value of an expression for all values of the letters in `where`.

    `sizes` has the number of values of each reduction's letter, and the values of constants.
    """

    def go(part: Expression) -> Grid:
        return evaluate_expression(part, where, fetch, sizes)

    match expression:
        case Number(value):
            return Grid((), np.array(value))
        case Letter(name):
            at = where[name]
            return Grid((at.axis,), at.values) if isinstance(at, Along) else Grid((), np.array(at))
        case Cells(name, index):
            return _take(np.asarray(fetch(name)), [go(part) for part in index])
        case Operation("/", Call("exp", (above,)), Reduction("sum", letter, Call("exp", (below,)))):
            return _soften(go(above), _open(letter, where, sizes), below, fetch, sizes)
        case Operation(sign, left, right):
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                return _join(OPERATIONS[sign], go(left), go(right))
        case Call(function, arguments):
            with np.errstate(over="ignore"):
                return _join(FUNCTIONS[function], *map(go, arguments))
        case Reduction(kind, letter, body):
            inner = _open(letter, where, sizes)
            axis = inner[letter]
            assert isinstance(axis, Along)
            factors = [
                evaluate_expression(part, inner, fetch, sizes) for part in list_factors(body)
            ]
            return _sum(factors, axis) if kind == "sum" else _find_best(factors[0], axis)
        case Constant(name):
            return Grid((), np.array(sizes[name], np.float64))


def list_factors(expression: Expression) -> list[Expression]:
    """Return the factors of a product that are written side by side."""
    match expression:
        case Operation(" ", left, right):
            return [*list_factors(left), right]
    return [expression]


def _open(letter: str, where: Where, sizes: Mapping[str, int]) -> dict[str, Along | int]:
    """Return `where` with all values of `letter`, on a new axis after all others."""
    used = [at.axis for at in where.values() if isinstance(at, Along)]
    return {**where, letter: Along(max(used, default=-1) + 1, np.arange(sizes[letter]))}


def _take(cells: Array, index: list[Grid]) -> Grid:
    """Return the cells at an index; an axis of length 1 is broadcast."""
    cells = cells if cells.dtype in (np.bool_, np.int64) else cells.astype(np.float64)
    places = [
        Grid((), np.array(0)) if size == 1 else at
        for at, size in zip(index, cells.shape, strict=True)
    ]
    axes = tuple(sorted({axis for at in places for axis in at.axes}))
    if all(_is_whole(at, size) for at, size in zip(places, cells.shape, strict=True)):
        kept = [at.axes[0] for at in places if at.axes]
        if len(set(kept)) == len(kept):
            cell = cells[tuple(slice(None) if at.axes else int(at.cells) for at in places)]
            return Grid(axes, cell.transpose(np.argsort(kept)))
    return Grid(axes, cells[tuple(_spread(at, axes).astype(np.int64) for at in places)])


def _is_whole(at: Grid, size: int) -> bool:
    """Return whether an index is one number, or all numbers of its axis in order."""
    return not at.axes or (
        len(at.axes) == 1 and at.cells.size == size and bool((at.cells == np.arange(size)).all())
    )


def _spread(grid: Grid, axes: Iterable[int]) -> Array:
    """Return the array with a dimension for each of `axes`, of length 1 if it had none."""
    places = tuple(slice(None) if axis in grid.axes else None for axis in axes)
    return np.asarray(grid.cells)[places]


def _join(function: Callable[..., Array], *grids: Grid) -> Grid:
    axes = tuple(sorted({axis for grid in grids for axis in grid.axes}))
    return Grid(axes, function(*(_spread(grid, axes) for grid in grids)))


def _sum(factors: list[Grid], along: Along) -> Grid:
    """Return the sum of a product over one axis, as an einsum: that is fast for matrices."""
    axes = tuple(sorted({axis for grid in factors for axis in grid.axes} - {along.axis}))
    if not any(along.axis in grid.axes for grid in factors):
        factors = [*factors, Grid((along.axis,), np.ones(len(along.values)))]
    spelled = [part for grid in factors for part in (grid.cells, [*grid.axes])]
    return Grid(axes, np.einsum(*spelled, [*axes], optimize=len(factors) > 1))


def _find_best(grid: Grid, along: Along) -> Grid:
    assert grid.axes[-1] == along.axis
    return Grid(grid.axes[:-1], grid.cells.argmax(-1))


def _soften(
    above: Grid,
    inner: dict[str, Along | int],
    below: Expression,
    fetch: Fetch,
    sizes: Mapping[str, int],
) -> Grid:
    """Return exp(a) / sum exp(b), with the largest b subtracted from both against overflow."""
    powers = evaluate_expression(below, inner, fetch, sizes)
    top = Grid(powers.axes[:-1], powers.cells.max(-1))
    whole = Grid(powers.axes[:-1], np.exp(powers.cells - top.cells[..., None]).sum(-1))
    return _join(lambda a, t, w: np.exp(a - t) / w, above, top, whole)

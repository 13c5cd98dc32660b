"""Explain how one number was computed: its equation, with the cells that enter it.

An equation is read as `scale` times a sum of terms, plus `bias`. The denominator may be a sum of
its own, and a function, such as a root, may be applied to the whole. Imports no torch.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from ..foundation.typed_json import replace_infinite
from .expression import Call, Cells, Expression, Number, Operation, Reduction, walk
from .opgraph import Equation
from .recompute import evaluate_expression
from .recorded import Array, RecordedTensors, check_place

KEYS = (
    "name",
    "index",
    "value",
    "formula",
    "terms",
    "scale",
    "bias",
    "divisor",
    "function",
    "mask",
    "recomputed",
)


@dataclass(frozen=True)
class Cell:
    """One number of a tensor."""

    name: str
    index: tuple[int, ...]
    value: float


@dataclass(frozen=True)
class Term:
    """A summand and the cells that it is computed from."""

    value: float
    operands: tuple[Cell, ...] = ()
    text: str = ""  # in letters and numbers

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "operands": [asdict(cell) for cell in self.operands]}


class Parts(NamedTuple):
    """The parts of a cell's equation, as numbers: function(scale * sum(terms) + bias)."""

    terms: list[Term]
    scale: float = 1.0
    bias: float = 0.0
    divisor: tuple[Term, ...] = ()  # the terms of the denominator; `scale` includes them
    function: str = ""


@dataclass(frozen=True)
class Explanation:
    """One number and how it was computed."""

    name: str
    index: tuple[int, ...]
    value: float  # as it was recorded
    formula: str
    terms: tuple[Term, ...]
    scale: float
    bias: float  # 0.0 where there is none
    divisor: tuple[Term, ...]
    function: str  # applied to the sum; "" where there is none
    mask: bool | None  # whether it may be attended to; None: there is no mask here
    recomputed: float  # by the equation, in float64
    trace: RecordedTensors = field(repr=False, compare=False)

    @property
    def op(self) -> Equation:
        """Return the equation of the tensor."""
        return self.trace.graph[self.name]

    @property
    def reader(self) -> Reader:
        """Return a reader of the equation at this cell."""
        return Reader.place(self.trace, self.op, self.index)

    def follow(self, term: int = 0, operand: int = 0) -> Explanation:
        """Return the explanation of an operand of a term."""
        cell = self.terms[term].operands[operand]
        return explain(self.trace, cell.name, cell.index)

    @cached_property
    def chain(self) -> list[Explanation]:
        """Return the explanations from this number down to an embedding or a position.

        Each step follows the largest term. Of its operands, it prefers one that depends on the
        sentence to a learned weight.
        """
        steps = [self]
        while operands := max(steps[-1].terms, key=lambda term: abs(term.value)).operands:
            graph = self.trace.graph
            living = [cell for cell in operands if graph[cell.name].kind not in ("parameter",)]
            cell = (living or operands)[0]
            steps.append(explain(self.trace, cell.name, cell.index))
        return steps

    def to_json(self) -> dict[str, Any]:
        """Return the fields in `KEYS`, with None for numbers that are not finite."""
        shown = {key: getattr(self, key) for key in KEYS}
        for key in ("terms", "divisor"):
            shown[key] = [term.to_json() for term in shown[key]]
        return replace_infinite(shown)

    def to_text(self) -> str:
        """Return the explanation as lines for a terminal: the terms with their running sum."""
        from .wording import to_text

        return to_text(self)

    def to_latex(self) -> str:
        """Return the explanation in LaTeX: an `aligned` of symbol, numbers and value."""
        from .wording import to_latex

        return to_latex(self)

    def to_numpy(self) -> str:
        """Return Python code that computes the number from `trace` and assigns it to `value`."""
        from .wording import to_numpy

        return to_numpy(self)

    def _repr_latex_(self) -> str:
        return f"$${self.to_latex()}$$"


def explain(trace: RecordedTensors, name: str, index: Sequence[int]) -> Explanation:
    """Return how a cell of a tensor was computed.

    Raises ValueError for a cell that does not exist, or whose operands were not recorded.
    """
    from .wording import to_formula

    array = trace[name]  # raises for an unknown name
    equation = trace.graph[name]
    where = _check(name, equation, array, index)
    parts = Parts([Term(float(array[where]))])
    mask, recomputed = None, float(array[where])
    if equation.right:
        reader = Reader.place(trace, equation, where)
        parts = reader.take_apart(equation.right)
        mask, recomputed = reader.find_mask(), reader.value(equation.right)
    return Explanation(
        name,
        where,
        float(array[where]),
        to_formula(equation),
        tuple(parts.terms),
        parts.scale,
        parts.bias,
        parts.divisor,
        parts.function,
        mask,
        recomputed,
        trace,
    )


def read_cell(cell: str) -> tuple[str, tuple[int, ...]]:
    """Return name and index of a cell, which is written `NAME[i,j,k]`."""
    match = re.fullmatch(r"\s*([^\[\]]+)\[\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]\s*", cell)
    if not match:
        raise ValueError(f"cell {cell}: write it as NAME[i,j,k], such as memory[0,3]")
    return match[1].strip(), tuple(map(int, match[2].split(",")))


@dataclass(frozen=True)
class Reader:
    """A reader of an equation for given values of its letters."""

    trace: RecordedTensors
    equation: Equation
    at: Mapping[str, int]

    @classmethod
    def place(cls, trace: RecordedTensors, equation: Equation, index: Sequence[int]) -> Reader:
        letters = (axis.letter for axis in equation.axes)
        return cls(trace, equation, dict(zip(letters, index, strict=True)))

    def move(self, at: Mapping[str, int]) -> Reader:
        """Return a reader of the same equation with other values for some letters."""
        return Reader(self.trace, self.equation, {**self.at, **at})

    def value(self, part: Expression) -> float:
        expression = evaluate_expression(part, self.at, self.trace.__getitem__, self.equation.sizes)
        return float(expression.cells)

    def find_cells(self, part: Expression) -> tuple[Cell, ...]:
        """Return the cells of an expression, each once, including those that a sum runs over."""
        return tuple(dict.fromkeys(self._list_cells(part)))

    def _list_cells(self, part: Expression) -> Iterator[Cell]:
        if isinstance(part, Cells):
            places = tuple(int(self.value(each)) for each in part.index)
            array = self.trace[part.name]
            places = tuple(
                0 if size == 1 else place for place, size in zip(places, array.shape, strict=True)
            )
            yield Cell(part.name, places, float(array[places]))
        elif isinstance(part, Reduction):
            for reader in self._go_along(part.letter):
                yield from reader._list_cells(part.body)
        else:
            match part:
                case Operation(_, left, right):
                    yield from (*self._list_cells(left), *self._list_cells(right))
                case Call("where", (condition, yes, no)):
                    chosen = yes if self.value(condition) else no
                    yield from (*self._list_cells(chosen), *self._list_cells(condition))
                case Call(_, arguments):
                    for each in arguments:
                        yield from self._list_cells(each)

    def _go_along(self, letter: str) -> list[Reader]:
        return [self.move({letter: n}) for n in range(self.equation.sizes[letter])]

    def take_apart(self, part: Expression) -> Parts:
        """Return the terms of an expression with their scale, bias, divisor and function."""
        match part:
            case Call(function, (inner,)) if any(isinstance(x, Reduction) for x in walk(inner)):
                return self.take_apart(inner)._replace(function=function)
            case Reduction("argmax", letter, body):
                best = int(self.value(part))
                cells = self.move({letter: best})
                return Parts([cells.make_term(body, float(best))])
        addends = list(_list_addends(part))
        sums = [n for n, (_, each) in enumerate(addends) if self._find_sum(each)]
        if len(sums) > 1 and all(_is_sum(addends[n][1]) for n in sums):
            return self._take_sums(addends)
        if len(sums) != 1:
            terms = [self.make_term(x, sign * self.value(x)) for sign, x in addends]
            if len(terms) > 1:
                return Parts(terms)
            return self._take_product(part)
        (place,) = sums
        rest = [sign * self.value(x) for n, (sign, x) in enumerate(addends) if n != place]
        sign, product = addends[place]
        result = self._take_product(product)
        return result._replace(scale=sign * result.scale, bias=math.fsum(rest))

    def _take_sums(self, addends: list[tuple[int, Expression]]) -> Parts:
        """Return the terms of several sums, one after the other; all else is the bias."""
        terms, rest = list[Term](), list[float]()
        for sign, each in addends:
            if isinstance(each, Reduction):
                result = self._list_terms(each)
                terms += [replace(term, value=sign * term.value) for term in result]
            else:
                rest.append(sign * self.value(each))
        return Parts(terms, bias=math.fsum(rest))

    def _take_product(self, part: Expression) -> Parts:
        """Return the terms of the sum among the factors of a product, or of the product if none."""
        inner, divisor = self._find_sum(part), self._find_divisor(part)
        if inner is None:
            if not divisor:
                return self._take_scaled(part)
            assert isinstance(part, Operation)
            scale = 1 / math.fsum(term.value for term in divisor)
            term = self.make_term(part.left, self.value(part) / scale)
            return Parts([term], scale, divisor=divisor)
        if isinstance(inner, Reduction):
            terms = self._list_terms(inner)
        else:
            parts = _list_addends(inner)
            terms = [self.make_term(x, sign * self.value(x)) for sign, x in parts]
        scale = 1.0
        for is_above, factor in _list_factors(part):
            if factor is not inner:
                scale *= self.value(factor) if is_above else 1 / self.value(factor)
        return Parts(terms, scale, divisor=divisor)

    def _take_scaled(self, part: Expression) -> Parts:
        """Return one term; factors without a cell, the same for all cells, go into the scale."""
        factors = list(_list_factors(part))
        living = [x for _, x in factors if any(isinstance(y, Cells) for y in walk(x))]
        if len(living) != 1 or len(factors) == 1 or (False, living[0]) in factors:
            return Parts([self.make_term(part, self.value(part))])
        value = self.value(living[0])
        scale = math.prod(
            self.value(x) if is_above else 1 / self.value(x)
            for is_above, x in factors
            if x is not living[0]
        )
        return Parts([self.make_term(living[0], value)], scale)

    def _list_terms(self, sum_: Reduction) -> list[Term]:
        body = sum_.body
        return [each.make_term(body, each.value(body)) for each in self._go_along(sum_.letter)]

    def make_term(self, part: Expression, value: float) -> Term:
        """Return a term with its cells; its text contains their numbers."""
        from .wording import shorten_name, write_term

        def find(cells: Cells) -> tuple[str, float]:
            (cell,) = self._list_cells(cells)
            name = shorten_name(cell.name, self.equation)
            return f"{name}[{','.join(map(str, cell.index))}]", cell.value

        return Term(value, self.find_cells(part), write_term(part, find))

    def _find_sum(self, part: Expression) -> Expression | None:
        """Return the factor that is a sum, over a letter or of several addends; None if none is."""
        for is_above, factor in _list_factors(part):
            if is_above and (_is_sum(factor) or len(list(_list_addends(factor))) > 1):
                return factor
        return None

    def _find_divisor(self, part: Expression) -> tuple[Term, ...]:
        for is_above, factor in _list_factors(part):
            if not is_above and isinstance(factor, Reduction):
                terms = tuple(self._list_terms(factor))
                is_finite = 0 < math.fsum(term.value for term in terms) < math.inf
                return terms if is_finite else ()  # beyond e^709 the fraction is kept as one number
        return ()

    def find_mask(self) -> bool | None:
        """Return whether the mask allows attention to this cell; None if there is no mask."""
        assert self.equation.right
        for part in walk(self.equation.right):
            if isinstance(part, Call) and part.function == "where":
                condition = part.arguments[0]
                if any(isinstance(x, Cells) for x in walk(condition)):
                    return bool(self.value(condition))
            if isinstance(part, Cells) and part.name.endswith(".masked"):
                return self.value(part) > -math.inf
        return None


def _list_addends(part: Expression) -> Iterator[tuple[int, Expression]]:
    """Yield the addends of an expression, each with its sign."""
    match part:
        case Operation("+", left, right):
            yield from (*_list_addends(left), *_list_addends(right))
        case Operation("-", Number(0), right):
            yield from ((-sign, x) for sign, x in _list_addends(right))
        case Operation("-", left, right):
            yield from _list_addends(left)
            yield from ((-sign, x) for sign, x in _list_addends(right))
        case _:
            yield 1, part


def _list_factors(part: Expression) -> Iterator[tuple[bool, Expression]]:
    """Yield the factors of an expression, and whether each is in the numerator."""
    match part:
        case Operation(" " | "*", left, right):
            yield from (*_list_factors(left), *_list_factors(right))
        case Operation("/", left, right):
            yield from _list_factors(left)
            yield from ((not is_above, x) for is_above, x in _list_factors(right))
        case _:
            yield True, part


def _is_sum(part: Expression) -> bool:
    return isinstance(part, Reduction) and part.kind == "sum"


def _check(name: str, equation: Equation, array: Array, index: Sequence[int]) -> tuple[int, ...]:
    dims = equation.dims or tuple(f"axis {n}" for n in range(array.ndim))
    if len(index) != array.ndim:
        raise ValueError(
            f"{name} has {array.ndim} axes ({', '.join(dims)}), but {len(index)} numbers were given"
        )
    cell = f"{name}[{','.join(map(str, index))}]"
    return tuple(
        check_place(place, size, f"{cell}: {dim}")
        for place, size, dim in zip(index, array.shape, dims, strict=True)
    )

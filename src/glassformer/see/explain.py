"""Where one number comes from: the cells it is made of, and the arithmetic between them.

An equation is read as `scale` times a sum of terms, plus `bias`; below a fraction's bar there may
be a sum of its own, and around all of it a function, such as a root. Imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from .expression import Call, Cells, Expression, Number, Operation, Reduction, walk
from .opgraph import Equation
from .recompute import evaluate_expression

if TYPE_CHECKING:
    from .trace import Array, Trace

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
    """A summand, and the cells that it is made of."""

    value: float
    operands: tuple[Cell, ...] = ()
    text: str = ""  # in letters and numbers

    def to_json(self) -> dict[str, Any]:
        return {"value": self.value, "operands": [asdict(cell) for cell in self.operands]}


class Parts(NamedTuple):
    """A cell's equation with numbers in it: function(scale * sum(terms) + bias)."""

    terms: list[Term]
    scale: float = 1.0
    bias: float = 0.0
    divisor: tuple[Term, ...] = ()  # what is added up below the fraction's bar; part of `scale`
    function: str = ""


@dataclass(frozen=True)
class Explanation:
    """One number, and how it was made."""

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
    trace: Trace = field(repr=False, compare=False)

    @property
    def op(self) -> Equation:
        """The equation of its tensor."""
        return self.trace.graph[self.name]

    @property
    def reader(self) -> Reader:
        """What reads the equation at this cell."""
        return Reader.place(self.trace, self.op, self.index)

    def follow(self, term: int = 0, operand: int = 0) -> Explanation:
        """Return how an operand of a term was made."""
        cell = self.terms[term].operands[operand]
        return explain(self.trace, cell.name, cell.index)

    @cached_property
    def chain(self) -> list[Explanation]:
        """From here down the largest term of each, to a row of the embedding table or a position.

        Of the operands of a term, one that the sentence decides goes before a learned weight.
        """
        steps = [self]
        while operands := _get_largest(steps[-1].terms).operands:
            graph = self.trace.graph
            living = [cell for cell in operands if graph[cell.name].kind not in ("parameter",)]
            cell = (living or operands)[0]
            steps.append(explain(self.trace, cell.name, cell.index))
        return steps

    def to_json(self) -> dict[str, Any]:
        """The keys of `KEYS`; null for what is not finite."""
        shown = {key: getattr(self, key) for key in KEYS}
        for key in ("terms", "divisor"):
            shown[key] = [term.to_json() for term in shown[key]]
        return _replace_infinite(shown)

    def to_text(self) -> str:
        """Return lines for a terminal: the terms with their running sum."""
        from .wording import to_text

        return to_text(self)

    def to_latex(self) -> str:
        """Return an `aligned` of symbol, numbers and value."""
        from .wording import to_latex

        return to_latex(self)

    def to_numpy(self) -> str:
        """Return code that computes it from `trace`, this recording, and leaves it in `value`."""
        from .wording import to_numpy

        return to_numpy(self)

    def _repr_latex_(self) -> str:
        return f"$${self.to_latex()}$$"


def explain(trace: Trace, name: str, index: Sequence[int]) -> Explanation:
    """Return how a cell was made.

    Raises ValueError for a cell that is not there, or whose operands were not recorded.
    """
    from .wording import to_formula

    array = trace[name]  # says what is wrong with a name
    equation = trace.graph[name]
    where = _check(name, equation, array, index)
    found = Parts([Term(float(array[where]))])
    mask, recomputed = None, float(array[where])
    if equation.right:
        reader = Reader.place(trace, equation, where)
        found = reader.take_apart(equation.right)
        mask, recomputed = reader.find_mask(), reader.value(equation.right)
    return Explanation(
        name,
        where,
        float(array[where]),
        to_formula(equation),
        tuple(found.terms),
        found.scale,
        found.bias,
        found.divisor,
        found.function,
        mask,
        recomputed,
        trace,
    )


@dataclass(frozen=True)
class Reader:
    """Reads an equation where its letters have these values."""

    trace: Trace
    equation: Equation
    at: Mapping[str, int]

    @classmethod
    def place(cls, trace: Trace, equation: Equation, index: Sequence[int]) -> Reader:
        letters = (axis.letter for axis in equation.axes)
        return cls(trace, equation, dict(zip(letters, index, strict=True)))

    def move(self, at: Mapping[str, int]) -> Reader:
        """Return the same where some letters have other values."""
        return Reader(self.trace, self.equation, {**self.at, **at})

    def value(self, part: Expression) -> float:
        found = evaluate_expression(part, self.at, self.trace.__getitem__, self.equation.sizes)
        return float(found.cells)

    def find_cells(self, part: Expression) -> tuple[Cell, ...]:
        """Return the cells of an expression, those that a sum runs over included, each once."""
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
        """Return the terms of an expression, what they are multiplied by, and what is added."""
        match part:
            case Call(function, (inner,)) if any(isinstance(x, Reduction) for x in walk(inner)):
                return self.take_apart(inner)._replace(function=function)
            case Reduction("argmax", letter, body):
                best = int(self.value(part))
                cells = self.move({letter: best})
                return Parts([cells.make_term(body, float(best))])
        addends = list(_list_addends(part))
        sums = [n for n, (_, each) in enumerate(addends) if self._find_sum(each)]
        if len(sums) != 1:
            terms = [self.make_term(x, sign * self.value(x)) for sign, x in addends]
            if len(terms) > 1:
                return Parts(terms)
            return self._take_product(part)
        (place,) = sums
        rest = [sign * self.value(x) for n, (sign, x) in enumerate(addends) if n != place]
        sign, product = addends[place]
        found = self._take_product(product)
        return found._replace(scale=sign * found.scale, bias=math.fsum(rest))

    def _take_product(self, part: Expression) -> Parts:
        """Return the terms of the one sum among the factors of a product, if there is one."""
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
        """Return one term, without the factors that are the same for every cell."""
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
        """Return a term with its cells, and with their numbers in its text."""
        from .wording import shorten_name, write_term

        def find(cells: Cells) -> tuple[str, float]:
            (cell,) = self._list_cells(cells)
            name = shorten_name(cell.name, self.equation)
            return f"{name}[{','.join(map(str, cell.index))}]", cell.value

        return Term(value, self.find_cells(part), write_term(part, find))

    def _find_sum(self, part: Expression) -> Expression | None:
        """Return the factor that is a sum: over a letter, or of several addends."""
        for is_above, factor in _list_factors(part):
            if is_above and (_is_sum(factor) or len(list(_list_addends(factor))) > 1):
                return factor
        return None

    def _find_divisor(self, part: Expression) -> tuple[Term, ...]:
        for is_above, factor in _list_factors(part):
            if not is_above and isinstance(factor, Reduction):
                terms = tuple(self._list_terms(factor))
                is_finite = 0 < math.fsum(term.value for term in terms) < math.inf
                return terms if is_finite else ()  # beyond e^709 the fraction stays one number
        return ()

    def find_mask(self) -> bool | None:
        """Return whether the mask lets this cell be attended to; None where none is at work."""
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
    """Yield what is added up, each with its sign."""
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
    """Yield what is multiplied, and whether it stands above the fraction's bar."""
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


def _get_largest(terms: Sequence[Term]) -> Term:
    return max(terms, key=lambda term: abs(term.value))


def _replace_infinite(value: Any) -> Any:
    """Return JSON's null for what is not finite."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _replace_infinite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_replace_infinite(each) for each in value]
    return value


def _check(name: str, equation: Equation, array: Array, index: Sequence[int]) -> tuple[int, ...]:
    dims = equation.dims or tuple(f"axis {n}" for n in range(array.ndim))
    if len(index) != array.ndim:
        raise ValueError(
            f"{name} has {array.ndim} axes ({', '.join(dims)}), but {len(index)} numbers were given"
        )
    for place, size, dim in zip(index, array.shape, dims, strict=True):
        if not -size <= place < size:
            raise ValueError(
                f"{name}[{','.join(map(str, index))}]: {dim} {place} is out of range, "
                f"it goes from 0 to {size - 1}"
            )
    return tuple(place % size for place, size in zip(index, array.shape, strict=True))

"""Where one number comes from: the cells it is made of, and the arithmetic between them.

The value is `scale` times the sum of the terms, plus `bias`. Imports no torch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from .ops import Op
from .terms import LEAVES, Term, take_apart, take_cells

if TYPE_CHECKING:
    from .trace import Array, Trace

KEYS = ("name", "index", "value", "formula", "terms", "scale", "bias", "mask", "recomputed")


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
    mask: bool | None  # whether it may be looked at; None: there is no mask here
    recomputed: float  # from the terms, in float64
    trace: Trace = field(repr=False, compare=False)

    @property
    def op(self) -> Op:
        found: Op = self.trace.graph[self.name]
        return found

    def follow(self, term: int = 0, operand: int = 0) -> Explanation:
        """How an operand of a term was made."""
        cell = self.terms[term].operands[operand]
        return explain(self.trace, cell.name, cell.index)

    @cached_property
    def chain(self) -> list[Explanation]:
        """From here down the largest term of each, to a row of the embedding table or a position.

        Of the operands of a term, one that the sentence decides goes before a learned weight.
        """
        steps = [self]
        while (step := steps[-1]).op.kind not in LEAVES:
            place = max(range(len(step.terms)), key=lambda n: abs(step.terms[n].value))
            kinds = [step.trace.graph[cell.name].kind for cell in step.terms[place].operands]
            living = (n for n, kind in enumerate(kinds) if kind != "parameter")
            steps.append(step.follow(place, next(living, 0)))
        return steps

    def to_json(self) -> dict[str, Any]:
        """The keys of `KEYS`; null for what is not finite."""
        shown = {key: getattr(self, key) for key in KEYS}
        shown["terms"] = [asdict(term) for term in self.terms]
        for key in ("value", "recomputed"):
            shown[key] = shown[key] if math.isfinite(shown[key]) else None
        return shown

    def to_text(self) -> str:
        from .wording import to_text

        return to_text(self)

    def to_latex(self) -> str:
        from .wording import to_latex

        return to_latex(self)

    def to_numpy(self) -> str:
        """Code that computes it from `trace`, this recording, and leaves it in `value`."""
        from .wording import to_numpy

        return to_numpy(self)

    def _repr_latex_(self) -> str:
        return f"$${self.to_latex()}$$"


def explain(trace: Trace, name: str, index: Sequence[int]) -> Explanation:
    """ValueError for a cell that is not there, or whose operands were not recorded."""
    from .wording import to_formula

    array = trace[name]  # says what is wrong with a name
    op = trace.graph[name]
    where = _check(name, op, array, index)
    at = dict(zip((axis.letter for axis in op.axes), where, strict=False))
    terms, scale, bias = take_apart(trace, op, at, where)
    allowed = None if op.mask is None else bool(take_cells(trace, op, op.mask, at)[0].value)
    if allowed is False:
        terms = [replace(term, value=0.0) for term in terms]
    total = scale * math.fsum(term.value for term in terms) + bias
    if op.kind == "masked" and not allowed:
        total = -math.inf
    if op.kind == "deviation":
        total = math.sqrt(total)
    value = float(array[where])
    return Explanation(
        name, where, value, to_formula(op), tuple(terms), scale, bias, allowed, total, trace
    )


def _check(name: str, op: Op, array: Array, index: Sequence[int]) -> tuple[int, ...]:
    dims = op.dims or tuple(f"axis {n}" for n in range(array.ndim))
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

"""Numbers of a picture: each has its value from the expression that says where it comes from.

`Source("memory[3,d]")` has one axis, d. The expressions are those of `see.expression`, over the
tensors of a recording: an expression that is printed beside a number is the one that was computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.see.expression import (
    Cells,
    Expression,
    Letter,
    Number,
    Reduction,
    list_children,
    parse_expression,
    spell_expression,
    walk,
    with_children,
)
from glassformer.see.recompute import Along, evaluate_expression

Array = NDArray[Any]
Fetch = Callable[[str], Array]


class Quantity:
    """An expression and its values: an array with one axis for each free letter, in order."""

    def __init__(self, expression: str | Expression, fetch: Fetch):
        self.expression: Expression = (
            parse_expression(expression) if isinstance(expression, str) else expression
        )
        self.fetch = fetch
        self.letters = tuple(dict.fromkeys(_list_free(self.expression, frozenset())))

    def __repr__(self) -> str:
        return f"<Quantity {self.source}>"

    @property
    def source(self) -> str:
        """Return the expression as text."""
        text = spell_expression(self.expression)
        bare = not isinstance(self.expression, Cells) and text.startswith("(")
        return text[1:-1] if bare else text

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Return the number of values of each letter, free or not."""
        results = {}
        for part in walk(self.expression):
            if isinstance(part, Cells):
                for at, size in zip(part.index, np.shape(self.fetch(part.name)), strict=True):
                    if isinstance(at, Letter):
                        results[at.name] = size
        return results

    @cached_property
    def values(self) -> Array:
        where = {name: Along(n, np.arange(self.sizes[name])) for n, name in enumerate(self.letters)}
        grid = evaluate_expression(self.expression, where, self.fetch, self.sizes)
        cells = np.asarray(grid.cells, dtype=np.float64)
        spread = cells[tuple(slice(None) if n in grid.axes else None for n in range(len(where)))]
        return np.broadcast_to(spread, tuple(self.sizes[name] for name in self.letters))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    def __float__(self) -> float:
        return float(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int | tuple[int, ...]) -> Quantity:
        """Return the quantity with its first letters replaced by numbers, counted from 0."""
        index = index if isinstance(index, tuple) else (index,)
        pairs = {letter: Number(n) for letter, n in zip(self.letters, index, strict=False)}
        quantity = Quantity(_bind(self.expression, pairs), self.fetch)
        if "values" in self.__dict__:
            quantity.__dict__["values"] = self.values[index]
        return quantity

    def __iter__(self) -> Iterator[Quantity]:
        for n in range(len(self)):
            yield self[n]


def _list_free(part: Expression, bound: frozenset[str]) -> Iterator[str]:
    if isinstance(part, Letter) and part.name not in bound:
        yield part.name
    if isinstance(part, Reduction):
        bound |= {part.letter}
    for child in list_children(part):
        yield from _list_free(child, bound)


def _bind(part: Expression, numbers: dict[str, Number]) -> Expression:
    if isinstance(part, Letter):
        return numbers.get(part.name, part)
    if isinstance(part, Reduction) and part.letter in numbers:
        numbers = {name: n for name, n in numbers.items() if name != part.letter}
    return with_children(part, tuple(_bind(child, numbers) for child in list_children(part)))

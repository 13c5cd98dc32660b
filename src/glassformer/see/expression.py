"""The grammar of equations: `scores[h,q,m] = sum[k] query[h,q,k] key[h,m,k] / sqrt(K)`.

A small letter is an index; a capital letter is a size. A name with an index is a cell of a tensor;
any other name is a number of the network's settings. Factors side by side are multiplied first,
so that `sum[k] a b / c` is the sum of all `a b`, divided by `c`. The index of `sum[m]` or
`argmax[v]` is bound: it has no meaning outside. Imports only the standard library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

FUNCTIONS = ("sqrt", "exp", "sin", "cos", "erf", "max", "tanh", "sigmoid", "where")
REDUCTIONS = ("sum", "argmax")

TOKEN = re.compile(r"\d+\.?\d*(?:e-?\d+)?|[A-Za-z_]\w*(?:\.\w+)*|//|\*\*|<=|[!=]=|\S")
LEVELS = (("and",), ("<", "<=", "==", "!="), ("+", "-"), ("*", "/", "//", "%"))


@dataclass(frozen=True)
class Number:
    """A numeric literal."""

    value: float


@dataclass(frozen=True)
class Letter:
    """The value of an index, counted from 0."""

    name: str


@dataclass(frozen=True)
class Constant:
    """A size such as K, or a setting such as `eps`, whose value is not filled in yet."""

    name: str


@dataclass(frozen=True)
class Cells:
    """One cell of a tensor for each value of its index."""

    name: str
    index: tuple[Expression, ...]


@dataclass(frozen=True)
class Operation:
    """An operator between two expressions; " " is the product of factors side by side."""

    sign: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Call:
    """A call of one of FUNCTIONS, applied to each cell."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True)
class Reduction:
    """One of REDUCTIONS, taken over all values of a letter."""

    kind: str
    letter: str
    body: Expression


Expression: TypeAlias = "Number | Letter | Constant | Cells | Operation | Call | Reduction"


@cache
def parse_equation(text: str) -> tuple[Cells, Expression]:
    """Return the left and the right side of an equation. Raises ValueError if it is malformed."""
    left, _, right = text.partition(" = ")
    equation, expression = parse_expression(left), parse_expression(right)
    if not isinstance(equation, Cells):
        raise ValueError(f"{text}: the left side must be a tensor with its indices")
    return equation, expression


@cache
def parse_expression(text: str) -> Expression:
    """Return one expression, such as a side of an equation. Raises ValueError if malformed."""
    return _Parser(text).read()


class _Parser:
    """A recursive descent parser of one expression."""

    def __init__(self, text: str):
        self.text, self.tokens, self.place = text, TOKEN.findall(text), 0

    def read(self) -> Expression:
        result = self._operation(0)
        if self.place < len(self.tokens):
            raise ValueError(f"{self.text}: {self._next()} is not expected there")
        return result

    def _peek(self) -> str:
        return self.tokens[self.place] if self.place < len(self.tokens) else ""

    def _next(self, requested: str = "") -> str:
        token, self.place = self._peek(), self.place + 1
        if not token or (requested and token != requested):
            raise ValueError(
                f"{self.text}: {requested or 'more'} is expected where {token!r} stands"
            )
        return token

    def _operation(self, level: int) -> Expression:
        """Parse operations of one level of precedence, from left to right."""
        below = self._product if level == len(LEVELS) - 1 else lambda: self._operation(level + 1)
        operation = below()
        while self._peek() in LEVELS[level]:
            operation = Operation(self._next(), operation, below())
        return operation

    def _product(self) -> Expression:
        if self._peek() == "-":
            self._next()
            return Operation("-", Number(0), self._product())
        operation = self._power()
        while re.match(r"[\w(]", self._peek()) and self._peek() != "and":
            operation = Operation(" ", operation, self._power())
        return operation

    def _power(self) -> Expression:
        result = self._atom()
        if self._peek() == "**":
            self._next()
            return Operation("**", result, self._atom())
        return result

    def _atom(self) -> Expression:
        token = self._next()
        if token == "(":
            result = self._operation(0)
            self._next(")")
            return result
        if token[0].isdigit():
            return Number(float(token))
        if self._peek() == "[":
            index = self._list("[", "]")
            if token in REDUCTIONS and len(index) == 1 and isinstance(index[0], Letter):
                return Reduction(token, index[0].name, self._product())
            return Cells(token, index)
        if token in FUNCTIONS:
            return Call(token, self._list("(", ")"))
        if token == "inf":
            return Number(float("inf"))
        if not re.match(r"[A-Za-z_]", token):
            raise ValueError(f"{self.text}: {token} is not expected there")
        return Letter(token) if len(token) == 1 and token.islower() else Constant(token)

    def _list(self, begin: str, end: str) -> tuple[Expression, ...]:
        self._next(begin)
        results = [self._operation(0)]
        while self._peek() == ",":
            self._next()
            results.append(self._operation(0))
        self._next(end)
        return tuple(results)


def walk(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all expressions inside it, from left to right."""
    yield expression
    for child in list_children(expression):
        yield from walk(child)


def list_children(expression: Expression) -> tuple[Expression, ...]:
    """Return the direct children of an expression."""
    match expression:
        case Operation(_, left, right):
            return left, right
        case Cells(_, children) | Call(_, children):
            return children
        case Reduction(_, _, body):
            return (body,)
    return ()


def with_children(expression: Expression, children: tuple[Expression, ...]) -> Expression:
    """Return the expression with other direct children."""
    match expression:
        case Operation(sign):
            return Operation(sign, *children)
        case Cells(name):
            return Cells(name, children)
        case Call(function):
            return Call(function, children)
        case Reduction(kind, letter):
            return Reduction(kind, letter, *children)
    return expression


def spell_expression(expression: Expression) -> str:
    """Return an expression as text with all parentheses; `parse_equation` reads it back."""
    match expression:
        case Number(value):
            return "inf" if value == float("inf") else f"{value:.17g}"
        case Letter(name) | Constant(name):
            return name
        case Cells(name, index):
            return f"{name}[{','.join(map(spell_expression, index))}]"
        case Operation("-", Number(0), right):
            return f"(-{spell_expression(right)})"
        case Operation(sign, left, right):
            shown = "" if sign == " " else f"{sign} "
            return f"({spell_expression(left)} {shown}{spell_expression(right)})"
        case Call(function, arguments):
            return f"{function}({','.join(map(spell_expression, arguments))})"
        case Reduction(kind, letter, body):
            return f"({kind}[{letter}] {spell_expression(body)})"

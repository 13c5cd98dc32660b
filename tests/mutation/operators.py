"""Small wrong changes of a source, found in its syntax: what a tired person might write.

Python is read with `ast`, C line by line. A mutant replaces one stretch of the text and leaves the
rest as it is, so that a change can be shown as the line before and after it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256

COMPARE: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "*"),
}
# Calls whose arguments may change places.
SYMMETRIC = {"compare_digest", "intersect1d", "max", "maximum", "min", "minimum"}
IN_C = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "+": "-",
    "-": "+",
    "*": "/",
    "/": "*",
    "&&": "||",
    "||": "&&",
    "+=": "-=",
    "-=": "+=",
}
_BINARY = re.compile(r"(?<=[\w)\]]) ([<>=!]=|[-+]=|&&|\|\||[-+*/<>]) (?=[\w(&!.-])")
_WHOLE = re.compile(r"(?<![\w.])\d+(?![\w.])")
_ASSIGNMENT = re.compile(r"^ *[\w>.-]+(?:\[[^=;]*\])? [-+*/]?= [^;{}]*;$")
_NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|^ *#(?:\\\n|[^\n])*", re.S | re.M)


@dataclass(frozen=True)
class Mutant:
    """One change: `text[start:stop]` becomes `new`."""

    path: str
    line: int
    start: int
    stop: int
    new: str
    before: str  # the line as it is
    after: str  # and as it becomes
    nth: int = 0  # of the changes of this file that look alike

    @property
    def id(self) -> str:
        """The same as long as the line is, wherever in the file it stands."""
        told = (self.path, self.before, self.after, self.nth)
        return sha256(repr(told).encode()).hexdigest()[:16]

    def apply(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.stop :]


def list_mutants(path: str, text: str, lines: set[int] | None = None) -> list[Mutant]:
    """Return all mutants of a file, in the order of its text; of these lines alone, if given."""
    found = _read_python(text) if path.endswith(".py") else _read_c(text)
    seen: dict[tuple[str, str], int] = {}
    mutants = []
    for start, stop, new in sorted(set(found)):
        line = text.count("\n", 0, start) + 1
        if lines is not None and line not in lines:
            continue
        changed = text[:start] + new + text[stop:]
        pair = _show(text, start, stop), _show(changed, start, start + len(new))
        seen[pair] = nth = seen.get(pair, -1) + 1
        mutants.append(Mutant(path, line, start, stop, new, *pair, nth))
    return mutants


def _show(text: str, start: int, stop: int) -> str:
    """Return the lines from `start` to `stop` as one, without white space around them."""
    first, last = text.rfind("\n", 0, start) + 1, text.find("\n", stop)
    return " ".join(text[first : last if last >= 0 else len(text)].split())


class _Python(ast.NodeVisitor):
    """Gathers changes as (start, stop, new); passes over what no test could or should notice:
    annotations, assertions for the type checker, the words of errors, and f-strings."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[tuple[int, int, str]] = []
        self._lines = [0]
        for line in text.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._raw = [line.encode() for line in text.split("\n")]

    def at(self, line: int, column: int) -> int:
        """Return the place in the text; columns of `ast` are bytes."""
        return self._lines[line - 1] + len(self._raw[line - 1][:column].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def change(self, node: ast.expr | ast.stmt, new: str) -> None:
        self.found.append((*self.span(node), new))

    def change_between(self, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """Change the operator that stands between two operands."""
        start, stop = self.span(left)[1], self.span(right)[0]
        pattern = r"\s+".join(map(re.escape, old.split()))
        if old[0].isalpha():
            pattern = rf"\b{pattern}\b"
        if found := re.search(pattern, self.text[start:stop]):
            self.found.append((start + found.start(), start + found.end(), new))

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, kind, right in zip(
            [node.left, *node.comparators], node.ops, node.comparators, strict=False
        ):
            self.change_between(left, right, *COMPARE[type(kind)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        is_text = any(
            isinstance(each, ast.JoinedStr)
            or (isinstance(each, ast.Constant) and isinstance(each.value, str | bytes))
            for each in (node.left, node.right)
        )
        if type(node.op) in ARITHMETIC and not is_text:
            self.change_between(node.left, node.right, *ARITHMETIC[type(node.op)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.change_between(left, right, *words)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            start = self.span(node)[0]  # brackets around the operand are none of it
            rest = self.text[start:].removeprefix("not").lstrip()
            self.found.append((start, len(self.text) - len(rest), ""))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self.change(node, str(not value))
        elif isinstance(value, int):
            self.change(node, str(value + 1))
            self.change(node, str(value - 1) if value else "(-1)")
        elif isinstance(value, float):
            self.change(node, repr(2 * value) if value else "1.0")

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in SYMMETRIC:
            return self.generic_visit(node)
        if len(node.args) >= 2 and not any(isinstance(a, ast.Starred) for a in node.args[:2]):
            one, other = (self.span(each) for each in node.args[:2])
            first, second = self.text[slice(*one)], self.text[slice(*other)]
            if first != second:
                between = self.text[one[1] : other[0]]
                self.found.append((one[0], other[1], second + between + first))
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # of zip: as good as an assertion
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call | ast.Await):
            self.change(node, "pass")
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.change(node, "pass")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(each, ast.Attribute | ast.Subscript) for each in node.targets):
            self.change(node, "pass")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self.change(node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self.change(node, "pass")

    def visit_Return(self, node: ast.Return) -> None:
        if isinstance(node.value, ast.Compare | ast.BoolOp):
            start, stop = self.span(node.value)
            self.found.append((start, stop, f"not ({self.text[start:stop]})"))
        elif node.value is not None and not isinstance(node.value, ast.Constant):
            self.change(node.value, "None")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.change(node, "pass")

    def visit_arg(self, node: ast.arg) -> None:
        pass

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for each in (node.args, *node.body):
            self.visit(each)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in node.body:
            self.visit(each)

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass


def _read_python(text: str) -> list[tuple[int, int, str]]:
    reader = _Python(text)
    reader.visit(ast.parse(text))
    return reader.found


def _read_c(text: str) -> Iterator[tuple[int, int, str]]:
    code = _NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in _BINARY.finditer(code):
        yield found.start(1), found.end(1), IN_C[found[1]]
    for found in _WHOLE.finditer(code):
        yield found.start(), found.end(), str(int(found[0]) + 1)
        if int(found[0]):
            yield found.start(), found.end(), str(int(found[0]) - 1)
    place = 0
    for line in code.splitlines(keepends=True):
        if _ASSIGNMENT.fullmatch(line.rstrip("\n")):
            start = place + len(line) - len(line.lstrip())
            yield start, place + len(line.rstrip()), ";"
        place += len(line)

"""Write equations as formulas, and explanations as text, LaTeX and NumPy code. No torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from .catalogue import look_up
from .expression import Call, Cells, Expression, Letter, Number, Operation, Reduction, walk
from .opgraph import Equation

if TYPE_CHECKING:
    from .explain import Explanation, Term

SHOWN = 12  # terms of a long sum that are written
NAMED = 3  # terms before the dots in LaTeX

# The precedence of each operator; an expression of lower precedence than its parent gets
# parentheses.
TIGHTNESS = {
    "and": 0,
    **dict.fromkeys(("<", "<=", "==", "!="), 1),
    **dict.fromkeys("+-", 2),
    **dict.fromkeys(("*", "/", "//", "%"), 3),
    " ": 4,
    "**": 5,
}
SUM, ATOM = 4, 6
SIGNS = {" ": "·", "*": "·", "<=": "≤", "!=": "≠", "==": "="}

WriteCells = Callable[[Cells], str]


def to_formula(equation: Equation) -> str:
    """Return the formula of a tensor in letters; only its name if it has no right side."""
    letters = [axis.letter for axis in equation.axes]
    name = shorten_name(equation.name, equation)
    left = f"{name}[{','.join(letters)}]" if letters else name
    if equation.right is None:
        return left
    right = spell_out(equation.right, lambda cells: _write_letters(cells, equation))
    return f"{left} = {right}"


def shorten_name(name: str, equation: Equation) -> str:
    """Return a name without the module's name that it shares with the equation's tensor."""
    return name.removeprefix(equation.name.rpartition(".")[0] + ".")


def _write_letters(cells: Cells, equation: Equation) -> str:
    def within(inner: Cells) -> str:
        return _write_letters(inner, equation)

    index = ",".join(spell_out(each, within).replace(" ", "") for each in cells.index)
    return f"{shorten_name(cells.name, equation)}[{index}]"


def spell_out(part: Expression, cells: WriteCells, around: int = 0) -> str:
    """Return an expression as text; the function `cells` writes a tensor's cells."""
    text, tightness = _write_bare(part, cells)
    return f"({text})" if tightness < around else text


def _write_bare(part: Expression, cells: WriteCells) -> tuple[str, int]:
    """Return an expression as text, and the precedence of its outermost operator."""
    match part:
        case Number(value):
            return ("∞" if value == float("inf") else f"{value:.12g}"), ATOM
        case Letter(name):
            return name, ATOM
        case Cells():
            return cells(part), ATOM
        case Operation("-", Number(0), right):
            return f"-{spell_out(right, cells, 3)}", 2
        case Operation("**", left, right):
            return (f"{spell_out(left, cells, ATOM)}^{spell_out(right, cells, ATOM)}", 5)
        case Operation(sign, left, right):
            tight = TIGHTNESS[sign]
            shown = SIGNS.get(sign, sign)
            after = tight + (sign not in "+* and")
            return (
                f"{spell_out(left, cells, tight)} {shown} {spell_out(right, cells, after)}",
                tight,
            )
        case Reduction(kind, letter, body):
            sign = "Σ" if kind == "sum" else kind
            return f"{sign}_{letter} {spell_out(body, cells, SUM)}", SUM
        case Call("sqrt", (inner,)):
            return f"√{spell_out(inner, cells, ATOM)}", ATOM
        case Call("exp", (Cells() as inner,)):
            return f"exp {cells(inner)}", SUM
        case Call("where", (condition, yes, no)):
            chosen = f"{spell_out(yes, cells, 1)} where {spell_out(condition, cells)}"
            return f"{chosen}, else {spell_out(no, cells, 1)}", 0
        case Call(function, arguments):
            return (f"{function}({', '.join(spell_out(each, cells) for each in arguments)})", ATOM)
    raise ValueError(f"{part} cannot be written")


def write_term(part: Expression, results: Callable[[Cells], tuple[str, float]]) -> str:
    """Return an expression as text, with the index and the number of each cell."""

    def cells(inner: Cells) -> str:
        name, value = results(inner)
        return f"{name} {value:.6g}"

    return spell_out(part, cells)


def to_text(explanation: Explanation) -> str:
    """Return an explanation as lines: the terms, or the largest of many, with a running sum."""
    index = ",".join(map(str, explanation.index))
    lines = [
        f"{explanation.name}[{index}] = {explanation.value:.6g}",
        *_tell(explanation),
        f"  {explanation.formula}",
    ]
    if explanation.op.right is None:
        return "\n".join(lines)
    lines += _list_terms(explanation.terms)
    if explanation.divisor:
        lines.append("  divided by the sum of")
        lines += _list_terms(explanation.divisor)
    elif explanation.scale != 1:
        lines.append(f"  times {explanation.scale:.6g}")
    if explanation.bias:
        lines.append(f"  plus {explanation.bias:.6g}")
    if explanation.function:
        lines.append(f"  and of that the {explanation.function}")
    if explanation.mask is False:
        lines.append("  hidden by the mask")
    lines.append(f"  = {explanation.recomputed:.6g}")
    if explanation.trace.edits and abs(explanation.value - explanation.recomputed) > 1e-3 * max(
        1, abs(explanation.value)
    ):
        lines.append(f"  but an edit put {explanation.value:.6g} in its place")
    return "\n".join(lines)


def _list_terms(terms: tuple[Term, ...]) -> Iterator[str]:
    numbered = list(enumerate(terms))
    sums = list(accumulate(term.value for term in terms))
    if len(numbered) > SHOWN:
        largest = sorted(numbered, key=lambda pair: -abs(pair[1].value))[:SHOWN]
        numbered = sorted(largest, key=lambda pair: pair[0])
    for place, term in numbered:
        yield f"  {term.text} = {term.value: .6g}   (sum so far {sums[place]: .6g})"
    if hidden := len(terms) - len(numbered):
        yield f"  and {hidden} smaller terms; all {len(sums)} sum to {sums[-1]:.6g}"


def _tell(explanation: Explanation) -> Iterator[str]:
    """Yield the index of the cell with its tokens, and the catalogue's text about the tensor."""
    trace = explanation.trace
    places = []
    for axis, place in zip(explanation.op.axes, explanation.index, strict=False):
        side = find_side(explanation.name, axis.dim)
        token = f" {getattr(trace, side)[place].text!r}" if side else ""
        if axis.dim == "vocabulary" and trace.vocabulary is not None:
            token = f" {trace.vocabulary[place]!r}"
        places.append(f"{axis.dim} {place}{token}")
    if places:
        yield f"  {', '.join(places)}"
    if entry := look_up(
        explanation.name, explanation.op.module, explanation.trace.settings.network
    ):
        yield f"  {entry.en}"


def find_side(name: str, dim: str) -> str | None:
    """Return whether an axis counts source or target tokens; None if neither."""
    if dim in ("source", "target"):
        return dim
    if dim not in ("query", "key"):
        return None
    is_source = name.startswith("encoder") or (dim == "key" and "cross_attention" in name)
    return "source" if is_source else "target"


def to_latex(explanation: Explanation) -> str:
    """Return LaTeX: an `aligned` of symbol, numbers and value; long sums are shortened."""
    entry = look_up(explanation.name, explanation.op.module, explanation.trace.settings.network)
    last = explanation.name.rpartition(".")[2].replace("_", r"\_")
    symbol = entry.symbol if entry else rf"\mathrm{{{last}}}"
    symbol = rf"\Big[{symbol}\Big]_{{{','.join(map(str, explanation.index))}}}"
    value = _write_number(explanation.recomputed)
    if explanation.op.right is None or explanation.name.endswith(".masked"):
        return rf"\begin{{aligned}} {symbol} &= {value} \end{{aligned}}"
    numbers = _Latex(explanation).write(explanation.op.right, {})
    return rf"\begin{{aligned}} {symbol} &= {numbers} \\ &= {value} \end{{aligned}}"


class _Latex:
    """A writer of an equation in LaTeX, with the numbers of one cell."""

    def __init__(self, explanation: Explanation):
        self.reader = explanation.reader

    def write(self, part: Expression, at: dict[str, int], around: int = 0) -> str:
        text, tightness = self._write_bare(part, at)
        return rf"\left( {text} \right)" if tightness < around else text

    def _write_bare(self, part: Expression, at: dict[str, int]) -> tuple[str, int]:
        match part:
            case Operation("/", left, right):
                return rf"\frac{{{self.write(left, at)}}}{{{self.write(right, at)}}}", ATOM
            case Operation("**", left, right):
                return f"{self.write(left, at, ATOM)}^{{{self.write(right, at)}}}", 5
            case Operation("-", Number(0), right):
                return f"-{self.write(right, at, 3)}", 2
            case Operation("+" | "-" | "*" | " " as sign, left, right):
                tight = TIGHTNESS[sign]
                shown = r"\cdot" if sign in "* " else sign
                after = tight + (sign == "-")
                return (
                    f"{self.write(left, at, tight)} {shown} {self.write(right, at, after)}",
                    tight,
                )
            case Reduction("sum", letter, body):
                size = self.reader.equation.sizes[letter]
                kept = [*range(NAMED), size - 1] if size > NAMED + 2 else list(range(size))
                terms = [self.write(body, {**at, letter: n}, 3) for n in kept]
                if len(kept) < size:
                    terms.insert(NAMED, r"\cdots")
                return " + ".join(terms), 2 if size > 1 else ATOM
            case Call("sqrt", (inner,)):
                return rf"\sqrt{{{self.write(inner, at)}}}", ATOM
            case Call("exp", (inner,)):
                return f"e^{{{self.write(inner, at)}}}", 5
            case Call("sigmoid", (inner,)):
                return rf"\sigma\left( {self.write(inner, at)} \right)", ATOM
            case Call("sin" | "cos" | "max" | "tanh" as function, arguments):
                text = ", ".join(self.write(each, at) for each in arguments)
                return rf"\{function}\left( {text} \right)", ATOM
        return _write_number(self.reader.move(at).value(part)), ATOM


def _write_number(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return r"-\infty" if value < 0 else r"\infty"
    digits, _, power = f"{value:.4g}".partition("e")
    digits += rf" \times 10^{{{int(power)}}}" if power else ""
    return f"({digits})" if value < 0 else digits


def to_numpy(explanation: Explanation) -> str:
    """Return NumPy code that computes the number from a recording named `trace`."""
    equation = explanation.op
    lines = ["import math", "", "import numpy as np", ""]
    index = ", ".join(map(str, explanation.index))
    if equation.right is None:
        return "\n".join([*lines, f'value = trace["{equation.name}"][{index}]', ""])
    for part in walk(equation.right):
        if isinstance(part, Reduction):
            line = f"{part.letter} = np.arange({equation.sizes[part.letter]})"
            lines += [line] if line not in lines else []
    letters = (axis.letter for axis in equation.axes)
    at = {letter: str(place) for letter, place in zip(letters, explanation.index, strict=True)}
    lines.append('with np.errstate(over="ignore"):')
    return "\n".join([*lines, f"    value = {_code(equation.right, at)}", ""])


NUMPY = {
    "sqrt": "np.sqrt",
    "exp": "np.exp",
    "sin": "np.sin",
    "cos": "np.cos",
    "erf": "math.erf",
    "max": "np.maximum",
    "tanh": "np.tanh",
    "where": "np.where",
}


def _code(part: Expression, at: dict[str, str], around: int = 0) -> str:
    text, tightness = _code_bare(part, at)
    return f"({text})" if tightness < around else text


def _code_bare(part: Expression, at: dict[str, str]) -> tuple[str, int]:
    match part:
        case Number(value):
            return ("np.inf" if value == float("inf") else f"{value:.17g}"), ATOM
        case Letter(name):
            return at.get(name, name), ATOM
        case Cells(name, index):
            places = ", ".join(_code(each, at) for each in index)
            result = f'trace["{name}"][{places}]'
            return (result if name.endswith(".ids") else f"np.float64({result})"), ATOM
        case Operation("/", Call("exp", (above,)), Reduction("sum", letter, Call("exp", (below,)))):
            inner = _code(below, {key: at[key] for key in at if key != letter})
            top = f"np.max({inner})"  # subtracted from both against overflow
            return f"np.exp({_code(above, at)} - {top}) / np.sum(np.exp({inner} - {top}))", 3
        case Operation("and", left, right):
            return f"np.logical_and({_code(left, at)}, {_code(right, at)})", ATOM
        case Operation("-", Number(0), right):
            return f"-{_code(right, at, 3)}", 2
        case Operation(sign, left, right):
            tight = min(TIGHTNESS[sign], 3) if sign != "**" else 5
            shown = "*" if sign == " " else sign
            before = ATOM if sign == "**" else tight
            return f"{_code(left, at, before)} {shown} {_code(right, at, tight + 1)}", tight
        case Reduction(kind, letter, body):
            inner = _code(body, {key: at[key] for key in at if key != letter})
            return f"np.{kind}({inner})", ATOM
        case Call("sigmoid", (inner,)):
            return f"1 / (1 + np.exp(-{_code(inner, at, ATOM)}))", 3
        case Call(function, arguments):
            return f"{NUMPY[function]}({', '.join(_code(each, at) for each in arguments)})", ATOM
    raise ValueError(f"{part} cannot be written")

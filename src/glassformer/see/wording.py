"""An explanation as a formula, as text, as LaTeX and as NumPy code. Imports no torch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from ..config import Positions
from .catalogue import look_up
from .ops import LINEAR, Op, Operand

if TYPE_CHECKING:
    from .explain import Explanation
    from .terms import Cell, Term

SHOWN = 12  # terms written out of many


def to_formula(op: Op) -> str:
    """How any cell of a tensor is made, in letters."""
    letters = [axis.letter for axis in op.axes]
    left = f"{_shorten(op.name, op)}[{','.join(letters)}]" if letters else op.name
    return f"{left} = {_write_right(op)}" if op.kind not in ("input", "parameter") else left


def _write_right(op: Op) -> str:
    named = [_write(operand, op) for operand in op.operands]
    x, over = (named or [""])[0], op.over.letter if op.over else ""
    if op.kind in LINEAR:
        joined = f"Σ_{over} {' · '.join(named)}" if over else " + ".join(named)
        scaled = f"{op.scale_formula} · {joined}" if op.scale_formula else joined
        return f"{scaled} + {_write(op.bias, op)}" if op.bias else scaled
    if op.kind == "position":
        pair = "d//2" if op.detail.layout == "interleaved" else f"d%{op.axes[1].size // 2}"
        return f"sin or cos of (q + {op.detail.offset}) · 10000^(-{pair} / steps)"
    if op.kind == "layernorm":
        row, x, gain = named
        spread = f"√(variance_{over} {row} + {op.detail})"
        assert op.bias
        return f"({x} - mean_{over} {row}) / {spread} · {gain} + {_write(op.bias, op)}"
    seen = f" where {_write(op.mask, op)}" if op.mask else ""
    axis = over or (op.axes[-1].letter if op.axes else "")
    return {
        "softmax": f"exp {x} / Σ_{axis} exp {x}{seen}",
        "masked": f"{x}{seen}, else -∞",
        "mask": f"{x} is no padding{', and m <= q' if op.detail else ''}",
        "mean": f"mean_{axis} {x}",
        "deviation": f"√(variance_{axis} {x} + {op.detail})",
        "argmax": f"argmax_{axis} {x}",
    }.get(op.kind, f"{op.kind}({x})")


def _write(operand: Operand, op: Op) -> str:
    return f"{_shorten(operand.name, op)}[{','.join(operand.index)}]"


def _shorten(name: str, op: Op) -> str:
    """Without the module that both are part of."""
    return name.removeprefix(op.name.rpartition(".")[0] + ".")


def to_text(found: Explanation) -> str:
    """For a terminal: the terms with their running sum, or the largest of many."""
    index = ",".join(map(str, found.index))
    lines = [f"{found.name}[{index}] = {found.value:.6g}", *_say(found), f"  {found.formula}"]
    if not found.terms[0].operands:
        return "\n".join(lines)
    numbered = list(enumerate(found.terms))
    sums = list(accumulate(term.value for term in found.terms))
    if len(numbered) > SHOWN:
        largest = sorted(numbered, key=lambda pair: -abs(pair[1].value))[:SHOWN]
        numbered = sorted(largest, key=lambda pair: pair[0])
    for place, term in numbered:
        made = f"{_show(term, found.op)} = {term.value: .6g}"
        lines.append(f"  {made}   (sum so far {sums[place]: .6g})")
    if hidden := len(found.terms) - len(numbered):
        lines.append(f"  and {hidden} smaller terms; all {len(sums)} sum to {sums[-1]:.6g}")
    if found.scale != 1:
        lines.append(f"  times {found.scale:.6g}")
    if found.op.bias:
        lines.append(f"  plus the bias {found.bias:.6g}")
    if found.mask is False:
        lines.append("  hidden by the mask")
    lines.append(f"  = {found.recomputed:.6g}")
    if found.trace.edits and abs(found.value - found.recomputed) > 1e-3 * max(1, abs(found.value)):
        lines.append(f"  but an edit put {found.value:.6g} in its place")
    return "\n".join(lines)


def _say(found: Explanation) -> Iterator[str]:
    """Where the cell is, in pieces, and what the tensor is, in words."""
    trace = found.trace
    places = []
    for axis, place in zip(found.op.axes, found.index, strict=False):
        side = find_side(found.name, axis.dim)
        piece = f" {getattr(trace, side)[place].text!r}" if side else ""
        if axis.dim == "vocabulary" and trace.vocabulary is not None:
            piece = f" {trace.vocabulary[place]!r}"
        places.append(f"{axis.dim} {place}{piece}")
    if places:
        yield f"  {', '.join(places)}"
    if entry := look_up(found.name):
        yield f"  {entry.en}"


def find_side(name: str, dim: str) -> str | None:
    """Whose pieces an axis counts: source, target, or neither."""
    if dim in ("source", "target"):
        return dim
    if dim not in ("query", "key"):
        return None
    is_source = name.startswith("encoder") or (dim == "key" and "cross_attention" in name)
    return "source" if is_source else "target"


def _show(term: Term, op: Op) -> str:
    if len(term.operands) > 2:
        return f"{_name(term.operands[0], op)} among {len(term.operands) - 1} others"
    return " · ".join(_name(cell, op) for cell in term.operands)


def _name(cell: Cell, op: Op) -> str:
    index = ",".join(map(str, cell.index))
    return f"{_shorten(cell.name, op)}[{index}] {cell.value:.6g}"


def to_latex(found: Explanation) -> str:
    """An `aligned` of symbol, numbers and value; the middle of many terms is left out."""
    entry = look_up(found.name)
    last = found.name.rpartition(".")[2].replace("_", r"\_")
    symbol = entry.symbol if entry else rf"\mathrm{{{last}}}"
    symbol = rf"\Big[{symbol}\Big]_{{{','.join(map(str, found.index))}}}"
    if found.op.kind == "masked" and not found.mask:
        return rf"\begin{{aligned}} {symbol} &= -\infty \end{{aligned}}"
    numbers = [_write_latex(term) for term in found.terms]
    if len(numbers) > 6:
        numbers = [*numbers[:3], r"\cdots", numbers[-1]]
    joined = " + ".join(numbers)
    if found.scale != 1:
        joined = rf"{_write_number(found.scale)} \, \big( {joined} \big)"
    if found.op.bias:
        joined += f" + {_write_number(found.bias)}"
    if found.op.kind == "deviation":
        joined = rf"\sqrt{{{joined}}}"
    value = _write_number(found.recomputed)
    return rf"\begin{{aligned}} {symbol} &= {joined} \\ &= {value} \end{{aligned}}"


def _write_latex(term: Term) -> str:
    """A product of the operands where it is one, else the number."""
    values = [cell.value for cell in term.operands]
    if len(values) == 2 and abs(values[0] * values[1] - term.value) <= 1e-9 * abs(term.value):
        return r" \cdot ".join(map(_write_number, values))
    return _write_number(term.value)


def _write_number(value: float) -> str:
    if value in (float("inf"), float("-inf")):
        return r"-\infty" if value < 0 else r"\infty"
    digits, _, power = f"{value:.4g}".partition("e")
    digits += rf" \times 10^{{{int(power)}}}" if power else ""
    return f"({digits})" if value < 0 else digits


def to_numpy(found: Explanation) -> str:
    """Runs where `trace` is the recording."""
    op = found.op
    at = {axis.letter: place for axis, place in zip(op.axes, found.index, strict=False)}
    axis = op.over or (op.axes[-1] if op.kind in ("softmax", "argmax") else None)
    lines = ["import math", "", "import numpy as np", ""]
    if axis:
        lines.append(f"{axis.letter} = np.arange({axis.size})")
    inner = {letter: place for letter, place in at.items() if not axis or letter != axis.letter}
    names = "xyz"
    for name, operand in zip(names, op.operands, strict=False):
        lines.append(f"{name} = {_fetch(found, operand, inner)}")
    if op.mask:
        lines.append(f"x = np.where({_fetch(found, op.mask, inner)} > 0, x, -np.inf)")
    if op.kind == "softmax":
        lines.append("x = np.exp(x - x.max())")
    if op.bias:
        lines.append(f"bias = {_fetch(found, op.bias, inner)}")
    return "\n".join([*lines, f"value = {_compute(found, at)}", ""])


def _fetch(found: Explanation, operand: Operand, at: dict[str, int]) -> str:
    """Cells of an operand, with numbers for the letters that are fixed."""
    index = ", ".join(operand.index)
    if found.op.kind == "gather":
        index = index.replace("ids[q]", str(found.trace[found.op.detail][at["q"]]))
    index = re.sub(r"\b[a-z]\b", lambda match: str(at.get(match[0], match[0])), index)
    return f'np.float64(trace["{operand.name}"][{index}])'


def _compute(found: Explanation, at: dict[str, int]) -> str:
    op, bias = found.op, " + bias" if found.op.bias else ""
    if op.kind in ("input", "parameter"):
        return f'trace["{op.name}"][{", ".join(map(str, found.index))}]'
    if op.kind == "position":
        return _compute_position(op.detail, op.axes[1].size, *found.index)
    if op.kind in LINEAR:
        made = "np.sum(x * y)" if op.over else " + ".join("xyz"[: len(op.operands)])
        return f"{op.scale!r} * {made}{bias}" if op.scale != 1 else f"{made}{bias}"
    own = at.get(op.axes[-1].letter)
    return {
        "softmax": f"x[{own}] / np.sum(x)",
        "masked": "x",
        "mask": f"x != 0 and {at.get('m')} <= {at.get('q') if op.detail else at.get('m')}",
        "layernorm": f"(y - x.mean()) / np.sqrt(x.var() + {op.detail}) * z{bias}",
        "mean": "x.mean()",
        "deviation": f"np.sqrt(x.var() + {op.detail})",
        "argmax": "x.argmax()",
        "relu": "max(x, 0)",
        "silu": "x * np.exp(-np.logaddexp(0, -x))",
        "gelu": "x * (1 + math.erf(x / math.sqrt(2))) / 2",
    }[op.kind]


def _compute_position(settings: Positions, d_model: int, q: int, d: int) -> str:
    half = d_model // 2
    steps = half if settings.grid == "paper" else max(half - 1, 1)
    is_interleaved = settings.layout == "interleaved"
    frequency, is_sine = (d // 2, d % 2 == 0) if is_interleaved else (d % half, d < half)
    angle = f"{q + settings.offset} * 10000 ** (-{frequency} / {steps})"
    return f"{settings.amplitude} * math.{'sin' if is_sine else 'cos'}({angle})"

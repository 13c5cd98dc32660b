"""Text in lines and runs, measured before anything is drawn.

Between dollar signs stands a formula: `$W_Q x$` has an italic W with a small Q below the line.
Single letters are italic, words upright; `_` lowers and `^` raises the letter or the {group}
that follows. A lone dollar sign is itself, and `quote` makes all of a text so.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from typing import NamedTuple

from .fonts import direct, make_writable, measure_width, shorten_text

ATOM = re.compile(  # what stays on one line; a space that does not break is part of a word
    r"[\u3000-\u9fff\uff00-\uffef][，。；：、！？）》」』”]*"
    r"|(?:[^\s\u3000-\u9fff\uff00-\uffef]|[\u00a0\u202f]|(?<=\d) (?=%))+|[^\S\u00a0\u202f]+"
)
SCRIPT, LOWER, RAISE = 0.74, 0.22, -0.36  # size of an index, and its shift in sizes


class TextRun(NamedTuple):
    """A piece of a line in one style."""

    text: str
    size: float
    width: float
    italic: bool = False
    drop: float = 0.0  # below the line


class TypeStyle(NamedTuple):
    """The type of a text."""

    size: float
    bold: bool = False
    mono: bool = False


Line = tuple[TextRun, ...]


@lru_cache(maxsize=4096)
def set_lines(text: str, style: TypeStyle, width: float | None = None) -> tuple[Line, ...]:
    """Return the lines of a text, none wider than `width` unless one word is."""
    lines = []
    for part in text.split("\n"):
        lines += _wrap(_cut(part, style), width)
    return tuple(_join(line, style) for line in lines)


def balance_width(text: str, style: TypeStyle, width: float) -> float:
    """Return the least width at which a text has no more lines than at `width`."""
    count, widths = len(set_lines(text, style, width)), range(int(width / 2), int(width), 4)
    if count == 1:
        return width
    fits = bisect_left(widths, True, key=lambda each: len(set_lines(text, style, each)) <= count)
    return float(widths[fits]) if fits < len(widths) else width


def fit_text(text: str, style: TypeStyle, width: float) -> str:
    """Return as much of the text as fits, ending in an ellipsis if that is not all."""
    return shorten_text(make_writable(text), width, style.size, style.bold, style.mono)


def quote(text: str) -> str:
    """Return a text of somebody else, in which dollar signs begin no formula."""
    return text.replace("$", r"\$")


def width_of(line: Line) -> float:
    return sum(run.width for run in line)


def _cut(text: str, style: TypeStyle) -> list[Line]:
    """Return the parts between which a line may be broken."""
    atoms: list[Line] = []
    parts = re.split(r"(?<!\\)\$", text)
    for n, part in enumerate(parts if len(parts) % 2 else ["$".join(parts)]):
        if n % 2:
            formula = tuple(_set_formula(part, style))
            atoms.append(formula)
        else:
            atoms += [
                (_make_run(word, style),)
                for word in ATOM.findall(make_writable(part.replace(r"\$", "$")))
            ]
    return _glue(atoms)


def _glue(atoms: list[Line]) -> list[Line]:
    """Join what stands without a space beside a formula to it, so that no line ends between."""
    lines: list[Line] = []
    for atom in atoms:
        is_formula = len(atom) > 1 or any(run.italic or run.drop for run in atom)
        before = lines[-1][-1] if lines else None
        after_formula = before is not None and (before.italic or before.drop)
        sticks = (
            is_formula and before is not None and re.match(r"[(“‘√·]$", before.text[-1:])
        ) or (after_formula and re.match(r"[).,;:”’，。；：）]", atom[0].text))
        if sticks:
            lines[-1] = (*lines[-1], *atom)
        else:
            lines.append(atom)
    return lines


def _wrap(atoms: list[Line], width: float | None) -> list[list[TextRun]]:
    lines: list[list[TextRun]] = [[]]
    for atom in atoms:
        is_space = not atom[0].text.strip()
        full = width_of(tuple(lines[-1])) + width_of(atom)
        if lines[-1] and not is_space and width is not None and full > width:
            lines.append([])
        if lines[-1] or not is_space or len(lines) == 1:
            lines[-1] += atom
    for line in lines:
        while len(line) > 1 and not line[-1].text.strip():
            line.pop()
    return lines


def _join(line: list[TextRun], style: TypeStyle) -> Line:
    """Join runs of the same style, so that a plain line is one run."""
    runs: list[TextRun] = []
    for run in line:
        if runs and runs[-1][1:2] + runs[-1][3:] == run[1:2] + run[3:]:
            text = runs.pop().text + run.text
            runs.append(_make_run(text, style._replace(size=run.size), run.italic, run.drop))
        else:
            runs.append(run)
    return tuple(runs) or (TextRun("", style.size, 0.0),)


def _set_formula(text: str, style: TypeStyle) -> list[TextRun]:
    formula, shift = [], 0.0
    for part in re.findall(
        r"\{[^}]*\}|[_^]|[A-Za-zα-ωΑ-Ω]+[\u0300-\u036f]?|\d+|[^A-Za-z_^{}α-ωΑ-Ω\d]+", text
    ):
        if part in "_^":
            shift = LOWER if part == "_" else RAISE
            continue
        bare = part.strip("{}")
        small = style._replace(size=style.size * (SCRIPT if shift else 1.0))
        drop, shift = shift * style.size, 0.0
        for letters in re.split(r"(,)", bare) if drop else [bare]:
            formula.append(_make_run(letters, small, is_letter(letters), drop))
    return formula


def is_letter(text: str) -> bool:
    """Return whether it is one letter, which may have an accent."""
    return re.fullmatch(r"[A-Za-zα-ω][\u0300-\u036f]?", text) is not None


def _make_run(text: str, style: TypeStyle, italic: bool = False, drop: float = 0.0) -> TextRun:
    text = direct(text)
    width = measure_width(text, style.size, style.bold, style.mono, italic=italic)
    return TextRun(text, style.size, width, italic, drop)

"""The figure of one number: the cells it is made of, and the sum counted up term by term (V112)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from glassformer.see.explain import Explanation, Term, read_cell

from .attention import choose_row, find_sharpest
from .parts import grammar as g
from .parts import style
from .parts.selection import find_attention, keep_largest, tell_tokens

STEPS, MOST, WINDOW = 8, 16, 24  # of an animation; terms with a column; rows around one of many
WIDE, CELL = 528.0, 44.0  # all terms; one at most
INKS = "key", "value"  # of what is added and taken away


class Operand(NamedTuple):
    """A tensor that enters every term: the matrix in which its cells are a row, and which row."""

    name: str
    cells: g.Quantity  # one for each term
    matrix: g.Array  # the row of cells, or with its neighbours
    row: int


@g.figure("number")
def draw_number(plan: g.Outline, *, cell: str = "") -> g.Scene:
    """Show how one number was made: row times column, and the sum of its terms (V112).

    cell: the number, as memory[3,0]. By default it is what a head reads for an interesting word.
    """
    result = plan.trace.explain(*(read_cell(cell) if cell else _choose_cell(plan.trace)))
    below = len(result.terms) == 1 and len(result.divisor) > 1  # a share: the sum is what divides
    terms = result.divisor if below else result.terms
    values = np.array([term.value for term in terms])
    count, names = len(terms), _name_terms(plan, result, len(terms))
    operands = _find_operands(plan, terms)
    products = _find_products(plan, operands, values)
    shown = keep_largest(np.abs(values), MOST if count <= MOST else MOST - 1)
    rest = plan.give("others", [values.sum() - values[shown].sum()]) if len(shown) < count else None
    parts = [*values[shown], *(rest.values if rest else ())]
    running, columns = plan.give("running", np.cumsum(parts)), len(parts)
    size = -(-columns // STEPS)
    chunks = [range(n, min(n + size, columns)) for n in range(0, columns, size)]
    pitch = min(CELL, WIDE / columns)
    rows: list[list[g.Node]] = []
    for operand, role in zip(operands, ("query", "value"), strict=False):
        head = g.small(_shorten(operand.name), role, fit=96)
        scale = _choose_scale(operand.name)
        rows.append([head, _lay_cells(operand.cells, shown, chunks, pitch, scale=scale)])
    if len(operands) != 1:
        cells = _lay_cells(products, shown, chunks, pitch, rest)
        rows.append([plan.label("products", style.SMALL), cells])
    total = Counter(running, chunks, [*map(float, parts)])
    fall = Waterfall(running, chunks, pitch, total)
    rows.append([plan.label("sum", style.SMALL, bold=True), fall])
    heads = [names[n] for n in shown] + [plan.say("others", n=count - len(shown))] * bool(rest)
    labels = [g.Label(name, style.SMALL, fit=pitch - 2, align="middle") for name in heads]
    rows.insert(0, [g.Spacer(), _space_out(labels, pitch)])
    best = int(np.abs(values).argmax())
    place = shown.index(best)
    text = plan.say("largest", word=names[best], value=g.spell(values[best]))
    own = f"{result.name}[{','.join(map(str, result.index))}]"
    reader = _find_reader(plan, result)
    key = "share_of" if below else "single" if count == 1 else "title_read" if reader else "title"
    end = _show_end(plan, result, plan.of(own), below)
    end.at(len(chunks), turn=len(chunks[-1]) - 1)
    side: g.Side = "below" if (place + 2) * pitch < (columns * pitch - 90) else "left"
    callout = g.Callout(f"bar {place}", text, side, 90, place // size + 1, products[best])
    rows.append([g.Spacer(), g.Slot(end, fall.width, "end")])
    return plan.compose(
        g.middle(
            _show_matrices(plan, result, operands, _stretch(chunks, count)),
            g.Columns(rows, gap=(10, 6), align="rl"),
            gap=style.APART,
        ),
        title=key,
        reader=reader,
        read=plan.say("read", reader=reader) if reader else "",
        most=g.spell(values[best]),
        name=own,
        formula=result.formula,
        more=plan.say("more", n=count - len(shown)) if rest else "",
        callouts=[callout] if count > 1 else [],
        captions=[_caption(plan, chunk, heads, running, count) for chunk in chunks],
        value=g.spell(float(plan.of(own))),
        n=count,
        word=names[best],
        part=g.percent(abs(values[best]) / max(1e-12, np.abs(values).sum())),
    )


def _choose_cell(trace: Any) -> tuple[str, tuple[int, ...]]:
    """Return the largest number that the sharpest head of the first layer reads for a word."""
    attention = find_attention(trace, "encoder", 0)
    row = choose_row(trace, attention, None)
    head = find_sharpest(attention, trace[f"{attention.name}.weights"], row)
    name = f"{attention.name}.context"
    return name, (head, row, int(np.abs(trace[name][head, row]).argmax()))


def _find_reader(plan: g.Outline, explanation: Explanation) -> str:
    """Return the token for which a head read the number; nothing if no head did."""
    if "attention" not in explanation.name or not explanation.name.endswith(".context"):
        return ""
    texts = plan.target if explanation.name.startswith("decoder") else plan.source
    return texts[explanation.index[-2]]


def _name_terms(plan: g.Outline, explanation: Explanation, count: int) -> list[str]:
    """Return the token of each term if the sum runs over tokens, else its number."""
    trace = plan.trace
    written = explanation.name.startswith("decoder") and "cross" not in explanation.name
    texts = tell_tokens(trace.target if written else trace.source)
    over = "attention" in explanation.name and explanation.name.endswith((".context", ".weights"))
    return texts if over and len(texts) == count else [plan.say("term", n=n) for n in range(count)]


def _find_operands(plan: g.Outline, terms: Sequence[Term]) -> list[Operand]:
    """Return the tensors of which every term has one cell, those that depend on the text first."""
    operands: list[Operand] = []
    for cells in zip(*(term.operands for term in terms), strict=False):
        if len({cell.name for cell in cells}) != 1:
            continue
        places = np.array([cell.index for cell in cells])
        name, moving = cells[0].name, np.flatnonzero(np.ptp(places, axis=0))
        tensor = np.asarray(plan.trace[name], dtype=float)
        if len(moving) != 1 or len(terms) != tensor.shape[moving[0]]:
            values = plan.give(f"operand_{len(operands)}", [cell.value for cell in cells])
            operands.append(Operand(name, values, values.values[None], 0))
            continue
        axis, at = int(moving[0]), list(cells[0].index)
        index = ",".join("j" if n == axis else str(place) for n, place in enumerate(at))
        other = max((n for n in range(tensor.ndim) if n != axis), default=axis)
        where = tuple(slice(None) if n in (axis, other) else at[n] for n in range(tensor.ndim))
        matrix = np.atleast_2d(tensor[where] if axis > other else tensor[where].T)
        row = at[other] if other != axis else 0
        first = max(0, min(row - WINDOW // 2, len(matrix) - WINDOW))
        matrix = matrix[first : first + WINDOW]
        operands.append(Operand(name, plan.of(f"{name}[{index}]"), matrix, row - first))
    return operands


def _find_products(plan: g.Outline, operands: Sequence[Operand], values: g.Array) -> g.Quantity:
    """Return the terms as products of their operands, if that is what they are."""
    if len(operands) == 2 and all(operand.cells.letters == ("j",) for operand in operands):
        product = plan.of(" * ".join(operand.cells.source for operand in operands))
        if np.allclose(product.values, values, rtol=1e-4, atol=1e-6):
            return product
    return plan.give("term", values)


def _show_matrices(
    plan: g.Outline, explanation: Explanation, operands: Sequence[Operand], chunks: Sequence[range]
) -> g.Node:
    """Return row times column, each lit in its matrix, and the cell that comes of it."""
    nodes: list[g.Part] = []
    for n, (operand, role) in enumerate(zip(operands[:2], ("query", "value"), strict=False)):
        if nodes:
            nodes.append("×")
        title = g.small(_shorten(operand.name), role)
        values = operand.matrix.T if n else operand.matrix
        panel = LitMatrix(values, operand.row, chunks, bool(n), scale=_choose_scale(operand.name))
        nodes.append(g.middle(title, panel, gap=3, stands_on=1))
    result = np.asarray(plan.trace[explanation.name], dtype=float)
    result = np.atleast_2d(result[explanation.index[:-2]] if result.ndim > 2 else result)
    row, column = explanation.index[-2] if len(explanation.index) > 1 else 0, explanation.index[-1]
    first, left = (
        max(0, min(at - WINDOW // 2, size - WINDOW))
        for at, size in zip((row, column), result.shape, strict=True)
    )
    result = result[first : first + WINDOW, left : left + WINDOW]
    panel = LitMatrix(result, row - first, (), False, column - left)
    title = g.Label(_shorten(explanation.name), style.SMALL, bold=True)
    last = g.middle(title, panel, gap=3, stands_on=1)
    return g.equation(*nodes, "=" if nodes else None, last, gap=12)


class LitMatrix(g.Node):
    """A matrix with one row, column or cell framed; a rectangle walks along it, step by step."""

    def __init__(
        self,
        values: g.Array,
        row: int,
        chunks: Sequence[range],
        upright: bool,
        column: int | None = None,
        scale: str = "signed",
    ):
        high, wide = (min(118.0, max(14.0, 7.0 * n)) for n in values.shape)
        self.panel = g.Panel(values, width=wide, height=high, edge=style.FAINT, scale=scale)
        self.row, self.chunks, self.upright, self.column = row, chunks, upright, column
        self.width, self.height = wide, high

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        self.panel.place(sheet, x, y)
        wide, high = self.panel.cell
        frame = g.BoxMark(x=x, y=y + self.row * high, width=self.width, height=high, edge=style.LIT)
        if self.upright:
            frame = replace(frame, x=x + self.row * wide, y=y, width=wide, height=self.height)
        if self.column is not None:
            frame = replace(frame, x=x + self.column * wide, width=wide)
        sheet.add(replace(frame, line=1.8, layer=5))
        for n, chunk in enumerate(self.chunks):
            first, long = chunk[0], len(chunk)
            walker = replace(frame, fill=style.LIT, layer=6, alpha=0.6, step=n + 1, until=n + 2)
            step = -(len(self.chunks[n - 1]) if n else 0)
            if self.upright:
                start = (0.0, step * high)
                walker = replace(walker, y=y + first * high, height=long * high, start=start)
            else:
                start = (step * wide, 0.0)
                walker = replace(walker, x=x + first * wide, width=long * wide, start=start)
            sheet.add(walker)


class Waterfall(g.Node):
    """A sum as bars: each begins where the one before ended; they arrive step by step."""

    def __init__(self, running: g.Quantity, chunks: Sequence[range], pitch: float, total: g.Node):
        self.ends, self.chunks, self.pitch = [0.0, *running.values.tolist()], chunks, pitch
        self.long, self.height, self.total = pitch * len(running), 96.0, total
        self.width = self.long + 6 + total.width

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        low, high = min(self.ends), max(self.ends)
        heights = [y + self.height * (high - end) / ((high - low) or 1.0) for end in self.ends]
        zero = ((x, heights[0]), (x + self.long, heights[0]))
        sheet.line(*zero, ink=style.FAINT, line=1.0, layer=1)
        for n, chunk in enumerate(self.chunks):
            for turn, k in enumerate(chunk):
                one, two = heights[k], heights[k + 1]
                ink = INKS[int(two > one)]
                left, wide = x + (k + 0.12) * self.pitch, 0.76 * self.pitch
                bar = sheet.box(
                    left,
                    min(one, two),
                    wide,
                    max(1.0, abs(two - one)),
                    fill=ink,
                    start=(0.0, -20.0),
                    step=n + 1,
                    turn=turn,
                )
                sheet.places[f"bar {k}"] = bar.area
        low, high = y, y + self.height - self.total.height
        down = min(max(low, heights[-1] - self.total.height / 2), high)
        self.total.place(sheet, x + self.long + 6, down)


def _lay_cells(
    cells: g.Quantity,
    shown: Sequence[int],
    chunks: Sequence[range],
    pitch: float,
    rest: g.Quantity | None = None,
    scale: str = "signed",
) -> g.Node:
    """Return the cells of a vector that are shown, coloured, and the sum of the rest."""
    limit = g.find_largest([cells])
    show = partial(g.Panel, height=20.0, size=style.TINY, limit=limit, digits=2, scale=scale)
    nodes: list[g.Part] = []
    for n, chunk in enumerate(chunks, 1):
        own = [shown[k] for k in chunk if k < len(shown)]
        if own:
            panel = show(cells, width=pitch * len(own), only=([0], own))
            nodes.append(panel.at(n, (0.0, -40.0)))
    if rest:
        nodes.append(g.Slot(g.Numeral(rest[0], style.TINY), pitch).at(len(chunks), (0.0, -40.0)))
    return g.Across(*nodes, gap=0)


def _choose_scale(name: str) -> str:
    return "share" if name.endswith(".weights") else "signed"


def _stretch(chunks: Sequence[range], count: int) -> list[range]:
    """Return the steps in which a rectangle walks along all terms, not only those with a column."""
    whole = chunks[-1].stop
    return [range(n.start * count // whole, n.stop * count // whole) for n in chunks]


def _space_out(nodes: Sequence[g.Node], pitch: float) -> g.Node:
    return g.Across(*(g.Slot(node, pitch) for node in nodes), gap=0)


class Counter(g.Node):
    """A sum that grows from step to step, term by term; the last one stays."""

    def __init__(self, running: g.Quantity, chunks: Sequence[range], terms: list[float]):
        self.labels = [
            g.Numeral(
                running[chunk[-1]],
                style.HEADING,
                terms=terms[: chunk.stop],
                before="Σ = ",
                bold=True,
            )
            for chunk in chunks
        ]
        self.firsts = [chunk[0] for chunk in chunks]
        self.width = max(label.width for label in self.labels)
        self.height = self.labels[0].height

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        for step, (label, first) in enumerate(zip(self.labels, self.firsts, strict=True), 1):
            drawn = g.Sheet()
            label.place(drawn, x, y)
            until = 0 if step == len(self.labels) else step + 1
            for mark in drawn.marks:
                sheet.add(replace(mark, step=step, turn=-first, until=until))


def _show_end(plan: g.Outline, explanation: Explanation, value: g.Quantity, below: bool) -> g.Node:
    """Return what is done with the sum, and the number that comes of it."""
    parts: list[g.Node] = []
    if below:
        over = plan.give("over", [explanation.terms[0].value])
        parts.append(g.Numeral(over[0], style.HEADING, before=plan.say("over")))
        parts.append(g.Label("/ Σ", style.HEADING))
    else:
        for sign, number, none in (("× ", explanation.scale, 1.0), ("+ ", explanation.bias, 0.0)):
            if abs(number - none) > 1e-9:
                kept = plan.give(f"end{len(parts)}", [number])
                parts.append(g.Numeral(kept[0], style.HEADING, before=sign, digits=3))
        if explanation.function:
            parts.append(g.Label(plan.say("then", name=explanation.function), style.HEADING))
    if not parts:
        return g.Spacer()
    return g.Across(
        *parts, g.Numeral(value, style.HEADING, style.LIT, before="= ", bold=True), gap=6
    )


def _caption(
    plan: g.Outline, chunk: range, names: Sequence[str], running: g.Quantity, count: int
) -> str:
    first, last = names[chunk[0]], names[chunk[-1]]
    key = "caption_one" if len(chunk) == 1 else "caption"
    total = g.spell(float(running[chunk[-1]]))
    done = count if chunk.stop == len(names) else chunk.stop
    return plan.say(key, first=first, last=last, total=total, n=done, all=count)


def _shorten(name: str) -> str:
    """Return the last parts of the name of a tensor."""
    parts = name.split(".")
    return ".".join(parts[-2:] if parts[-1] in ("weight", "bias") else parts[-1:])

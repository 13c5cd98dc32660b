"""The figure of the model's code, with the tensors that its lines compute beside them (V105)."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from . import grammar as g
from . import style
from .selection import pick

MODEL = Path(__file__).parents[2] / "model"
LINE, TYPE, WIDE, THUMB = 11.0, 7.0, 460.0, (76.0, 22.0)  # of code; of a tensor
BLOCKS = (  # file, function, prefix of its windows, key of its title
    ("positions.py", "sinusoids", "source_embedding", "positions"),
    ("embedding.py", "Embedding.forward", "source_embedding", "embedding"),
    ("attention.py", "MultiHeadAttention.attend", "encoder.{}.self_attention", "attention"),
    ("attention.py", "MultiHeadAttention.attend_to", "encoder.{}.self_attention", "heads"),
    ("feed_forward.py", "FeedForward.forward", "encoder.{}.feed_forward", "feed_forward"),
    ("residual.py", "Residual.forward", "encoder.{}.self_attention_residual", "residual"),
)


def read_code(file: str, name: str) -> list[str]:
    """Return the lines of a function of `model/`, without its docstring."""
    text = (MODEL / file).read_text(encoding="utf-8")
    body: list[ast.stmt] = ast.parse(text).body
    for part in name.split("."):
        node = next(
            n for n in body if isinstance(n, ast.ClassDef | ast.FunctionDef) and n.name == part
        )
        body = node.body
    lines = dict(enumerate(text.splitlines()[node.lineno - 1 : node.end_lineno], node.lineno))
    if ast.get_docstring(node) is not None:
        for number in range(body[0].lineno, (body[0].end_lineno or 0) + 1):
            del lines[number]
    return textwrap.dedent("\n".join(lines[n] for n in sorted(lines))).splitlines()


def find_windows(trace: Any, line: str, name: str) -> list[str]:
    """Return the windows of a line of a function, in the way that this model takes through it."""
    if name == "sinusoids":
        return ["positions"] if line.strip().startswith("return") else []
    inner = line.startswith(" " * 8)  # Residual.forward has both ways
    if name == "Residual.forward" and inner != (trace.settings.norm == "post"):
        return []
    return re.findall(r'tap\(self, "(\w+)"', line)


class CodeBlock(g.Node):
    """The code of a function; behind each line with a window, the tensor that is seen there."""

    def __init__(self, plan: g.Outline, block: tuple[str, str, str, str], layer: int):
        file, name, where, key = block
        code = read_code(file, name)
        inks = [style.INK if "tap(" in line else style.SOFT for line in code]
        self.lines = [
            g.Label(line or " ", TYPE, ink, mono=True, fit=WIDE)
            for line, ink in zip(code, inks, strict=True)
        ]
        self.title = plan.label(key, bold=True)
        self.file = g.tiny(f"model/{file}", mono=True)
        self.shown: list[tuple[int, g.Node, str]] = []
        for n, line in enumerate(code):
            for window in find_windows(plan.trace, line, name):
                tensor = f"{where.format(layer)}.{window}"
                if tensor in plan.trace:
                    self.shown.append((n, _show_tensor(plan.trace[tensor], window), window))
        self.code = LINE * len(self.lines) + 8
        self.head = self.title.height + 2
        self.width = WIDE + 20 + THUMB[0] + 70
        self.height = self.head + max(self.code, (THUMB[1] + 4) * len(self.shown))

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        self.title.place(sheet, x, y)
        self.file.place(sheet, x + WIDE - self.file.width, y + 3)
        top = y + self.head
        ground = g.Card(g.Spacer(WIDE - 8, self.code - 8), pad=4, round=4)
        ground.place(sheet, x - 4, top)
        for n, label in enumerate(self.lines):
            label.place(sheet, x + 2, top + 4 + n * LINE + (LINE - label.height) / 2)
        low = top
        for n, node, window in self.shown:
            middle = top + 4 + (n + 0.5) * LINE
            down = max(low, middle - THUMB[1] / 2)
            ends = ((x + WIDE - 2, middle), (x + WIDE + 8, middle), (x + WIDE + 12, down + 11))
            sheet.line(*ends, ink=style.FAINT, line=0.9, layer=1)
            node.place(sheet, x + WIDE + 16, down)
            sheet.places[window] = g.Area(x + WIDE + 16, down, node.width, THUMB[1])
            low = down + THUMB[1] + 4


def _show_tensor(values: g.Array, window: str) -> g.Node:
    """Return the first matrix of a tensor as a panel, with its name and shape."""
    flat = np.asarray(values, float)
    flat = flat.reshape(-1, *flat.shape[-2:])[0]
    is_mask = values.dtype == bool
    hidden = flat == 0 if is_mask else None
    scale = "share" if is_mask or window == "weights" else "signed"
    panel = g.Panel(
        flat * (not is_mask), width=THUMB[0], height=THUMB[1], scale=scale, hidden=hidden
    )
    shape = g.tiny(" × ".join(map(str, values.shape)))
    return g.Across(panel, g.Down(g.Label(window, style.TINY, bold=True), shape, gap=0), gap=6)


@g.figure("code")
def draw_code(plan: g.Outline, *, layer: int = 0) -> g.Scene:
    """Show the code of the embedding and of one encoder layer, with their tensors (V105)."""
    layer = pick(layer, plan.settings.encoder_layers, "layer")
    blocks = [CodeBlock(plan, block, layer) for block in BLOCKS]
    lines = sum(len(block.lines) for block in blocks)
    return plan.compose(
        g.Down(*blocks, gap=12),
        callouts=[g.Callout("weights", "sums", "right", 60)],
        lines=lines,
        layer=layer,
    )

"""The figure of the model's code, with the tensors that its lines compute beside them (V105)."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from . import grammar as g
from . import style
from .selection import count_layers, pick

MODEL = Path(__file__).parents[2] / "model"
LINE, TYPE, WIDE, THUMB = 14.0, 8.8, 508.0, (72.0, 24.0)  # of code; of a tensor
BLOCKS = (  # file, function, prefix of its windows, key of its title
    ("positions.py", "sinusoids", "{embedding}", "positions"),
    ("embedding.py", "Embedding.forward", "{embedding}", "embedding"),
    ("attention.py", "MultiHeadAttention.attend_to", "{layer}.self_attention", "heads"),
    ("attention.py", "MultiHeadAttention.attend", "{layer}.self_attention", "attention"),
    ("feed_forward.py", "FeedForward.forward", "{layer}.feed_forward", "feed_forward"),
    ("residual.py", "Residual.forward", "{layer}.self_attention_residual", "residual"),
)
INKS = {  # of what is seen in a window, where the role has another name
    "mask": "residual",
    "context": "heads",
    "output": "linear",
    "inner": "feed_forward",
    "hidden": "feed_forward",
    "normed": "norm",
}


def read_code(file: str, name: str, ways: Mapping[str, bool]) -> list[str]:
    """Return the lines of a function of `model/` that are run, without its head and docstring.

    ways: whether each condition of the function holds; the other branch is left out.
    """
    text = (MODEL / file).read_text(encoding="utf-8")
    body: list[ast.stmt] = ast.parse(text).body
    for part in name.split("."):
        body = next(
            each.body
            for each in body
            if isinstance(each, ast.ClassDef | ast.FunctionDef) and each.name == part
        )
    lines: list[str] = []
    for each in _follow(body[1:], ways):
        own = text.splitlines()[each.lineno - 1 : each.end_lineno]
        lines += textwrap.dedent("\n".join(own)).splitlines()
    return lines


def _follow(body: list[ast.stmt], ways: Mapping[str, bool]) -> Iterator[ast.stmt]:
    """Yield statements up to the first return, with those of the branch that is taken."""
    for each in body:
        if isinstance(each, ast.If):
            branch = each.body if ways[ast.unparse(each.test)] else each.orelse
            yield from _follow(branch, ways)
            if branch and isinstance(branch[-1], ast.Return):
                return
        else:
            yield each


def list_ways(settings: Any) -> dict[str, bool]:
    """Return whether each condition in the code of `BLOCKS` holds in a model."""
    layout = settings.positions.layout
    return {
        "settings.layout == 'interleaved'": layout == "interleaved",
        "settings.layout == 'sine'": layout == "sine",
        "position_BL is None": True,
        "self.post": settings.norm == "post",
    }


class CodeBlock(g.Node):
    """The code of a function; behind each line with a window, the tensor that is seen there."""

    def __init__(self, plan: g.Outline, block: tuple[str, str, str, str], side: str, layer: int):
        file, name, where, key = block
        stem = "source" if side == "encoder" else "target"
        where = where.format(embedding=f"{stem}_embedding", layer=f"{side}.{layer}")
        code = read_code(file, name, list_ways(plan.settings))
        inks = [style.INK if "tap(" in line else style.SOFT for line in code]
        self.lines = [
            g.Label(line, TYPE, ink, mono=True, fit=WIDE)
            for line, ink in zip(code, inks, strict=True)
        ]
        self.title = plan.label(key, bold=True)
        self.file = g.tiny(f"model/{file}", mono=True)
        self.shown: list[tuple[int, g.Node, str]] = []
        for n, line in enumerate(code):
            found = re.findall(r'tap\(self, "(\w+)"', line)
            if name == "sinusoids" and line.startswith("return"):
                found = ["positions"]
            for window in found:
                ink, tensor = INKS.get(window, window), f"{where}.{window}"
                if tensor in plan.trace:
                    self.shown.append((n, _show_tensor(plan.trace[tensor], window, ink), ink))
        self.code, self.head = LINE * len(self.lines) + 8, self.title.height + 2
        self.width = max(WIDE + 16 + node.width for _, node, _ in self.shown)
        self.height = self.head + max(self.code, (THUMB[1] + 3) * len(self.shown))

    def draw(self, sheet: g.Sheet, x: float, y: float) -> None:
        self.title.place(sheet, x, y)
        self.file.place(sheet, x + WIDE - self.file.width - 4, y + 3)
        low = top = y + self.head
        g.Card(g.Spacer(WIDE - 8, self.code - 8), pad=4, round=4).place(sheet, x - 4, top)
        for n, label in enumerate(self.lines):
            label.place(sheet, x + 2, top + 4 + n * LINE + (LINE - label.height) / 2)
        for n, node, ink in self.shown:
            middle = top + 4 + (n + 0.5) * LINE
            down = max(low, middle - THUMB[1] / 2)
            points = [(WIDE - 2, middle), (WIDE + 4, middle), (WIDE + 14, down + THUMB[1] / 2)]
            start = (x + self.lines[n].width + 8, middle)
            look: dict[str, Any] = {"ink": ink, "line": 1.2, "layer": 3}
            sheet.line(start, *((x + a, b) for a, b in points), **look)
            node.place(sheet, x + WIDE + 15, down)
            low = down + THUMB[1] + 3


def _show_tensor(values: g.Array, window: str, ink: str) -> g.Node:
    """Return the first matrix of a tensor as a panel, with its name and shape."""
    flat = np.asarray(values, float)
    flat = flat.reshape(-1, *flat.shape[-2:])[0]
    is_mask = values.dtype == bool
    scale = "share" if is_mask or window == "weights" else "signed"
    look: dict[str, Any] = {"scale": scale, "hidden": flat == 0 if is_mask else None, "edge": ink}
    panel = g.Panel(flat * (not is_mask), width=THUMB[0], height=THUMB[1], **look)
    shape = g.tiny(" × ".join(map(str, values.shape)))
    return g.Across(panel, g.Down(g.tiny(window, ink, bold=True), shape, gap=0), gap=5)


@g.figure("code")
def draw_code(plan: g.Outline, *, layer: int = 0) -> g.Scene:
    """Show the code of the embedding and of one layer, with their tensors (V105).

    The layer is one of the decoder, if there is one: there is a mask to be seen.
    """
    side = "decoder" if plan.settings.decoder_layers else "encoder"
    layer = pick(layer, count_layers(plan.trace, side), "layer")
    blocks = [CodeBlock(plan, block, side, layer) for block in BLOCKS]
    return plan.compose(
        g.Down(*blocks, gap=12),
        note=f"note_{side}",
        lines=sum(len(block.lines) for block in blocks),
        layer=layer,
    )

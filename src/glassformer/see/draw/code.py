"""The picture of the model's code, with the tensors that its lines compute beside them (V105)."""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import theme
from .canvas import Page
from .cells import find_limit, heat
from .selection import Array, pick

MODEL = Path(__file__).parents[2] / "model"
LINE, LETTER = 13.0, 4.9
BLOCKS = (  # file, function, prefix of its windows, title
    ("positions.py", "sinusoids", "source_embedding", ("Positions", "位置")),
    ("embedding.py", "Embedding.forward", "source_embedding", ("Embedding", "嵌入")),
    (
        "attention.py",
        "MultiHeadAttention.attend",
        "encoder.{}.self_attention",
        ("Attention", "注意力"),
    ),
    (
        "attention.py",
        "MultiHeadAttention.attend_to",
        "encoder.{}.self_attention",
        ("Heads", "多头"),
    ),
    ("feed_forward.py", "FeedForward.forward", "encoder.{}.feed_forward", ("Feed-forward", "前馈")),
    (
        "layers.py",
        "Residual.forward",
        "encoder.{}.self_attention_residual",
        ("Residual connection and norm", "残差与归一化"),
    ),
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


def draw_code(trace: Any, *, lang: str = "en", ax: Axes | None = None, layer: int = 0) -> Figure:
    """Draw the code of the embedding and of encoder layer `layer`, with their tensors (V105)."""
    page, layer = Page(lang, ax), pick(layer, trace.settings.encoder_layers, "layer")
    y = 0.0
    for file, name, where, title in BLOCKS:
        place = where.format(layer)
        lines = read_code(file, name)
        page.text(0, y, page.say(*title), size=12, bold=True)
        page.text(
            440, y, f"model/{file}", size=theme.SMALL, color=theme.SOFT, ha="right", mono=True
        )
        y += 14
        top, low = y, y
        page.box(-8, y, 470, LINE * len(lines) + 10, fill="#f7f8fa", edge=theme.FAINT, line=0.7)
        for n, line in enumerate(lines):
            middle = top + 5 + (n + 0.5) * LINE
            role = (
                theme.INK
                if "tap(" in line
                else theme.SOFT
                if line.startswith(("def", "@"))
                else theme.INK
            )
            page.text(0, middle, line, size=theme.SMALL - 0.4, mono=True, color=role)
            inner = line.startswith(" " * 8)  # Residual.forward has both ways
            if name == "Residual.forward" and inner != (trace.settings.norm == "post"):
                continue
            for window in _find_windows(line, name):
                if f"{place}.{window}" in trace:
                    low = _draw_window(page, trace, f"{place}.{window}", middle, low)
        y = max(top + LINE * len(lines) + 10, low) + 30
    return page.finish(
        page.say("The code, and what each line makes", "代码，以及每一行所造之物"),
        page.say(
            "The lines are the package's own, without the faster ways that are taken where nobody "
            "watches. Blue is below 0, orange above, each picture with its own scale, symmetric "
            "about 0; of several heads, head 0. A window, `tap`, is where a recording looks in.",
            "代码即本软件包自身的代码，略去无人观察时才走的快捷路径。蓝色小于 0，橙色大于 0，"
            "每图各有以 0 为中心的色标；多头时取第 0 头。`tap` 是记录时的窗口。",
        ),
    )


def _find_windows(line: str, name: str) -> list[str]:
    if name == "sinusoids":
        return ["positions"] if line.strip().startswith("return") else []
    return re.findall(r'tap\(self, "(\w+)"', line)


def _draw_window(page: Page, trace: Any, name: str, middle: float, low: float) -> float:
    """Draw a thumbnail to the right of a line, below the one before; return where it ends."""
    values: Array = trace[name].astype(np.float64)
    flat = values.reshape(-1, *values.shape[-2:])[0]
    y = max(low, middle - 16)
    page.line([(464, middle), (486, middle), (494, y + 16)], color=theme.FAINT, width=1)
    heat(page, 498, y, flat, 120, 32, limit=find_limit(flat), role="residual")
    page.text(626, y + 9, name.rpartition(".")[2], bold=True, size=theme.SMALL)
    page.text(626, y + 22, " × ".join(map(str, values.shape)), size=theme.TINY, color=theme.SOFT)
    return y + 40

"""The figure of the model's code, with the tensors that its lines compute beside them (V105)."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .parts import grammar as g
from .parts import style
from .parts.selection import count_layers, pick

MODEL = Path(__file__).parents[2] / "model"
TYPE, WIDE, THUMB = 9.5, 470.0, (96.0, 34.0)  # of code; of a tensor
BLOCKS = (  # file, function, how the line begins, the tensor it makes, key of what it does
    ("positions.py", "sinusoids", "waves = ", "{embedding}.positions", "positions"),
    ("attention.py", "MultiHeadAttention.attend_to", "q_", "{attention}.query", "heads"),
    ("attention.py", "MultiHeadAttention.attend", "scores_", "{attention}.scores", "scores"),
    ("attention.py", "MultiHeadAttention.attend", "weights_", "{attention}.weights", "weights"),
    ("feed_forward.py", "FeedForward.forward", "hidden_", "{layer}.feed_forward.hidden", "hidden"),
    ("residual.py", "Residual.forward", "", "{attention}_residual.normed", "normed"),
)
LETTERS = "BHQMKLDFI"  # that end the name of a tensor, one for each of its axes
INKS = {"hidden": "feed_forward", "normed": "norm"}  # of tensors that have no role of their own


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


def find_line(lines: list[str], begins: str, window: str) -> str:
    """Return the line that makes a tensor: it begins so, or a recording looks at the tensor."""
    fits = [line for line in lines if f'"{window}"' in line]
    return next(line for line in lines if begins and line.startswith(begins)) if begins else fits[0]


def find_letters(line: str) -> str:
    """Return the letters of the axes that the names in a line of code end with."""
    return "".join(re.findall(r"_([A-Z]+)\b", line))


def _show_tensor(values: g.Array, ink: str, share: bool) -> g.Node:
    """Return the first matrix of a tensor as a panel, and its shape."""
    flat = np.asarray(values, float)
    flat = flat.reshape(-1, *flat.shape[-2:])[0]
    panel = g.Panel(
        flat, width=THUMB[0], height=THUMB[1], scale="share" if share else "signed", edge=ink
    )
    return g.Across(panel, g.tiny(" × ".join(map(str, values.shape))), gap=6)


@g.figure("code")
def draw_code(plan: g.Outline, *, layer: int = 0) -> g.Scene:
    """Show a line of code of each step of a layer, with the tensor that it makes (V105).

    The layer is one of the decoder, if there is one.
    """
    side = "decoder" if plan.settings.decoder_layers else "encoder"
    layer = pick(layer, count_layers(plan.trace, side), "layer")
    stem = "source" if side == "encoder" else "target"
    names = {"embedding": f"{stem}_embedding", "layer": f"{side}.{layer}"}
    names["attention"] = f"{names['layer']}.self_attention"
    rows: list[list[g.Part]] = []
    ways, links, made_of = list_ways(plan.settings), list[g.Link](), ""
    for n, (file, function, begins, tensor, key) in enumerate(BLOCKS):
        window = tensor.rpartition(".")[2]
        ink = INKS.get(window, window)
        line = find_line(read_code(file, function, ways), begins, window)
        code = g.Card(g.Label(line, TYPE, mono=True, fit=WIDE - 12), pad=6, round=4).named(f"c {n}")
        does = g.Across(plan.label(key, bold=True), g.tiny(f"model/{file}", mono=True), gap=8)
        values = plan.trace[tensor.format(**names)]
        made_of += find_letters(line)
        result = _show_tensor(values, ink, window == "weights")
        rows.append([g.Down(does, g.Slot(code, WIDE, "start"), gap=3), result.named(f"t {n}")])
        links.append(g.Link(f"c {n}", f"t {n}", "elbow", sides=("right", "left"), ink=ink))
    known = [each + " " + plan.say(f"letter_{each}") for each in LETTERS if each in made_of]
    legend = g.small(plan.say("letters") + " · ".join(known), style.INK, width=620)
    return plan.compose(
        g.Down(g.Columns(rows, gap=(22, 14), align="l"), legend, gap=18),
        note=f"note_{side}",
        links=links,
        lines=len(BLOCKS),
        layer=layer,
    )

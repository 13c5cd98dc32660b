"""Attribute a word of the translation to embedded tokens by gradients.

Gradient × input is the slope of ln p at the tokens as they are. Integrated gradients (Sundararajan
et al. 2017, "Axiomatic Attribution for Deep Networks") are its mean along the straight way from
vectors of zeros, so that together they are what ln p gains on that way: completeness.

Letters: B points of the way; S source, T rows of the decoder; L either of them; D d_model.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..tap import Edit
from ..tap import record as watch
from ..translator import Translator
from .edit import prepare_edits
from .silencing import TEXTUAL
from .trace import Trace

SIDES = ("source", "target")
POINTS, AT_ONCE = 128, 16  # of the way; of these in one pass


@dataclass(frozen=True)
class Attribution:
    """Hold what each token adds to ln p of a word: a number a token of the source and the target.

    Positions stay where they are; only the embedded words begin at zero.
    """

    gradient: dict[str, list[float]]
    integrated: dict[str, list[float]]
    log_prob: float  # of the word
    baseline: float  # of the word, with zeros in the place of all embedded tokens

    @property
    def gap(self) -> float:
        """Return by how much integrated gradients miss the gain of ln p: 0 in exact arithmetic."""
        whole = sum(sum(each) for each in self.integrated.values())
        return whole - (self.log_prob - self.baseline)

    def to_json(self) -> dict[str, Any]:
        """Return all numbers, with the gap."""
        return {**asdict(self), "gap": self.gap}


def attribute_gradients(
    translator: Translator, trace: Trace, rows: Sequence[int], points: int = POINTS
) -> Attribution:
    """Attribute the tokens that `rows` predict to the tokens of the source and the prefix.

    Edits of the recording stay in force. Raises ValueError for a row that does not exist.
    """
    if not rows or not all(0 <= row < len(trace.predicted) for row in rows):
        raise ValueError(f"name rows from 0 to {len(trace.predicted) - 1}")
    nodes, weights = np.polynomial.legendre.leggauss(points)
    way = [*((nodes + 1) / 2).tolist(), 1.0, 0.0]  # the last two are the ends
    found: list[tuple[float, list[Tensor]]] = []
    # Weights that were loaded in inference mode cannot be differentiated through; copies can.
    model = deepcopy(translator.model).requires_grad_(False)
    for start in range(0, len(way), AT_ONCE):
        found += _differentiate(translator, model, trace, rows, way[start : start + AT_ONCE])
    (last, at_end), (first, _) = found[points:]
    means = (
        sum(
            weight / 2 * products[side]
            for weight, (_, products) in zip(weights, found, strict=False)
        )
        for side in range(len(SIDES))
    )
    return Attribution(
        {side: at_end[n].tolist() for n, side in enumerate(SIDES)},
        {side: mean.tolist() for side, mean in zip(SIDES, means, strict=True)},  # type: ignore[union-attr]
        last,
        first,
    )


def _differentiate(
    translator: Translator,
    model: torch.nn.Module,
    trace: Trace,
    rows: Sequence[int],
    way: Sequence[float],
) -> list[tuple[float, list[Tensor]]]:
    """Return ln p at points of the way, and gradient · embedded vector L of each side there."""
    device = translator.device
    scale_B11 = torch.tensor(way, device=device)[:, None, None]
    edits = [edit for edit in trace.edits if edit["do"] not in TEXTUAL]
    functions = prepare_edits(translator, trace.text, "", edits).functions()
    kept: dict[str, tuple[Tensor, Tensor]] = {}
    for side in SIDES:
        name = f"{side}_embedding.embedded"
        functions[name] = _scale(functions.get(name), scale_B11, kept, side)
    ids = [trace.predicted[row].id for row in rows]
    with torch.enable_grad(), watch(model, lambda name: False, functions) as (view, _):
        source_BS, target_BT = (
            torch.tensor([[token.id for token in tokens]], device=device).expand(len(way), -1)
            for tokens in (trace.source, trace.target)
        )
        log_prob_BTV = view(source_BS, target_BT).float().log_softmax(-1)
        log_prob_B = log_prob_BTV[:, list(rows), ids].sum(-1)
        grads = torch.autograd.grad(log_prob_B.sum(), [kept[side][1] for side in SIDES])
    products = [
        (grad_BLD * kept[side][0]).sum(-1).double().cpu()
        for side, grad_BLD in zip(SIDES, grads, strict=True)
    ]
    return [
        (each.item(), [product_BL[n] for product_BL in products])
        for n, each in enumerate(log_prob_B.detach())
    ]


def _scale(
    before: Edit | None, scale_B11: Tensor, kept: dict[str, tuple[Tensor, Tensor]], side: str
) -> Edit:
    """Return an edit that keeps what is embedded and passes on a part of it, to differentiate."""

    def edit(words_BLD: Tensor) -> Tensor:
        whole = (words_BLD if before is None else before(words_BLD)).detach()
        part = (whole * scale_B11).requires_grad_()
        kept[side] = whole, part
        return part

    return edit

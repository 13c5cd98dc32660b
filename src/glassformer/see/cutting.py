"""Measure what each source word contributes: cut it, and score the same translation again.

Letters: B items, in each of which another word is cut; T rows of the decoder; V vocabulary; M
source positions.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..tap import Edit
from ..translator import Translator
from .edit import prepare_edits
from .silencing import TEXTUAL, score_copies
from .trace import Trace


def cut_each(
    translator: Translator, trace: Trace, rows: Sequence[int], groups: Sequence[Sequence[int]]
) -> list[float]:
    """Return the log-probability of the tokens of `rows` with each group of source tokens cut.

    All are measured in one pass along the recorded translation, and edits of the recording stay in
    force. Raises ValueError for a row or a source position that does not exist.
    """
    last = len(trace.source) - 1
    for group in groups:
        if any(not 0 <= key < last for key in group):
            raise ValueError(f"positions of the source go from 0 to {last - 1}")
    if not groups or not all(0 <= row < len(trace.predicted) for row in rows):
        raise ValueError(f"name groups to cut, and rows from 0 to {len(trace.predicted) - 1}")
    edits = [edit for edit in trace.edits if edit["do"] not in TEXTUAL]
    functions = prepare_edits(translator, trace.text, "", edits).functions()
    masks = [name for name in trace.graph if name.endswith(".cross_attention.mask")]
    for name in masks:
        functions[name] = _hide_own(functions.get(name), groups)
    log_prob_BTV = score_copies(translator, trace, functions, len(groups))
    ids = [trace.predicted[row].id for row in rows]
    found: list[float] = log_prob_BTV[:, list(rows), ids].sum(-1).tolist()
    return found


def _hide_own(before: Edit | None, groups: Sequence[Sequence[int]]) -> Edit:
    """Return an edit that hides group b from item b of the batch."""

    def edit(mask_B11M: Tensor) -> Tensor:
        changed = mask_B11M if before is None else before(mask_B11M)
        changed = changed.expand(len(groups), -1, -1, -1).clone()
        for item, group in enumerate(groups):
            changed[item, ..., torch.tensor(list(group))] = False
        return changed

    return edit

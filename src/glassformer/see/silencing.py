"""Measure what each head contributes: silence it, and score the same translation again.

Letters: B items, in each of which one of the H heads of a block is silent; T rows of the decoder;
V vocabulary; L positions; K width of a head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..tap import Edit
from ..tap import record as watch
from ..translator import Translator
from .edit import prepare_edits
from .trace import Array, Trace, check_place

TEXTUAL = ("word", "prefix")  # edits that the recorded text and translation contain already


@dataclass(frozen=True)
class Silenced:
    """The lead of a token over a rival, ln(p(token) / p(rival)), with and without each head."""

    step: int
    token: int  # ids
    rival: int
    lead: float  # with all heads
    leads: dict[str, Array]  # for each block, H: the lead without each head


def silence_each(
    translator: Translator,
    trace: Trace,
    step: int,
    rival: int | None = None,
    check: Callable[[], object] = lambda: None,
) -> Silenced:
    """Return the lead of the token at `step` with each head silenced on its own.

    This takes one pass for each block; `check` is called before each. rival: an id; None: the
    likeliest other token. Edits of the recording stay in force, because the effect of a head may
    show only when others are silent. Raises ValueError for a wrong step or rival.
    """
    rows, size = len(trace.predicted), len(translator.tokenizers.target)
    step = check_place(step, rows, "step")
    token = trace.predicted[step].id
    if rival is not None and (rival == token or not 0 <= rival < size):
        raise ValueError(f"rival={rival}: the id of another token, 0 to {size - 1}")
    edits = [edit for edit in trace.edits if edit["do"] not in TEXTUAL]
    edited = prepare_edits(translator, trace.text, "", edits)
    all_V = score_copies(translator, trace, edited.functions(), 1)[0, step]
    if rival is None:
        others_V = all_V.clone()
        others_V[token] = -torch.inf
        rival = int(others_V.argmax())
    leads = {}
    for name in trace.names():
        if not name.endswith(".context"):
            continue
        check()
        functions = edited.functions()
        functions[name] = _silence_own(functions.get(name))
        log_prob_HV = score_copies(translator, trace, functions, trace.settings.heads)[:, step]
        leads[name.removesuffix(".context")] = (
            log_prob_HV[:, token] - log_prob_HV[:, rival]
        ).numpy()
    return Silenced(step, token, rival, float(all_V[token] - all_V[rival]), leads)


def _silence_own(before: Edit | None) -> Edit:
    """Return an edit that silences head b in item b of the batch."""

    def edit(x_BHLK: Tensor) -> Tensor:
        changed = x_BHLK.clone() if before is None else before(x_BHLK).clone()
        own = torch.arange(changed.size(1))
        changed[own, own] = 0
        return changed

    return edit


def score_copies(
    translator: Translator, trace: Trace, functions: dict[str, Edit], items: int
) -> Tensor:
    """Return log-probabilities B T V of the recorded translation, in a batch of `items` copies."""
    source, target = ([token.id for token in side] for side in (trace.source, trace.target))
    with (
        torch.inference_mode(),
        watch(translator.model, lambda name: False, functions) as (view, _),
    ):
        source_BS, target_BT = (
            torch.tensor([ids], device=translator.device).expand(items, -1)
            for ids in (source, target)
        )
        logits_BTV: Tensor = view(source_BS, target_BT)
        return logits_BTV.float().log_softmax(-1).cpu()

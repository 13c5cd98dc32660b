"""What each head matters: it is silenced, and the translation is read once more.

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
from .trace import Array, Trace

TEXTUAL = ("word", "prefix")  # edits that a recording's own text and translation already have


@dataclass(frozen=True)
class Silenced:
    """How far a token is ahead of its rival: ln of how many times likelier it is."""

    step: int
    token: int  # ids
    rival: int
    lead: float  # with all heads
    leads: dict[str, Array]  # of each block H: without each head


def silence_each(
    translator: Translator,
    trace: Trace,
    step: int,
    rival: int | None = None,
    check: Callable[[], object] = lambda: None,
) -> Silenced:
    """Every head on its own, in one pass for each block; `check` is called between them.

    rival: an id; the likeliest other token if none is given. Edits of the recording hold
    meanwhile: what a head matters may show only when others are silent.
    ValueError for a step or a rival that is none.
    """
    rows, size = len(trace.predicted), len(translator.tokenizers.target)
    if not -rows <= step < rows:
        raise ValueError(f"step {step} is out of range, it goes from 0 to {rows - 1}")
    token = trace.predicted[step].id
    if rival is not None and (rival == token or not 0 <= rival < size):
        raise ValueError(f"rival={rival}: the id of another token, 0 to {size - 1}")
    edits = [edit for edit in trace.edits if edit["do"] not in TEXTUAL]
    edited = prepare_edits(translator, trace.text, "", edits)
    all_V = _read(translator, trace, edited.functions(), 1)[0, step]
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
        log_prob_HV = _read(translator, trace, functions, trace.settings.heads)[:, step]
        leads[name.removesuffix(".context")] = (
            log_prob_HV[:, token] - log_prob_HV[:, rival]
        ).numpy()
    return Silenced(step % rows, token, rival, float(all_V[token] - all_V[rival]), leads)


def _silence_own(before: Edit | None) -> Edit:
    """Item b of the batch loses head b."""

    def edit(x_BHLK: Tensor) -> Tensor:
        changed = x_BHLK.clone() if before is None else before(x_BHLK).clone()
        own = torch.arange(changed.size(1))
        changed[own, own] = 0
        return changed

    return edit


def _read(translator: Translator, trace: Trace, functions: dict[str, Edit], items: int) -> Tensor:
    """Log-probabilities B T V of the recorded translation, so many times at once."""
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

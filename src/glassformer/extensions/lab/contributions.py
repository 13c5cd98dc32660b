"""Measure what heads, source words and tokens contribute to a recorded translation.

A head is silenced, or a source word is cut, and the same translation is scored again. Gradients
attribute a word of the translation to the embedded tokens: gradient × input is the slope of ln p at
the tokens as they are; integrated gradients (Sundararajan et al. 2017, "Axiomatic Attribution for
Deep Networks") are its mean along the straight way from vectors of zeros, so that together they are
what ln p gains on that way: completeness.

Edits of the recording stay in force, because the effect of a head may show only when others are
silent.

Letters: B items, in each of which another head is silent or another word is cut, or points of the
way; H heads of a block; S source, M memory positions; T rows of the decoder; L positions of either
side; V vocabulary; D d_model; K width of a head.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from glassformer.foundation.tap import Edit
from glassformer.foundation.tap import record as watch
from glassformer.see.edit import EditedSentence, prepare_edits
from glassformer.see.recorded import Array, check_place
from glassformer.see.recording import record
from glassformer.see.trace import Trace
from glassformer.translator import Translator

TEXTUAL = ("word", "prefix")  # edits that the recorded text and translation contain already
SIDES = ("source", "target")
POINTS, AT_ONCE = 128, 16  # of the way; of these in one pass


@dataclass(frozen=True)
class SilencedLeads:
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
) -> SilencedLeads:
    """Return the lead of the token at `step` with each head silenced on its own.

    This takes one pass for each block; `check` is called before each. rival: an id; None: the
    likeliest other token. Raises ValueError for a wrong step or rival.
    """
    rows, size = len(trace.predicted), len(translator.tokenizers.target)
    step = check_place(step, rows, "step")
    token = trace.predicted[step].id
    if rival is not None and (rival == token or not 0 <= rival < size):
        raise ValueError(f"rival={rival}: the id of another token, 0 to {size - 1}")
    edited = edit_again(translator, trace)
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
    return SilencedLeads(step, token, rival, float(all_V[token] - all_V[rival]), leads)


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
    watched = watch(translator.model, lambda name: False, functions)
    with torch.inference_mode(), watched as (view, _):
        return read_copies(view, translator, trace, items).cpu()


def read_copies(network: Any, translator: Translator, trace: Trace, items: int) -> Tensor:
    source_BS, target_BT = (
        torch.tensor([[token.id for token in side]], device=translator.device).expand(items, -1)
        for side in (trace.source, trace.target)
    )
    logits_BTV: Tensor = network(source_BS, target_BT)
    return logits_BTV.float().log_softmax(-1)


def edit_again(translator: Translator, trace: Trace) -> EditedSentence:
    """Return the edits of a recording, to be applied to its network again."""
    edits = [edit for edit in trace.edits if edit["do"] not in TEXTUAL]
    return prepare_edits(translator, trace.text, "", edits, record)


def find_ids(trace: Trace, rows: Sequence[int]) -> list[int]:
    """Return the tokens that rows of the decoder predict. Raises ValueError for a wrong row."""
    if not rows or not all(0 <= row < len(trace.predicted) for row in rows):
        raise ValueError(f"name rows from 0 to {len(trace.predicted) - 1}")
    return [trace.predicted[row].id for row in rows]


def cut_each(
    translator: Translator, trace: Trace, rows: Sequence[int], groups: Sequence[Sequence[int]]
) -> list[float]:
    """Return the log-probability of the tokens of `rows` with each group of source tokens cut.

    All are measured in one pass along the recorded translation. Raises ValueError for a row or a
    source position that does not exist, or if nothing of a source without EOS is left.
    """
    last = len(trace.own_source)
    for group in groups:
        if any(not 0 <= key < last for key in group):
            raise ValueError(f"positions of the source go from 0 to {last - 1}")
    if not groups:
        raise ValueError(f"name groups to cut, of positions from 0 to {last - 1}")
    ids = find_ids(trace, rows)
    functions = edit_again(translator, trace).functions()
    masks = [name for name in trace.graph if name.endswith(".cross_attention.mask")]
    for name in masks:
        functions[name] = _hide_own(functions.get(name), groups)
    log_prob_BTV = score_copies(translator, trace, functions, len(groups))
    result: list[float] = log_prob_BTV[:, list(rows), ids].sum(-1).tolist()
    if any(map(math.isnan, result)):
        raise ValueError("a group leaves nothing of the source to attend to")
    return result


def _hide_own(before: Edit | None, groups: Sequence[Sequence[int]]) -> Edit:
    """Return an edit that hides group b from item b of the batch."""

    def edit(mask_B11M: Tensor) -> Tensor:
        changed = mask_B11M if before is None else before(mask_B11M)
        changed = changed.expand(len(groups), -1, -1, -1).clone()
        for item, group in enumerate(groups):
            changed[item, ..., list(group)] = False
        return changed

    return edit


@dataclass(frozen=True)
class Attribution:
    """Hold what each token adds to ln p of a word: a number a token of the source and the target.

    Positions stay where they are; only the embedded words begin elsewhere.
    """

    gradient: dict[str, list[float]]
    integrated: dict[str, list[float]]
    log_prob: float  # of the word
    baseline: float  # of the word, at the beginning of the way
    points: int  # of the way, at which gradients were measured

    @property
    def gap(self) -> float:
        """Return by how much integrated gradients miss the gain of ln p: 0 in exact arithmetic."""
        whole = sum(sum(each) for each in self.integrated.values())
        return whole - (self.log_prob - self.baseline)

    def to_json(self) -> dict[str, Any]:
        """Return all numbers, with the gap."""
        return {**asdict(self), "gap": self.gap}


class WayPoint(NamedTuple):
    """The gradient at a point of the way, in products L of the source and of the target."""

    log_prob: float
    along: list[Tensor]  # gradient · way
    input: list[Tensor]  # gradient · embedded token, at the way's end


def attribute_gradients(
    translator: Translator,
    trace: Trace,
    rows: Sequence[int],
    points: int = POINTS,
    baseline: Mapping[str, Sequence[int]] | None = None,
) -> Attribution:
    """Attribute the tokens that `rows` predict to the tokens of the source and the prefix.

    baseline: ids for `source` and `target` whose embeddings the way of the integrated gradients
    begins at, as many as there are tokens; None: vectors of zeros. Raises ValueError for a row that
    does not exist, or another number of ids.
    """
    find_ids(trace, rows)
    nodes, weights = np.polynomial.legendre.leggauss(points)
    way = [*((nodes + 1) / 2).tolist(), 1.0, 0.0]  # the last two are the ends
    # Weights that were loaded in inference mode cannot be differentiated through; copies can.
    model = deepcopy(translator.model).requires_grad_(False)
    begin = [torch.zeros(())] * len(SIDES) if baseline is None else _embed(model, trace, baseline)
    on_way: list[WayPoint] = []
    for start in range(0, len(way), AT_ONCE):
        part = way[start : start + AT_ONCE]
        on_way += _differentiate(translator, model, trace, rows, part, begin)
    end, first = on_way[points:]
    integrated = {
        side: sum(weight / 2 * each.along[n] for weight, each in zip(weights, on_way, strict=False))
        for n, side in enumerate(SIDES)
    }
    return Attribution(
        {side: end.input[n].tolist() for n, side in enumerate(SIDES)},
        {side: mean.tolist() for side, mean in integrated.items()},  # type: ignore[union-attr]
        end.log_prob,
        first.log_prob,
        points,
    )


def _embed(model: torch.nn.Module, trace: Trace, ids: Mapping[str, Sequence[int]]) -> list[Tensor]:
    """Return the embeddings of other tokens for each side, 1 L D, before positions are added."""
    for side, tokens in zip(SIDES, (trace.source, trace.target), strict=True):
        if len(ids[side]) != len(tokens):
            raise ValueError(f"baseline: {len(ids[side])} ids for {len(tokens)} tokens ({side})")
    device = next(model.parameters()).device
    with torch.no_grad(), watch(model, lambda name: name.endswith(".embedded")) as (view, kept):
        view(*(torch.tensor([[*ids[side]]], device=device) for side in SIDES))
    return [kept[f"{side}_embedding.embedded"][0] for side in SIDES]


def _differentiate(
    translator: Translator,
    model: torch.nn.Module,
    trace: Trace,
    rows: Sequence[int],
    way: Sequence[float],
    begin: Sequence[Tensor],
) -> list[WayPoint]:
    """Return ln p and its gradient at points of the way from `begin` to the embedded tokens."""
    scale_B11 = torch.tensor(way, device=translator.device)[:, None, None]
    functions = edit_again(translator, trace).functions()
    kept: dict[str, tuple[Tensor, Tensor]] = {}
    for side, begin_1LD in zip(SIDES, begin, strict=True):
        name = f"{side}_embedding.embedded"
        functions[name] = _go_part(functions.get(name), begin_1LD, scale_B11, kept, side)
    with torch.enable_grad(), watch(model, lambda name: False, functions) as (view, _):
        log_prob_BTV = read_copies(view, translator, trace, len(way))
        log_prob_B = log_prob_BTV[:, list(rows), find_ids(trace, rows)].sum(-1)
        grads = torch.autograd.grad(log_prob_B.sum(), [kept[side][1] for side in SIDES])
    wholes = [kept[side][0] for side in SIDES]
    ways = [
        whole_BLD - begin_1LD.to(whole_BLD.device)
        for whole_BLD, begin_1LD in zip(wholes, begin, strict=True)
    ]
    along, at_input = (
        [(grad_BLD * x).sum(-1).cpu().double() for grad_BLD, x in zip(grads, each, strict=True)]
        for each in (ways, wholes)
    )
    return [
        WayPoint(each.item(), [x_BL[n] for x_BL in along], [x_BL[n] for x_BL in at_input])
        for n, each in enumerate(log_prob_B.detach())
    ]


def _go_part(
    before: Edit | None,
    begin_1LD: Tensor,
    scale_B11: Tensor,
    kept: dict[str, tuple[Tensor, Tensor]],
    side: str,
) -> Edit:
    """Return an edit that keeps what is embedded and goes a part of the way to it."""

    def edit(words_BLD: Tensor) -> Tensor:
        whole = (words_BLD if before is None else before(words_BLD)).detach()
        begin = begin_1LD.to(whole.device)
        part = (begin + (whole - begin) * scale_B11).requires_grad_()
        kept[side] = whole, part
        return part

    return edit

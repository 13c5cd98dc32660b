"""Beam search in which given phrases have to appear: lexical constraints.

The beam is dealt out among hypotheses that have met more and fewer of the constraints (dynamic beam
allocation, Post and Vilar 2018), and the next token of each phrase is always a candidate. A
hypothesis ends only when all are met.

Letters: B sentences; W beam width, R = B * W rows; V vocabulary; C candidates of a sentence.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from glassformer.config import EOS, PAD, Decode
from glassformer.decode.beam import close_step
from glassformer.decode.rules import find_top, forbid, penalise_repeats, sum_logs
from glassformer.decode.sentences import Constraint
from glassformer.decode.step import Hypotheses, Step


class Continuation(NamedTuple):
    """A candidate of one sentence."""

    log_prob: float  # of the whole hypothesis
    row: int
    token: int
    token_log_prob: float
    met: int  # tokens of constraints, of phrases begun too


@dataclass(frozen=True)
class SentenceCandidates:
    """The candidates of one sentence, best first, and which of them are kept or finished."""

    candidates: list[Continuation]
    kept: list[int]
    finished: list[bool]


def measure_progress(tokens: Sequence[int], constraint: Constraint) -> tuple[int, int | None]:
    """Return how many tokens of a constraint are met, and the next one; None if it is met."""
    most, following = 0, constraint.spellings[0].ids[0]
    for spelling in constraint.spellings:
        ids, size = spelling.ids, len(spelling.ids)
        for start in range(len(tokens) - size + 1):
            end = start + size
            is_cut = end < len(tokens) and tokens[end] in spelling.continuing
            if tuple(tokens[start:end]) == ids and not is_cut:
                return constraint.size, None
        for length in range(min(size - 1, len(tokens)), most, -1):
            if tuple(tokens[-length:]) == ids[:length]:
                most, following = length, ids[length]
                break
    return most, following


def measure_all(tokens: Sequence[int], constraints: Sequence[Constraint]) -> int:
    return sum(measure_progress(tokens, each)[0] for each in constraints)


def step_constrained(
    logits_RV: Tensor,
    before: Hypotheses,
    settings: Decode,
    constraints: Sequence[Sequence[Constraint]],
) -> Step:
    """Return the step that continues each sentence's hypotheses. The logits are overwritten."""
    penalise_repeats(logits_RV, before.tokens_RL, settings.repetition_penalty)
    beam, sum_R1 = before.beams, sum_logs(logits_RV)
    forbidden = forbid(logits_RV, sum_R1, before, settings)
    log_probs_RV = logits_RV - sum_R1
    top_RC, token_RC = find_top(log_probs_RV, min(2 * beam, log_probs_RV.size(1)))
    tops, tokens = top_RC.tolist(), token_RC.tolist()
    lengths, scores = before.length_B.tolist(), before.log_prob_BW.tolist()
    history = before.tokens_BWL.tolist()
    last = before.is_last_B.tolist()
    results: list[SentenceCandidates] = []
    for b, own in enumerate(constraints):
        continuations: dict[tuple[int, int], Continuation] = {}
        for row in range(beam):
            if scores[b][row] == -math.inf:
                continue
            r, past = b * beam + row, history[b][row][len(history[b][row]) - lengths[b] :]
            considered = dict(zip(tokens[r], tops[r], strict=True))
            for each in own:
                following = measure_progress(past, each)[1]
                if following is not None:
                    considered[following] = float(log_probs_RV[r, following])
            for token, log_prob in considered.items():
                if log_prob > -math.inf:
                    grown = past if token == EOS else [*past, token]
                    met = measure_all(grown, own)
                    whole = scores[b][row] + log_prob
                    continuations[row, token] = Continuation(whole, row, token, log_prob, met)
        results.append(
            _choose(list(continuations.values()), beam, sum(c.size for c in own), last[b])
        )
    return _build(results, before, settings, forbidden)


def _choose(
    candidates: list[Continuation], beam: int, whole: int, is_last: bool
) -> SentenceCandidates:
    """Return which candidates of a sentence are kept, and which have ended."""
    candidates = sorted(
        (c for c in candidates if c.token != EOS or c.met == whole),
        key=lambda c: (-c.log_prob, c.row, c.token),
    )
    complete = [place for place, c in enumerate(candidates) if c.met == whole][: 2 * beam]
    ends = {place for place in complete[:beam] if candidates[place].token == EOS}
    banks: dict[int, list[int]] = {}
    for place, each in enumerate(candidates):
        if each.token != EOS:
            banks.setdefault(each.met, []).append(place)
    order = sorted(banks, reverse=True)
    kept: list[int] = []
    for number, met in enumerate(order):
        share = (beam - len(kept)) // (len(order) - number) if number else -(-beam // len(order))
        kept += banks[met][: max(1, share)]
    rest = sorted({place for bank in banks.values() for place in bank} - {*kept})
    kept = sorted((kept + rest)[:beam])
    if is_last:  # all are cut here: only those that met most are hypotheses
        kept = [place for place in kept if candidates[place].met == order[0]]
    return SentenceCandidates(candidates, kept, [place in ends for place in range(len(candidates))])


def _build(
    sentences: Sequence[SentenceCandidates],
    before: Hypotheses,
    settings: Decode,
    forbidden: tuple[Tensor, Tensor],
) -> Step:
    """Return the step made of what was chosen; candidates that do not exist fill the tensors."""
    beam, device = before.beams, before.log_prob_BW.device
    width = max(len(each.candidates) for each in sentences) + beam
    parent, token, log_prob, token_log_prob, finished, kept = [], [], [], [], [], []
    for each in sentences:
        empty = width - len(each.candidates)
        parent.append([c.row for c in each.candidates] + [0] * empty)
        token.append([c.token for c in each.candidates] + [PAD] * empty)
        log_prob.append([c.log_prob for c in each.candidates] + [-math.inf] * empty)
        token_log_prob.append([c.token_log_prob for c in each.candidates] + [-math.inf] * empty)
        finished.append(each.finished + [False] * empty)
        spare = range(len(each.candidates), width)
        kept.append([*each.kept, *spare][:beam])
    finished_BC = torch.tensor(finished, device=device)
    step = close_step(
        before,
        settings,
        forbidden,
        parent_BC=torch.tensor(parent, device=device),
        token_BC=torch.tensor(token, device=device),
        token_log_prob_BC=torch.tensor(token_log_prob, device=device, dtype=torch.float32),
        log_prob_BC=torch.tensor(log_prob, device=device, dtype=torch.float32),
        kept_BW=torch.tensor(kept, device=device),
        finished_BC=finished_BC,
    )
    is_enough_B = before.finished_B + finished_BC.sum(1) >= beam
    return replace(step, stop_B=step.stop_B | is_enough_B)

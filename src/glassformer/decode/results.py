"""What a search found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..config import Decode
from .step import Step


class NotFiniteError(ValueError):
    """The network's logits are not finite numbers, or far too large: nothing can be chosen."""


@dataclass(frozen=True)
class Hypothesis:
    """One translation, in pieces, with what the network thinks of it (natural logarithms)."""

    pieces: list[int]  # without BOS and EOS, with what was forced
    log_prob: float  # of all pieces and EOS
    score: float  # log_prob over the length penalty: what hypotheses are ranked by
    piece_log_probs: list[float]  # one a piece, and EOS's last
    finished: bool  # ended with EOS; otherwise it was cut at the greatest length


def endings(step: Step) -> Iterator[tuple[int, Hypothesis]]:
    """Every hypothesis that ended in this step, with the place of its sentence among B."""
    ended_BC = step.finished_BC | step.cut_BC
    sentence, place = ended_BC.nonzero(as_tuple=True)
    before, parent = step.before, step.parent_BC[sentence, place]
    log_prob = step.log_prob_BC[sentence, place]
    columns = (
        sentence,
        before.length_B[sentence],
        before.pieces_BWL[sentence, parent],
        step.piece_BC[sentence, place],
        before.piece_log_probs_BWL[sentence, parent],
        step.piece_log_prob_BC[sentence, place],
        log_prob,
        log_prob / step.penalty_B[sentence],
        step.finished_BC[sentence, place],
    )
    for b, length, pieces, last, log_probs, last_log_prob, total, score, finished in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        start = len(pieces) - length
        yield (
            b,
            Hypothesis(
                pieces=pieces[start:] + ([] if finished else [last]),
                log_prob=total,
                score=score,
                piece_log_probs=[*log_probs[start:], last_log_prob],
                finished=finished,
            ),
        )


def explain_nothing(step: Step, place: int, line: int, settings: Decode) -> ValueError:
    """Return the error for a sentence, at `place` among B, whose search ended without a hypothesis.

    What the rules forbid has the log-probability -inf; logits that are not finite give NaN, and
    those that are far too large may give either.
    """
    is_bound = settings.no_repeat and settings.min_length  # otherwise something may always follow
    if is_bound and not step.log_prob_BC[place].isnan().any():
        said = "no hypothesis is left: no_repeat and min_length forbid every token"
        return ValueError(f"line {line + 1}: {said}")
    return NotFiniteError(
        f"line {line + 1}: the network's logits are not finite numbers or far too large: its "
        "weights are damaged, or its training has diverged"
    )


def best(pool: list[Hypothesis], number: int) -> list[Hypothesis]:
    """The best by score; what was cut counts only where too few finished."""
    return sorted(pool, key=lambda found: (not found.finished, -found.score))[:number]

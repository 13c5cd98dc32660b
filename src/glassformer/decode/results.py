"""The hypotheses that a search returns, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..config import Decode
from .step import Step


class NotFiniteError(ValueError):
    """The error for logits that are not finite numbers, or far too large to choose from."""


@dataclass(frozen=True)
class Hypothesis:
    """One translation in tokens, with its log-probabilities (natural logarithms)."""

    tokens: list[int]  # without BOS and EOS, with the forced prefix
    log_prob: float  # of all tokens and EOS
    score: float  # log_prob / length penalty: hypotheses are ranked by it
    token_log_probs: list[float]  # one for each token, and EOS's last
    finished: bool  # whether it ended with EOS; otherwise it was cut at the greatest length


def endings(step: Step) -> Iterator[tuple[int, Hypothesis]]:
    """Yield each hypothesis that ended in this step, after the index of its sentence among B."""
    ended_BC = step.finished_BC | step.cut_BC
    sentence, place = ended_BC.nonzero(as_tuple=True)
    before, parent = step.before, step.parent_BC[sentence, place]
    log_prob = step.log_prob_BC[sentence, place]
    columns = (
        sentence,
        before.length_B[sentence],
        before.tokens_BWL[sentence, parent],
        step.token_BC[sentence, place],
        before.token_log_probs_BWL[sentence, parent],
        step.token_log_prob_BC[sentence, place],
        log_prob,
        log_prob / step.penalty_B[sentence],
        step.finished_BC[sentence, place],
    )
    for b, length, tokens, last, log_probs, last_log_prob, total, score, finished in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        start = len(tokens) - length
        yield (
            b,
            Hypothesis(
                tokens=tokens[start:] + ([] if finished else [last]),
                log_prob=total,
                score=score,
                token_log_probs=[*log_probs[start:], last_log_prob],
                finished=finished,
            ),
        )


def explain_nothing(step: Step, place: int, line: int, settings: Decode) -> ValueError:
    """Return the error for sentence number `place` of B, whose search ended without a hypothesis.

    A token that the rules forbid has the log-probability -inf; logits that are not finite give
    NaN, and those that are far too large may give either.
    """
    is_bound = (
        settings.no_repeat_ngram_size and settings.min_length
    )  # otherwise some token is always allowed
    if is_bound and not step.log_prob_BC[place].isnan().any():
        said = "no hypothesis is left: no_repeat_ngram_size and min_length forbid every token"
        return ValueError(f"line {line + 1}: {said}")
    return NotFiniteError(
        f"line {line + 1}: the network's logits are not finite numbers or far too large: its "
        "weights are damaged, or its training has diverged"
    )


def best(pool: list[Hypothesis], number: int) -> list[Hypothesis]:
    """Return the best hypotheses by score; unfinished ones come after all finished ones."""
    return sorted(pool, key=lambda found: (not found.finished, -found.score))[:number]

"""A ranking of the pairs of a corpus, to keep the best: by its own lexicon, or by a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from .ragged import Array
from .report import Report

SHARE = re.compile(r"(\d+(?:\.\d+)?)\s*%")

# It returns, for each target given its source, the log-probability and the number of its tokens.
ScorePairs = Callable[[Sequence[str], Sequence[str]], Sequence[tuple[float, int]]]


def read_amount(amount: str, pairs: int) -> int:
    """Return how many of `pairs` are meant by an amount such as "80%" or "1000".

    ValueError if it is none, or not between one pair and all of them.
    """
    if match := SHARE.fullmatch(amount.strip()):
        number = round(float(match[1]) / 100 * pairs)
    elif amount.strip().isdigit():
        number = int(amount)
    else:
        raise ValueError(f"--keep-best {amount}: a share such as 80% or a number of pairs")
    if not 1 <= number <= pairs:
        raise ValueError(f"--keep-best {amount}: of {pairs:,} pairs, 1 to {pairs:,} can be kept")
    return number


def rank_by_lexicon(report: Report) -> Array:
    """Return a score for each pair: the log odds that its lines are partners, by the corpus itself.

    Pairs that were not judged, since another finding explains them, are in the middle. ValueError
    if none was.
    """
    if report.log_odds is None:
        raise ValueError("--keep-best needs a comparison of the words of both sides")
    judged = np.isfinite(report.log_odds)
    middle = float(np.median(report.log_odds[judged]))
    return np.where(judged, report.log_odds, middle)


def rank_by_model(source: Sequence[str], target: Sequence[str], score: ScorePairs) -> Array:
    """Return a score for each pair: the mean log-probability of the tokens of one of its sides."""
    scored = score(source, target)
    return np.array([log_prob / max(tokens, 1) for log_prob, tokens in scored])


def choose_best(scores: Array, number: int) -> Array:
    """Return a mask of the pairs with the highest scores; of equals the first."""
    chosen = np.zeros(len(scores), bool)
    chosen[np.argsort(-scores, kind="stable")[:number]] = True
    return chosen

"""Scores of test sets drawn from a given one: the bootstrap (Efron 1979; Koehn 2004). No torch.

The random numbers are those of sacreBLEU with the same seed, and so are the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sacrebleu.metrics.base import Metric

    from .references import References

    Numbers = NDArray[np.float64]

SAMPLES, TRIALS, SEED = 1000, 10_000, 12345  # of the bootstrap and of randomization, by sacreBLEU


@dataclass(frozen=True)
class Interval:
    """The 95 % confidence interval of a score: `mean` of the samples, plus or minus `half_width`.

    The mean of the samples differs a little from the score of the test set itself.
    """

    mean: float
    half_width: float
    samples: int
    seed: int

    def __str__(self) -> str:
        return f"95 % within {self.mean:.2f} ± {self.half_width:.2f}"


def extract_statistics(
    metric: Metric, hypotheses: Sequence[str], references: References
) -> list[Any]:
    """Return what a metric counts in each sentence; the sums give the score of a text."""
    # sacreBLEU's own tests use this private method. Its types lack the None that it allows.
    known = cast("Sequence[Sequence[str]]", references)
    return cast("list[Any]", metric._extract_corpus_statistics(hypotheses, known))


def score_samples(metric: Metric, statistics: Sequence[Any], samples: int, seed: int) -> Numbers:
    """Return the score on each of the test sets drawn with replacement, of the same size."""
    import numpy as np

    counts, rng = np.array(statistics, dtype=np.float64), np.random.default_rng(seed)
    drawn = (rng.choice(len(counts), size=len(counts)) for _ in range(samples))
    return score_sums(metric, np.stack([counts[rows].sum(0) for rows in drawn]))


def score_sums(metric: Metric, sums: Numbers) -> Numbers:
    """Return the score of each row of summed statistics."""
    import numpy as np

    return np.array([metric._compute_score_from_stats(cast("Any", row)).score for row in sums])


def estimate_interval(scores: Numbers, seed: int) -> Interval:
    """Return the mean of the scores of samples, and half the width of their middle 95 %."""
    ordered = sorted(scores.tolist())
    tail = len(ordered) // 40
    half_width = (ordered[len(ordered) - tail - 1] - ordered[tail]) / 2
    return Interval(float(scores.mean()), half_width, len(ordered), seed)

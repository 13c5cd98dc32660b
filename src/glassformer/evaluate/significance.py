"""Significance of the difference between two systems: paired bootstrap (Koehn 2004). No torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.base import Metric

from .quality import References, build_metric, check_lines

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Difference:
    """The scores of two systems by one metric, and their difference.

    difference: ours minus theirs; 95 % of the samples lie between `low` and `high`.
    p_value: the chance of a difference as large, either way, between systems equally good.
    """

    name: str
    ours: float
    theirs: float
    difference: float
    low: float
    high: float
    p_value: float
    signature: str


@dataclass(frozen=True)
class Comparison:
    """The differences of two systems by each metric, and how the samples were drawn."""

    differences: tuple[Difference, ...]
    samples: int
    seed: int

    def to_json(self) -> dict[str, Any]:
        """Return the comparison for `json.dumps`, with all digits."""
        return asdict(self)

    def __str__(self) -> str:
        rows = [f"{'':6}  {'ours':>6}  {'theirs':>6}  {'difference':>10}  {'95 % between':>16}  p"]
        for d in self.differences:
            interval = f"{d.low:+.2f} and {d.high:+.2f}"
            rows.append(
                f"{d.name:6}  {d.ours:6.2f}  {d.theirs:6.2f}  {d.difference:+10.2f}  "
                f"{interval:>16}  {d.p_value:.4f}"
            )
        return "\n".join([*rows, f"paired bootstrap, {self.samples} samples, seed {self.seed}"])


def compare_systems(
    ours: Sequence[str],
    theirs: Sequence[str],
    references: References,
    *,
    target_lang: str | None = None,
    tokenize: str | None = None,
    metrics: Sequence[str] = ("BLEU", "chrF2"),
    samples: int = 1000,
    seed: int = 12345,
) -> Comparison:
    """Compare two systems on test sets drawn with replacement from the given one.

    The arguments are those of `score_quality`; both systems are scored on the same samples. The
    p-values are those of sacreBLEU's own test with the same seed, except that a tie counts for
    chance: a system compared with itself has p = 1. Raises ValueError as `score_quality` does.
    """
    check_lines(ours, references)
    check_lines(theirs, references)
    if samples < 1:
        raise ValueError(f"samples={samples} must be at least 1")
    differences = []
    for name in metrics:
        metric = build_metric(name, target_lang=target_lang, tokenize=tokenize)
        our_scores, their_scores = (
            _resample(metric, lines, references, samples, seed) for lines in (ours, theirs)
        )
        metric.n_bootstrap, metric.seed = samples, seed  # both belong to the signature
        signature = str(metric.get_signature())
        differences.append(_measure(name, our_scores, their_scores, signature))
    return Comparison(tuple(differences), samples, seed)


def _resample(
    metric: Metric, lines: Sequence[str], references: References, samples: int, seed: int
) -> Numbers:
    """Return the score on the whole test set, then on each sample of it: [1 + samples]."""
    # sacreBLEU sums statistics of the sentences; its own test uses these two private methods.
    known = cast(Sequence[Sequence[str]], references)
    statistics = np.array(metric._extract_corpus_statistics(lines, known), dtype=np.float64)
    rng = np.random.default_rng(seed)
    drawn = (rng.choice(len(lines), size=len(lines)) for _ in range(samples))
    sums = [statistics.sum(0), *(statistics[rows].sum(0) for rows in drawn)]
    return np.array([metric._compute_score_from_stats(row).score for row in sums])


def _measure(name: str, ours: Numbers, theirs: Numbers, signature: str) -> Difference:
    gaps = ours - theirs
    sizes = np.abs(gaps[1:])
    extreme = int((sizes - sizes.mean() >= abs(gaps[0])).sum())
    low, high = np.percentile(gaps[1:], [2.5, 97.5])
    return Difference(
        name=name,
        ours=float(ours[0]),
        theirs=float(theirs[0]),
        difference=float(gaps[0]),
        low=float(low),
        high=float(high),
        p_value=(extreme + 1) / (len(sizes) + 1),
        signature=signature,
    )

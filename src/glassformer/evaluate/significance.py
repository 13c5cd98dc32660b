"""Significance of the difference between two systems on one test set. No torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from sacrebleu.metrics.base import Metric

from .quality import build_metric, list_metrics, write_signature
from .references import References, clean_lines
from .resampling import SAMPLES, SEED, TRIALS, extract_statistics, score_samples, score_sums

if TYPE_CHECKING:
    from .resampling import Numbers

Test = Literal["bootstrap", "randomization"]
ROWS = 500  # trials whose sums are taken at once
SAID = {"bootstrap": "paired bootstrap, {} samples", "randomization": "randomization, {} trials"}


@dataclass(frozen=True)
class Difference:
    """The scores of two systems by one metric, and their difference.

    difference: ours minus theirs; 95 % of bootstrap samples lie between `low` and `high`.
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
    test: Test = "bootstrap"

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
        return "\n".join([*rows, f"{SAID[self.test].format(self.samples)}, seed {self.seed}"])


def compare_systems(
    ours: Sequence[str],
    theirs: Sequence[str],
    references: References,
    *,
    target_lang: str | None = None,
    tokenize: str | None = None,
    metrics: Sequence[str] = ("BLEU", "chrF2", "chrF++"),
    test: Test = "bootstrap",
    samples: int | None = None,
    seed: int = SEED,
) -> Comparison:
    """Compare two systems by a paired test; the other arguments are those of `score_quality`.

    "bootstrap" draws 1,000 test sets with replacement from the given one, and scores both systems
    on each (Koehn 2004). "randomization" swaps, in each of 10,000 trials, the translations of about
    half of the sentences between the systems (Riezler and Maxwell 2005): it assumes less. The
    p-values are those of sacreBLEU's own tests with the same seed, in which a trial counts only if
    its difference is larger, not if it is equal; but scores that are equal have p = 1. Raises
    ValueError as `score_quality` does.
    """
    both = [clean_lines(each, references, target_lang) for each in (ours, theirs)]
    if test not in get_args(Test):
        raise ValueError(f"there is no test {test!r}; there are {', '.join(get_args(Test))}")
    times = (SAMPLES if test == "bootstrap" else TRIALS) if samples is None else samples
    if times < 1:
        raise ValueError(f"samples={times} must be at least 1")
    differences = []
    for name in list_metrics(metrics, target_lang):
        metric = build_metric(name, target_lang=target_lang, tokenize=tokenize)
        counts = [np.array(extract_statistics(metric, *each)) for each in both]
        signature = metric.get_signature()
        signature.update("seed", seed)
        signature.update("bs" if test == "bootstrap" else "ar", times)
        signed = write_signature(signature, target_lang)
        differences.append(_measure(name, metric, counts, test, times, seed, signed))
    return Comparison(tuple(differences), times, seed, test)


def _measure(
    name: str,
    metric: Metric,
    both: Sequence[Numbers],
    test: Test,
    times: int,
    seed: int,
    signature: str,
) -> Difference:
    """Return the difference by one metric, from the statistics of both systems' sentences."""
    ours, theirs = (float(score_sums(metric, each.sum(0)[None])[0]) for each in both)
    samples = times if test == "bootstrap" else SAMPLES
    drawn = [score_samples(metric, each.tolist(), samples, seed) for each in both]
    gaps = drawn[0] - drawn[1]
    if test == "bootstrap":
        sizes = np.abs(gaps) - np.abs(gaps).mean()
    else:
        sizes = np.abs(np.concatenate([*_swap(metric, both, times, seed)]))
    low, high = np.percentile(gaps, [2.5, 97.5])
    gap = abs(ours - theirs)
    extreme = int((sizes > gap).sum()) if gap else times  # ties do not count, as in sacreBLEU
    return Difference(
        name=name,
        ours=ours,
        theirs=theirs,
        difference=ours - theirs,
        low=float(low),
        high=float(high),
        p_value=(extreme + 1) / (times + 1),
        signature=signature,
    )


def _swap(metric: Metric, both: Sequence[Numbers], trials: int, seed: int) -> Iterator[Numbers]:
    """Yield the differences after the translations of random sentences were swapped."""
    one, other = (each.astype(np.float64) for each in both)
    rng = np.random.default_rng(seed)
    swapped = rng.integers(2, size=(trials, len(one)), dtype=bool)
    for first in range(0, trials, ROWS):
        here = swapped[first : first + ROWS].astype(np.float64)
        sums = here @ other + (1 - here) @ one, here @ one + (1 - here) @ other
        yield score_sums(metric, sums[0]) - score_sums(metric, sums[1])

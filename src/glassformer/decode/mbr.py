"""Minimum Bayes risk: of several translations the one that is most like the others.

The expected utility of a candidate is its mean score against all candidates, which stand for the
distribution of translations (Eikema and Aziz 2020; Freitag et al. 2022). The scores are
sacreBLEU's, of sentences. This module does not import torch.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from .sentences import Hypothesis

# Added to a sentence's key of sampling for each further sample: up to 200 fit into its 64 bits.
SAMPLE = 1 << 56


@cache
def load_utility(name: str) -> Callable[[str, str], float]:
    """Return the score of a translation against another, 0 to 100: of chrf or bleu."""
    from sacrebleu.metrics.bleu import BLEU
    from sacrebleu.metrics.chrf import CHRF

    metric: Any = CHRF() if name == "chrf" else BLEU(effective_order=True)

    def score(text: str, other: str) -> float:
        return float(metric.sentence_score(text, [other]).score)

    return score


def rank_by_utility(
    hypothesis: Sequence[Hypothesis], texts: Sequence[str], utility: str
) -> list[Hypothesis]:
    """Return the hypotheses with different texts, that of the highest expected utility first.

    Of equals the more probable is first. Hypotheses that did not end come after all others.
    """
    times, score = Counter(texts), load_utility(utility)
    first = dict(zip(reversed(texts), reversed(hypothesis), strict=True))
    expected = {
        text: sum(
            n * (100.0 if text == other else score(text, other)) for other, n in times.items()
        )
        for text in times
    }
    order = sorted(
        times, key=lambda text: (not first[text].finished, -expected[text], -first[text].log_prob)
    )
    return [first[text] for text in order]

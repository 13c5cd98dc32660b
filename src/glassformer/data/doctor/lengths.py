"""Pairs of which one side is far too long for the other."""

from __future__ import annotations

import numpy as np

from .ragged import Array

FAR = 6.0  # robust standard deviations
LEAST = 0.7  # and in the logarithm of the ratio: twice what is usual
SHORT = 20  # characters: below, on both sides, any ratio can be right
FEW = 100  # pairs of a size that say how much their ratio varies


def find_outliers(source: Array, target: Array) -> Array:
    """Pairs whose log ratio of characters lies far from the median of pairs of their size."""
    whole = (source > 0) & (target > 0)
    ratio = np.log(target + 3.0) - np.log(source + 3.0)
    size = np.where(whole, np.log2(source + target + 1).astype(int), -1)
    outliers = np.zeros(len(source), bool)
    if not whole.any():
        return np.flatnonzero(outliers)
    usual = float(np.median(ratio[whole]))
    overall = _spread(ratio[whole], usual)
    for each in range(int(size.max()) + 1):
        chosen = size == each
        spread = _spread(ratio[chosen], usual) if chosen.sum() >= FEW else overall
        outliers |= chosen & (np.abs(ratio - usual) > max(FAR * spread, LEAST))
    return np.flatnonzero(outliers & (np.maximum(source, target) >= SHORT))


def _spread(ratio: Array, usual: float) -> float:
    """A standard deviation, were the ratios normal; few wild ones change nothing."""
    return 1.4826 * float(np.median(np.abs(ratio - usual)))

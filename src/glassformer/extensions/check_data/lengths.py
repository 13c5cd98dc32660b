"""Ratios of lengths: of pairs of which one side is far too long, and of partners and others."""

import numpy as np

from glassformer.config import Data

from .ragged import Array

FAR = 6.0  # robust standard deviations
LEAST = 0.7  # the least difference of log ratios: a factor of two
SHORT = 20  # characters: if both sides are shorter, any ratio can be right
USUAL = (4.0, 1.5)  # characters of a token, in text with spaces and without
FEW = 100  # the fewest pairs of a size from which the spread of their ratio is taken


def find_outliers(source: Array, target: Array) -> Array:
    """Return the pairs whose log ratio of characters is far from the median of all pairs.

    What is far depends on the spread among pairs of their size.
    """
    whole = (source > 0) & (target > 0)
    ratio = log_ratio(source, target)
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


def correlate(source: Array, target: Array) -> float:
    """Return how the lengths of two sides correlate line by line; 1 if all of a side are equal."""
    if not len(source):
        return 1.0
    ours, theirs = (np.log(side + 3.0) for side in (source, target))
    spread = float(np.std(ours) * np.std(theirs))
    return float(np.mean((ours - ours.mean()) * (theirs - theirs.mean()))) / spread if spread else 1


def find_long(lengths: Array, is_unspaced: bool) -> Array:
    """Return the lines that are sure to have more tokens than `data.max_length` has by default.

    Their characters would be too many even if a token were twice as long as it usually is.
    """
    return np.flatnonzero(lengths > 2 * USUAL[is_unspaced] * Data().max_length)


def _spread(ratio: Array, usual: float) -> float:
    """Return a robust estimate of the standard deviation, by the median absolute deviation."""
    return 1.4826 * float(np.median(np.abs(ratio - usual)))


def log_ratio(source: Array, target: Array) -> Array:
    return np.log(target + 3.0) - np.log(source + 3.0)


def fit_lengths(source: Array, target: Array) -> tuple[float, float, float]:
    """Return mean and spread of the log ratio of partners, and its spread in pairs by chance."""
    if len(source) < 2:
        return 0.0, 1.0, 1.0
    ratio = log_ratio(source, target)
    chance = log_ratio(source, np.roll(target, len(target) // 2))
    middle = float(np.median(ratio))
    spread = max(_spread(ratio, middle), 0.05)
    return middle, spread, max(float(np.std(chance)), spread)

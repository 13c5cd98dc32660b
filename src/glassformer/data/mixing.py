"""Several corpora as one: which pairs of each an epoch has, and how many each has contributed.

A weight says how often an epoch has each pair of a corpus. A fraction is a part of its pairs, the
next part in each epoch, so that all have their turn.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


def find_weights(
    sizes: Sequence[int], weights: Sequence[float], temperature: float | None
) -> list[float]:
    """Return how often an epoch has each pair of each corpus.

    With a temperature T the pairs of a corpus of n pairs are as n^(1/T) (Arivazhagan et al. 2019);
    the corpus shown least often has its own weight, so that nothing is left out.
    """
    if temperature is None:
        return list(weights)
    factors = np.array(sizes, np.float64) ** (1 / temperature - 1)
    return [float(w * f) for w, f in zip(weights, factors / factors.min(), strict=True)]


class Mixture:
    """The rows of a store that each epoch has: a pure function of seed and epoch."""

    def __init__(self, starts: Integers, weights: Sequence[float], seed: int) -> None:
        """`starts`: the first row of each corpus, and the number of all rows."""
        self.starts, self.weights, self.seed = starts, tuple(weights), seed
        sizes = np.diff(starts)
        self.wholes = [int(weight) for weight in weights]
        self.fractions = [
            max(round((weight - whole) * int(size)), int(weight > whole))  # each has its turn
            for weight, whole, size in zip(weights, self.wholes, sizes, strict=True)
        ]

    @property
    def is_plain(self) -> bool:
        """Return whether each epoch has every row once."""
        return all(weight == 1 for weight in self.weights)

    @property
    def is_periodic(self) -> bool:
        """Return whether all epochs have the same rows."""
        return not any(self.fractions)

    @property
    def counts(self) -> Integers:
        """Return the pairs of each corpus in an epoch, repeated ones counted each time."""
        wholes, sizes = np.array(self.wholes), np.diff(self.starts)
        return np.asarray(wholes * sizes + np.array(self.fractions), np.int64)

    def rows(self, epoch: int) -> Integers:
        """Return the rows of an epoch, in ascending order, some of them repeatedly."""
        return np.concatenate(
            [np.repeat(np.arange(*span), whole) for span, whole in self._spans()]
            + [self._part(number, epoch) for number, few in enumerate(self.fractions) if few]
        )

    def _spans(self) -> list[tuple[tuple[int, int], int]]:
        pairs = zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        return list(zip(pairs, self.wholes, strict=True))

    def _part(self, number: int, epoch: int) -> Integers:
        """Return the part of a corpus that epoch has beyond its whole repetitions."""
        start, end = self.starts[number : number + 2].tolist()
        few, size = self.fractions[number], end - start
        bits = np.random.PCG64(np.random.SeedSequence((self.seed, number, 2)))
        order = np.argsort(bits.random_raw(size), kind="stable")
        return np.asarray(start + np.sort(order[(epoch * few + np.arange(few)) % size]), np.int64)

    def corpora_of(self, rows: Integers) -> Integers:
        """Return the number of pairs of each corpus among the rows."""
        numbers = np.searchsorted(self.starts, rows, side="right") - 1
        return np.bincount(numbers, minlength=len(self.weights)).astype(np.int64)

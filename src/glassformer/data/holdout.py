"""A validation set held out of the training text, with no overlap between the two."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from .corpus import Corpus

MOST_PAIRS = 2000
LARGEST_SHARE = 0.05

Integers = npt.NDArray[np.int64]


def hold_out(corpus: Corpus, seed: int) -> tuple[Corpus, Corpus]:
    """Split a whole corpus by a seed; return the training corpus and the validation corpus.

    Pairs that share a compared side, whatever its case and spacing, directly or through other
    pairs, are never split. `chosen` of the validation corpus says which pairs were held out:
    min(2000, 5 %), at least one. ValueError if nothing can be held out.
    """
    places, sides = array("q"), [array("Q") for _ in corpus.compared_sides]
    total = 0
    for total, pair in enumerate(corpus, 1):
        if pair[0].strip() and pair[1].strip():  # other pairs are never trained on
            places.append(total - 1)
            for side, hashes in zip(corpus.compared_sides, sides, strict=True):
                hashes.append(_hash(pair[side]))
    held = _choose(_components(sides), seed)
    chosen = np.zeros(total, dtype=bool)
    chosen[np.array(places)[held]] = True
    return replace(corpus, chosen=~chosen), replace(corpus, chosen=chosen)


def leave_out(corpus: Corpus, pairs: Iterable[tuple[str, str]]) -> Corpus:
    """Return the pairs of a whole corpus that share no compared side with `pairs`."""
    known = [*(set(map(_hash, side)) for side in zip(*pairs, strict=True))]
    sides = corpus.compared_sides
    chosen = [not any(_hash(pair[side]) in known[side] for side in sides) for pair in corpus]
    return replace(corpus, chosen=np.array(chosen, dtype=bool))


def _hash(text: str) -> int:
    plain = " ".join(text.casefold().split())
    return int.from_bytes(blake2b(plain.encode("utf-8", "replace"), digest_size=8).digest())


def _components(sides: Iterable[npt.ArrayLike]) -> Integers:
    """Return the connected component of each pair, as the number of one of its pairs (union-find).

    Pairs are connected if they have the same text on a side.
    """
    parent: list[int] = []

    def root(pair: int) -> int:
        while parent[pair] != pair:
            parent[pair] = parent[parent[pair]]
            pair = parent[pair]
        return pair

    for side in sides:
        _, first, inverse = np.unique(side, return_index=True, return_inverse=True)
        first = first[inverse]  # the first pair with the same text on this side
        parent = parent or list(range(len(first)))
        for pair in np.flatnonzero(first != np.arange(len(first))).tolist():
            parent[root(pair)] = root(int(first[pair]))
    return np.array([root(pair) for pair in range(len(parent))], dtype=np.int64)


def _choose(label: Integers, seed: int) -> npt.NDArray[np.bool_]:
    """Return which pairs are held out: small components in random order, up to the number wanted.

    `label` is the component of each pair.
    """
    wanted = max(1, min(MOST_PAIRS, int(LARGEST_SHARE * len(label))))
    names, sizes = np.unique(label, return_counts=True)
    if not len(names):
        raise ValueError("no pair has text on both sides: there is nothing to train on")
    if len(names) < 2:
        alike = "that all share a source or a target with one another"
        held = f"{len(label):,} pairs {alike}" if len(label) > 1 else "a single pair"
        raise ValueError(f"nothing can be held out of {held}: give a validation set, --valid")
    small = np.flatnonzero(sizes <= max(sizes.min(), wanted // 20))
    order = small[np.argsort(np.random.PCG64(seed).random_raw(len(small)), kind="stable")]
    fits = np.cumsum(sizes[order]) <= wanted
    fits[0] = True
    return np.isin(label, names[order[fits]])

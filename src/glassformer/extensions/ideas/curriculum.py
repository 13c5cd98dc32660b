"""A curriculum: stages, [[data.stage]], read some of several corpora for a part of the training.

The batches of each stage are a function of seed, epoch and index, and those of an update are what
they would be if its stage had lasted from the beginning. So what an update reads depends on nothing
but its number and the plan, and a training that was stopped goes on bit for bit.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from glassformer.config import Config
from glassformer.data.batches import Batches
from glassformer.data.masking import choose_batches
from glassformer.data.store import Store
from glassformer.text import Tokenizer


def add_stages(
    batches: Batches,
    config: Config,
    store: Store,
    tokenizers: tuple[Tokenizer, Tokenizer],
    weights: Sequence[float],
) -> None:
    """Give the batches of a training the stages that its settings name.

    After the last stage, all corpora are read. ValueError if a stage has no pairs to read.
    """
    names = [name for name, _ in store.parts]
    for stage in config.data.stage:
        chosen = [
            weight if name in stage.corpora else 0.0
            for name, weight in zip(names, weights, strict=True)
        ]
        own = choose_batches(config, store, tokenizers, chosen)
        if not own.mixture.counts.any():
            raise ValueError(f"data.stage: {', '.join(stage.corpora)} has no pairs to read")
        batches.stages.append((stage.until, own))


def count_pairs(batches: Batches, step: int, accumulate: int = 1) -> list[int]:
    """Return how many pairs of each corpus the updates before update `step` have read."""
    ends = [bisect_left(range(step), until, key=batches.share) for until, _ in batches.stages]
    read = [*(each for _, each in batches.stages), batches]
    total = np.zeros(len(batches.mixture.weights), np.int64)
    for start, end, each in zip([0, *ends], [*ends, step], read, strict=True):
        total += each.count_pairs(end, accumulate)
        total -= each.count_pairs(start, accumulate)
    counts: list[int] = total.tolist()
    return counts

"""Numbers gone wrong: what is done about losses and gradients that are not finite, or that rise.

An update without a finite gradient is left out. After IN_A_ROW of them the training goes back to
its latest checkpoint and on with CUT times the rate; when that has not helped TRIES times, it ends.
A loss that rises and stays up is told: going back would not help, for no checkpoint is better.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

from ..config import BOS, EOS, PAD
from ..data.batches import Batch
from ..directory import Tokenizers
from ..text import Tokenizer
from .checkpoint import Progress
from .updates import Updater

IN_A_ROW = 5
TRIES = 3
CUT = 0.5
SHOWN = 5  # sentence pairs of a batch that went wrong
MEMORY = 100  # updates that the mean loss goes back
RISE = 1.0  # nats above its lowest, for as many updates: diverged


class Drift:
    """Whether the mean loss has risen from where it was, and stays there."""

    def __init__(self) -> None:
        self.mean = self.lowest = math.inf
        self.lowest_step = self.above = 0

    def has_diverged(self, step: int, loss: float) -> bool:
        """Told of every update; true once a rise."""
        self.mean = loss if math.isinf(self.mean) else self.mean + (loss - self.mean) / MEMORY
        if self.mean < self.lowest:
            self.lowest, self.lowest_step = self.mean, step
        self.above = self.above + 1 if self.mean > self.lowest + RISE else 0
        return self.above == MEMORY

    def describe(self, step: int) -> str:
        return (
            f"Update {step:,}: this training has diverged: the mean loss was {self.lowest:.2f} at "
            f"update {self.lowest_step:,} and is {self.mean:.2f} since; a lower "
            "train.learning_rate or a longer train.warmup helps"
        )


def learn_from(wrong: Progress, back: Progress) -> None:
    """What a training keeps in mind when it goes back to where it stood before."""
    back.skipped_in_all = wrong.skipped_in_all
    back.cpu_seconds, back.seconds = wrong.cpu_seconds, wrong.seconds
    back.goings_back, back.trouble_step = wrong.goings_back + 1, wrong.step
    back.rate_factor = wrong.rate_factor * CUT
    back.most_cells = wrong.most_cells


def find_culprits(
    updater: Updater, step: int, batches: Sequence[Batch], tokenizers: Tokenizers
) -> list[dict[str, Any]]:
    """The first few pairs that have no finite loss, by their numbers in the store and in words.

    There is none where a gradient is at fault, or where it takes all processes to tell.
    """
    found = [] if updater.is_sharded else updater.find_culprits(step, batches)
    told = [
        {
            "pair": int(pair.rows[0]),
            "source": _read(pair.source_BS[0], tokenizers.source),
            "target": _read(pair.target_BT[0], tokenizers.target),
        }
        for pair in found[:SHOWN]
    ]
    return list(chain.from_iterable(updater.team.gather(told)))[:SHOWN]


def _read(ids: Iterable[int], tokenizer: Tokenizer) -> str:
    return tokenizer.decode([int(id) for id in ids if id not in (PAD, BOS, EOS)])


def tell_culprits(step: int, pairs: Sequence[Mapping[str, Any]]) -> str:
    with_whom = f", with the pair {shorten(pairs[0]['source'])}" if pairs else ""
    more = f" and {len(pairs) - 1} more" if len(pairs) > 1 else ""
    return f"Update {step:,}: loss or gradient is not finite{with_whom}{more}; it is left out"


def tell_return(wrong: Progress, back: Progress) -> str:
    return (
        f"Update {wrong.step:,}: {IN_A_ROW} in a row were not finite: going back to update "
        f"{back.step:,}, and on with {back.rate_factor:g} times the rate"
    )


def explain(progress: Progress, pairs: Sequence[Mapping[str, Any]]) -> str:
    """Why a training that cannot be helped ends."""
    shown = f", as with the pair {shorten(pairs[0]['source'])}" if pairs else ""
    return (
        f"update {progress.step}: loss or gradient has not been finite{shown}, and going back "
        f"{TRIES} times, at last with {progress.rate_factor:g} times the rate, has not helped: "
        "try a lower train.learning_rate or train.precision=fp32"
    )


def shorten(text: str, most: int = 60) -> str:
    return repr(text if len(text) <= most else text[: most - 3] + "...")

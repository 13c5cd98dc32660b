"""The head that aligns words best: by alignments of people, or by the other direction's model.

Letters: C candidates; S source; T target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from glassformer.translate.align.choose_head import AlignmentChoice, make_choice
from glassformer.translate.align.pairs import (
    AlignmentCandidate,
    Array,
    Attending,
    Pair,
    choose_units,
    list_candidates,
    spread_links,
    weigh_links,
)

from .gold import Errors, Gold


def choose_by_gold(
    model: Attending, pairs: Sequence[Pair], gold: Sequence[Gold]
) -> AlignmentChoice:
    """Return the head with the lowest AER on all sentences.

    The score is held out: each half of the sentences chooses a head, and its AER is measured on
    the other half.
    """
    candidates = list_candidates(model.config.model)
    halves = [
        [Errors(len(gold[n::2]), 0, _count_sure(gold[n::2]), 0, 0)] * len(candidates)
        for n in (0, 1)
    ]
    for number, weights in weigh_links(model, pairs, candidates):
        errors = _measure(
            pairs[number], spread_links(pairs[number], choose_units(weights)), gold[number]
        )
        half = halves[number % 2]
        halves[number % 2] = [a + b for a, b in zip(half, errors, strict=True)]
    best = _find_lowest([a + b for a, b in zip(*halves, strict=True)])
    held_out = halves[0][_find_lowest(halves[1])] + halves[1][_find_lowest(halves[0])]
    return make_choice(candidates[best], "gold", "AER on the other half", held_out.aer, len(gold))


def _find_lowest(errors: Sequence[Errors]) -> int:
    return min(range(len(errors)), key=lambda c: errors[c].aer)


def _count_sure(gold: Sequence[Gold]) -> int:
    return sum(len(each.sure) for each in gold)


def _measure(pair: Pair, found_CST: Array, gold: Gold) -> list[Errors]:
    """Return the errors of each candidate on one pair, without sentences and sure links.

    Those are counted beforehand.
    """
    shape = found_CST.shape[1:]
    sure, possible = (
        np.array([link in links for link in np.ndindex(shape)]).reshape(shape)
        for links in (gold.sure, gold.possible)
    )
    result = found_CST > 0
    columns = (each.sum((1, 2)).tolist() for each in (result, result & sure, result & possible))
    return [Errors(0, all, 0, one, other) for all, one, other in zip(*columns, strict=True)]


def choose_by_agreement(
    models: tuple[Attending, Attending], pairs: Sequence[Sequence[Pair]]
) -> tuple[AlignmentChoice, AlignmentChoice]:
    """Return a head for each direction: the two whose links agree most (F1)."""
    candidates = [list_candidates(each.config.model) for each in models]
    both = np.zeros((len(candidates[0]), len(candidates[1])))
    sums = np.zeros_like(both)
    there = dict(_flatten(models[1], pairs[1], candidates[1], swapped=True))
    count = 0
    for number, forward in _flatten(models[0], pairs[0], candidates[0], swapped=False):
        if number in there:
            backward = there[number]
            both += forward @ backward.T
            sums += forward.sum(1)[:, None] + backward.sum(1)
            count += 1
    shares = 2 * both / np.maximum(sums, 1)
    best = np.unravel_index(shares.argmax(), shares.shape)
    chosen = [
        make_choice(each[c], "agreement", "F1 with the other direction", float(shares.max()), count)
        for each, c in zip(candidates, best, strict=True)
    ]
    return chosen[0], chosen[1]


def _flatten(
    model: Attending,
    pairs: Sequence[Pair],
    candidates: list[AlignmentCandidate],
    swapped: bool,
) -> Iterator[tuple[int, Array]]:
    for number, weights in weigh_links(model, pairs, candidates):
        links = spread_links(pairs[number], choose_units(weights))
        links = np.swapaxes(links, 1, 2) if swapped else links
        yield number, links.reshape(len(links), -1)

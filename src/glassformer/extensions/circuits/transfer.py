"""The share that the circuit of one sentence keeps in other sentences of its kind.

The edges lose their positions: an edge of the circuit is kept at all positions of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from glassformer.extensions.lab.contrastive import ContrastiveItem
from glassformer.extensions.lab.probe_pairs import read_probe_pair
from glassformer.translator import Translator

from .edges import EdgeNetwork, WordContrast, Written
from .faithfulness import CircuitEdge, Faithfulness
from .rivals import measure_random

PARTNER = "counterpart"  # the column of a sentence with as many tokens and the other answer
Measured = tuple[WordContrast, WordContrast]


@dataclass(frozen=True)
class Transfer:
    """How a circuit fares on other sentences, all of which have a counterpart."""

    sentences: int
    left_out: int  # without a counterpart of as many tokens, or not to be tokenized
    size: int  # edges, without positions
    of: int
    kept: float  # of the mean lead
    right: float  # the share of sentences whose right word leads in the circuit
    random: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """Return all numbers."""
        return asdict(self)


def pair_up(translator: Translator, items: Sequence[ContrastiveItem]) -> list[Measured]:
    """Return the sentences that have a counterpart, with it.

    It is what the column `counterpart` says, or another sentence of as many tokens, with the same
    translation up to the word and the other answer.
    """
    results, waiting = [], []
    for item in items:
        pair = read_probe_pair(translator, item)
        if isinstance(pair, str):
            continue
        here = WordContrast((*pair.source,), (*pair.given,), pair.answers)
        text = item.categories.get(PARTNER)
        if text is None:
            waiting.append(here)
            continue
        ids = read_probe_pair(translator, ContrastiveItem(text, item.right, item.wrong))
        if not isinstance(ids, str) and len(ids.source) == len(here.source):
            results.append((here, here._replace(source=(*ids.source,))))
    return results + [each for here in waiting for each in _find_partner(here, waiting)]


def _find_partner(here: WordContrast, others: Sequence[WordContrast]) -> list[Measured]:
    for other in others:
        fits = len(other.source) == len(here.source) and other.given == here.given
        if fits and other.answers == here.answers[::-1]:
            return [(here, here._replace(source=other.source))]
    return []


def measure_transfer(
    network: EdgeNetwork,
    edges: Sequence[CircuitEdge],
    pairs: Sequence[Measured],
    left_out: int,
    tick: Callable[[int], object] = lambda done: None,
) -> Transfer:
    """Return what a circuit keeps in other sentences. Raises ValueError if there are none."""
    if not pairs:
        raise ValueError(
            "no pair has a counterpart: give it in a column counterpart, or a second line with as "
            "many tokens, the same translation up to the word, and the other answer"
        )
    contrasts, partners = zip(*pairs, strict=True)
    faithfulness = Faithfulness(
        network, contrasts, stack_written(network, partners), by_position=False
    )
    tick(1)
    transfer = {(each.node, each.reader) for each in edges}
    named = faithfulness.name(torch.arange(faithfulness.size))
    numbers = [n for n, each in enumerate(named) if (each.node, each.reader) in transfer]
    edges_N = torch.tensor(numbers)
    leads_B = faithfulness.leads(edges_N)
    kept = (leads_B.mean().item() - faithfulness.nothing) / faithfulness.span
    right = (leads_B > 0).float().mean().item()
    random = tuple(measure_random(faithfulness, len(numbers)))
    return Transfer(len(pairs), left_out, len(numbers), faithfulness.size, kept, right, random)


def stack_written(network: EdgeNetwork, contrasts: Sequence[WordContrast]) -> Written:
    """Return what the nodes write in each of several sentences, with zeros at missing positions."""
    runs = [network.run([each]).written for each in contrasts]
    written: Written = {}
    for block in runs[0]:
        size = max(run[block].size(2) for run in runs)
        written[block] = torch.cat([pad_positions(run[block], size) for run in runs])
    return written


def pad_positions(x_BNLD: Tensor, size: int) -> Tensor:
    """Return x with zeros at further positions."""
    return torch.nn.functional.pad(x_BNLD, (0, 0, 0, size - x_BNLD.size(2)))

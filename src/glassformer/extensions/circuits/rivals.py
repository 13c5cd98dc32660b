"""Random circuits, which a found one must beat."""

from collections import defaultdict

import torch
from torch import Tensor

from .edges import ANSWER
from .faithfulness import Faithfulness

RANDOM = 20


def measure_random(
    faithfulness: Faithfulness, size: int, count: int = RANDOM, seed: int = 0
) -> list[float]:
    """Return the faithfulness of circuits whose edges are drawn from all that reach the answer."""
    generator = torch.Generator().manual_seed(seed)
    drawn = [torch.randperm(faithfulness.size, generator=generator)[:size] for _ in range(count)]
    return [faithfulness.measure_one(edges_N) for edges_N in drawn]


def measure_connected(
    faithfulness: Faithfulness, size: int, count: int = RANDOM, seed: int = 0
) -> list[float]:
    """Return the faithfulness of random circuits in which each edge has a way to the answer.

    They grow from the answer: an edge is drawn from all that lead to where the circuit already is.
    """
    generator = torch.Generator().manual_seed(seed)
    by_end = _group_by_end(faithfulness)
    drawn = [_grow_back(by_end, size, generator) for _ in range(count)]
    return [faithfulness.measure_one(edges_N) for edges_N in drawn]


Ends = dict[str, list[tuple[int, str]]]  # for each node the edges that end at it, with their starts


def _grow_back(by_end: Ends, size: int, generator: torch.Generator) -> Tensor:
    frontier, reached = [*by_end[ANSWER]], {ANSWER}
    chosen: list[int] = []
    while frontier and len(chosen) < size:
        at = int(torch.randint(len(frontier), (), generator=generator))
        frontier[at], frontier[-1] = frontier[-1], frontier[at]
        number, start = frontier.pop()
        chosen.append(number)
        if start not in reached:
            reached.add(start)
            frontier += by_end[start]
    return torch.tensor(chosen)


def _group_by_end(faithfulness: Faithfulness) -> Ends:
    ends: Ends = defaultdict(list)
    for number, edge in enumerate(faithfulness.name(torch.arange(faithfulness.size))):
        ends[find_owner(edge.reader)].append((number, edge.node))
    return ends


def find_owner(reader: str) -> str:
    """Return the node that a reader belongs to."""
    for ending in (".query", ".key", ".value", ".memory"):
        reader = reader.removesuffix(ending)
    return reader

"""The smallest circuit that is found for a word: few edges that keep most of its lead.

The edges with the largest attributions come first, as many as it takes; then those are taken away
again without which the lead stays: many at a time, those with the smallest gradients; at last each
on its own, exactly. What is left is minimal: no edge of it can be taken away (Wang et al. 2022,
"Interpretability in the Wild", 4).

Letters: B circuits; N edges.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from .faithfulness import Faithfulness

KEEP = 0.9
SIZES = 1.5  # by how much each size that is tried exceeds the one before
FRACTIONS = (0.5, 0.35, 0.2, 0.1, 0.05, 0.02, 0.01)  # of a circuit, to be taken away at once
Tick = Callable[[int], object]


def find_circuit(
    faithfulness: Faithfulness, keep: float = KEEP, tick: Tick = lambda done: None
) -> Tensor | None:
    """Return the edges of a small circuit that keeps a share of the lead, N; None if none does."""
    edges_N = _grow(faithfulness, keep, tick)
    if edges_N is None:
        return None
    return _finish(faithfulness, _thin(faithfulness, edges_N, keep, tick), keep, tick)


def _grow(faithfulness: Faithfulness, keep: float, tick: Tick) -> Tensor | None:
    """Return the first edges in the order of their attributions, as many as it takes."""
    order_N = faithfulness.integrate().argsort(descending=True)
    size = 8.0
    while size < len(order_N) * SIZES:
        tick(1)
        edges_N = order_N[: int(size)]
        if faithfulness.measure_one(edges_N) >= keep:
            return edges_N
        size *= SIZES
    return None


def _thin(faithfulness: Faithfulness, edges_N: Tensor, keep: float, tick: Tick) -> Tensor:
    """Take away many edges at a time, those with the smallest gradients."""
    while len(edges_N) > 1:
        tick(1)
        edges_N = edges_N[faithfulness.differentiate(edges_N).argsort()]
        counts = {max(1, int(len(edges_N) * part)) for part in FRACTIONS}
        fewer = _drop_most(faithfulness, edges_N, sorted(counts), keep)
        if fewer is None:
            break
        edges_N = fewer
    return edges_N


def _finish(faithfulness: Faithfulness, edges_N: Tensor, keep: float, tick: Tick) -> Tensor:
    """Take away those edges without which most is left, until none can go."""
    while len(edges_N) > 1:
        tick(1)
        kept_N = faithfulness.measure(edges_N, 1 - torch.eye(len(edges_N)))
        order = kept_N.argsort(descending=True)
        able = int((kept_N >= keep).sum())
        if not able:
            break
        counts = [count for count in (1, 2, 4, 8, 16, 32, 64) if count <= able]
        fewer = _drop_most(faithfulness, edges_N[order], counts, keep)
        assert fewer is not None
        edges_N = fewer
    return edges_N


def _drop_most(
    faithfulness: Faithfulness, edges_N: Tensor, counts: list[int], keep: float
) -> Tensor | None:
    """Return the circuit without its first edges, as many of `counts` as can go; None: none."""
    amount_BN = torch.ones(len(counts), len(edges_N))
    for row, count in enumerate(counts):
        amount_BN[row, :count] = 0
    good = (faithfulness.measure(edges_N, amount_BN) >= keep).nonzero()
    return edges_N[counts[int(good[-1])] :] if len(good) else None

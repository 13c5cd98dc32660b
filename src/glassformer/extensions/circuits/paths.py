"""Path patching: what goes from one head to another directly, by its query, its key or its value.

The receiver gets what the sender writes elsewhere, in one of its three readings; no other reader of
the sender does. All that comes after the receiver is computed anew (Wang et al. 2022,
"Interpretability in the Wild"; Goldowsky-Dill et al. 2023, "Localizing Model Behavior with Path
Patching"). Between the two heads nothing is passed on by others: the path is one edge.

Letters: N edges; C readers; L positions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

import torch

from glassformer.see.trace import Trace

from .edges import KEY, QUERY, VALUE, EdgeNetwork, WordContrast, Written
from .faithfulness import Faithfulness
from .words import WordChoice, load_network, read_counterpart

READINGS = (QUERY, KEY, VALUE)
Heads = tuple[str, str]  # a sender and a receiver


class PathEffect(NamedTuple):
    """The part of the way to the counterpart's lead that a path takes, by what reads at its end.

    1 is the whole way. A kind is missing if the receiver's reading of it does not come after the
    sender, as the query of a cross-attention does not after the encoder.
    """

    sender: str
    receiver: str
    kinds: Mapping[str, float]
    together: float  # with all kinds patched at once

    @property
    def most(self) -> float:
        """Return the largest amount."""
        return max(map(abs, (*self.kinds.values(), self.together)))


@dataclass(frozen=True)
class PathTable:
    """The effects of paths between heads on one word of a recorded translation."""

    trace: Trace
    asked: WordChoice
    counterpart: str
    lead: float
    nothing: float  # the counterpart's
    of: int  # how many pairs of heads there are
    effects: tuple[PathEffect, ...]

    def to_json(self) -> dict[str, Any]:
        """Return all numbers."""
        numbers = {name: getattr(self, name) for name in ("counterpart", "lead", "nothing", "of")}
        rows = [each._asdict() for each in self.effects]
        return {**self.asked.describe(self.trace), **numbers, "paths": rows}


class PathPatching:
    """Two sentences between which paths are patched: all heads with their readings."""

    def __init__(self, network: EdgeNetwork, contrast: WordContrast, others: Written):
        if not network.by_head:
            raise ValueError("paths lead between heads: the network must tell heads apart")
        self.faithfulness = Faithfulness(network, [contrast], others, by_position=False)
        self.edges = self._list_edges(network.settings.heads)

    def _list_edges(self, heads: int) -> dict[Heads, dict[str, int]]:
        """Return the edges between two heads by their kinds."""
        names = self.faithfulness.name(torch.arange(self.faithfulness.size))
        edges: dict[Heads, dict[str, int]] = defaultdict(dict)
        for number, edge in enumerate(names):
            receiver, _, kind = edge.reader.rpartition(".")
            if kind in READINGS and edge.node.rpartition(".")[2].isdigit():
                edges[edge.node, receiver][kind] = number
        return dict(edges)

    def measure(self, pairs: Sequence[Heads]) -> list[PathEffect]:
        """Return the effects of paths. Raises ValueError if no edge leads from one to the other."""
        return [self._measure_one(*self._check(*pair)) for pair in pairs]

    def _measure_one(self, sender: str, receiver: str) -> PathEffect:
        edges = self.edges[sender, receiver]
        edges_N = torch.tensor([*edges.values()])
        size = len(edges_N)
        amount_BN = torch.cat((1 - torch.eye(size), torch.zeros(1, size)))
        *apart, together = (1 - self.faithfulness.measure(edges_N, amount_BN, 1.0)).tolist()
        return PathEffect(sender, receiver, dict(zip(edges, apart, strict=True)), together)

    def _check(self, sender: str, receiver: str) -> Heads:
        for name in (sender, receiver):
            known = sorted({each for pair in self.edges for each in pair})
            if name not in known:
                near = get_close_matches(name, known, 1, 0.0)[0]
                raise ValueError(f"there is no head {name!r}; did you mean {near}?")
        if (sender, receiver) not in self.edges:
            raise ValueError(f"no edge leads from {sender} to {receiver}: it reads before that")
        return sender, receiver

    def find(self, most: int, tried: int = 4) -> list[PathEffect]:
        """Return the paths with the largest effects, exactly measured.

        `tried` times as many are measured: those with the largest gradients.
        """
        order = self._rank()[: most * tried]
        return sorted(self.measure(order), key=lambda each: -each.most)[:most]

    def _rank(self) -> list[Heads]:
        """Return all pairs of heads, those with the largest gradients first."""
        gain_N = self.faithfulness.attribute(1.0).abs().tolist()
        return sorted(
            self.edges, key=lambda pair: -max(gain_N[n] for n in self.edges[pair].values())
        )


def patch_paths(
    trace: Trace,
    asked: WordChoice,
    counterpart: Sequence[int],
    text: str,
    pairs: Sequence[Heads] = (),
    most: int = 10,
) -> PathTable:
    """Return the effects of paths between heads, or those of the strongest if none are named.

    counterpart: ids of a sentence with as many tokens, and its text.
    Raises ValueError for a network without a residual stream, a counterpart of another length or
    one in which the word leads as much, and for heads between which there is no path.
    """
    with torch.no_grad():
        network = EdgeNetwork(load_network(trace), by_head=True)
        other = read_counterpart(asked, text, lambda _: counterpart)
        patching = PathPatching(network, asked.contrast, network.run([other]).written)
        whole, nothing = patching.faithfulness.whole, patching.faithfulness.nothing
        if whole <= nothing:
            raise ValueError(f"in the counterpart the word leads by as much: {nothing:+.2f}")
        effects = patching.measure(pairs) if pairs else patching.find(most)
        return PathTable(trace, asked, text, whole, nothing, len(patching.edges), (*effects,))

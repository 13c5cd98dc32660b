"""How much of a lead is kept when all edges outside a circuit carry what the nodes write elsewhere.

Faithfulness is (m - b') / (b - b'): of a circuit's lead m, the lead b of the whole network, and the
lead b' with all edges replaced (Hanna et al. 2024, "Have Faith in Faithfulness"). The share is 1 if
nothing is replaced, 0 if everything is; it may be beyond both.

Letters: B circuits; N edges (in `integrate` nodes); C readers; L positions; D model width.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from .edges import ANSWER, Cuts, EdgeNetwork, Site, SiteEdges, WordContrast, Written, stretch

AT_ONCE = 64  # circuits in one pass
POINTS = 8  # of the way from no edge to all


class CircuitEdge(NamedTuple):
    """An edge: what it joins."""

    node: str
    reader: str
    side: str  # whose positions
    position: int | None  # None: all


class Faithfulness:
    """The lead of circuits of one sentence, or the mean lead over several.

    others: what nodes write elsewhere: at one position, or at each. by_position: whether edges are
    told apart by their position. Edges are numbered from 0 to `size` - 1; those that cannot reach
    the answer have no number.
    """

    def __init__(
        self,
        network: EdgeNetwork,
        questions: Sequence[WordContrast],
        others: Written,
        *,
        by_position: bool,
    ):
        self.network, self.questions, self.others = network, questions, others
        self.by_position = by_position
        self.leads_whole = network.run(questions).lead_B
        self.leads_nothing = network.run(questions, Cuts(others)).lead_B
        self.whole, self.nothing = (
            each.mean().item() for each in (self.leads_whole, self.leads_nothing)
        )
        self.lengths = {"source": 1, "target": 1}
        if by_position:
            self.lengths = {
                "source": max(len(each.source) for each in questions),
                "target": max(len(each.given) for each in questions),
            }
        self.places = _number(network, self.lengths)  # rows: site, node, reader, position
        self.size = len(self.places)

    @property
    def span(self) -> float:
        """Return the part of the lead that circuits can keep or lose."""
        return self.whole - self.nothing

    def name(self, edges_N: Tensor) -> list[CircuitEdge]:
        """Return what edges join."""
        sites = [*self.network.sites.values()]
        results = []
        for at, node, reader, place in self.places[edges_N].tolist():
            site, position = sites[at], place if self.by_position else None
            results.append(CircuitEdge(site.nodes[node], site.readers[reader], site.side, position))
        return results

    def measure(self, edges_N: Tensor, amount_BN: Tensor, base: float = 0.0) -> Tensor:
        """Return the faithfulness of circuits, B, that have different amounts of the same edges.

        base: the amount of all other edges.
        """
        parts = amount_BN.split(AT_ONCE)
        lead_B = torch.cat([self._lead(edges_N, each, base) for each in parts])
        return (lead_B - self.nothing) / self.span

    def measure_one(self, edges_N: Tensor, base: float = 0.0) -> float:
        """Return the faithfulness of one circuit; with base=1, of all edges but these."""
        amount_BN = torch.full((1, len(edges_N)), 1 - base)
        return self.measure(edges_N, amount_BN, base).item()

    def leads(self, edges_N: Tensor, base: float = 0.0) -> Tensor:
        """Return the lead of each sentence in a circuit, or in all edges but its own."""
        cuts = self._cut(edges_N, torch.full((1, len(edges_N)), 1 - base), base)
        return self.network.run(self.questions, cuts).lead_B

    def _lead(self, edges_N: Tensor, amount_BN: Tensor, base: float) -> Tensor:
        if len(self.questions) == 1:
            return self.network.run(self.questions, self._cut(edges_N, amount_BN, base)).lead_B
        results = [
            self.network.run(self.questions, self._cut(edges_N, row_N[None], base)).lead_B.mean()
            for row_N in amount_BN
        ]
        return torch.stack(results)

    def differentiate(self, edges_N: Tensor) -> Tensor:
        """Return by how much faithfulness rises with each edge of a circuit, N."""
        amount_BN = torch.ones(1, len(edges_N), requires_grad=True)
        with torch.enable_grad():
            cuts = self._cut(edges_N, amount_BN, 0.0)
            lead = self.network.run(self.questions, cuts).lead_B.mean()
            return torch.autograd.grad(lead, amount_BN)[0][0] / self.span

    def integrate(self, points: int = POINTS) -> Tensor:
        """Return the attribution of each edge: its gradient, the mean on the way from none to all.

        These are integrated gradients over the edges (EAP-IG): their sum is 1, up to what `points`
        of Gauss and Legendre miss, and what edges carry that cannot reach the answer is 0.
        """
        nodes, weights = np.polynomial.legendre.leggauss(points)
        result: dict[str, Any] = dict.fromkeys(self.network.sites, 0.0)
        for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
            for name, gain_NCL in self._attribute(float(node)).items():
                result[name] = result[name] + gain_NCL * weight
        return self._line_up(result)

    def attribute(self, base: float) -> Tensor:
        """Return the gradient of faithfulness by each edge, where all have the amount `base`, N."""
        return self._line_up(self._attribute(base))

    def _line_up(self, gains: Mapping[str, Tensor]) -> Tensor:
        whole = torch.cat([each.flatten() for each in gains.values()])
        return whole[_flatten(self.network, self.lengths, self.places)] / self.span

    def _attribute(self, base: float) -> dict[str, Tensor]:
        """Return the gradient of the mean lead by each edge, where all have one amount, N C L."""
        with torch.enable_grad():
            run = self.network.run(self.questions, Cuts(self.others, base), keep_reads=True)
            grads = torch.autograd.grad(run.lead_B.mean(), [*run.reads.values()])
        deltas = {
            block: x - stretch(self.others[block], x.size(2)) for block, x in run.written.items()
        }
        results = {}
        for (name, site), grad_BCLD in zip(self.network.sites.items(), grads, strict=True):
            blocks = _list_blocks(self.network, site)
            delta_BNLD = torch.cat([deltas[block].detach() for block in blocks], 1)
            delta_BNLD = delta_BNLD.expand(len(grad_BCLD), -1, -1, -1)
            gain_NCL = torch.einsum("bcld,bnld->ncl", grad_BCLD, delta_BNLD)
            results[name] = gain_NCL if self.by_position else gain_NCL.sum(-1, keepdim=True)
        return results

    def _cut(self, edges_N: Tensor, amount_BN: Tensor, base: float) -> Cuts:
        """Return edges with amounts of their own, sorted by site."""
        places = self.places[edges_N]
        sites = {}
        for number, name in enumerate(self.network.sites):
            own = (places[:, 0] == number).nonzero()[:, 0]
            if len(own):
                _, node_N, reader_N, place_N = places[own].unbind(1)
                where = place_N if self.by_position else None
                sites[name] = SiteEdges(node_N, reader_N, where, amount_BN[:, own])
        return Cuts(self.others, base, sites)


def _list_blocks(network: EdgeNetwork, site: Site) -> list[str]:
    """Return the blocks whose nodes a site reads, in order."""
    by_node = {node: block for block, nodes in network.blocks.items() for node in nodes}
    return [*dict.fromkeys(by_node[node] for node in site.nodes)]


def _number(network: EdgeNetwork, lengths: dict[str, int]) -> Tensor:
    """Return a row for each edge that can reach the answer: site, node, reader, position."""
    parts, layers = [], network.settings.decoder_layers
    for number, site in enumerate(network.sites.values()):
        nodes, length = torch.arange(len(site.nodes)), lengths[site.side]
        for at, reader in enumerate(site.readers):
            is_last = site.side == "target" and is_read_last(reader, layers)
            places = torch.arange(length - 1 if is_last else 0, length)
            grid = torch.cartesian_prod(torch.tensor([number]), nodes, torch.tensor([at]), places)
            parts.append(grid)
    return torch.cat(parts)


def _flatten(network: EdgeNetwork, lengths: dict[str, int], places: Tensor) -> Tensor:
    """Return where each edge is among all of all sites, one after the other, each N C L."""
    starts, total = [], 0
    sizes = []
    for site in network.sites.values():
        starts.append(total)
        sizes.append((len(site.readers), lengths[site.side]))
        total += len(site.nodes) * len(site.readers) * lengths[site.side]
    at, node, reader, place = places.unbind(1)
    size = torch.tensor(sizes)[at]
    return torch.tensor(starts)[at] + (node * size[:, 0] + reader) * size[:, 1] + place


def is_read_last(reader: str, layers: int) -> bool:
    """Return whether only what a reader of the decoder reads at the last row can matter."""
    if reader == ANSWER:
        return True
    last = reader.startswith(f"decoder.{layers - 1}.")
    return last and not reader.endswith((".key", ".value", ".ssru", ".self_attention"))

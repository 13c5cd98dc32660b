"""The lead of a word over its rival as a sum that is exact, edge by edge.

With the attention patterns, the scales of the norms and the gates held as they are, a network is
affine in what each node writes. An edge then carries what its node's writing adds to the lead by
way of its reader: writing times gradient. What enters a node, with the constants of its own, is
what it adds to the lead, and so is what leaves it. Queries and keys carry nothing here, because the
patterns are held; what that hides is measured beside it, with another sentence.

Letters: N nodes; C readers; L positions; D model width; F inner width.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .edges import GATES, HELD, NORMS, PATTERNS, Cuts, EdgeNetwork, Pass, WordContrast


class Neuron(NamedTuple):
    """One neuron of a feed-forward network at one position, and what it adds to the lead."""

    block: str
    position: int
    number: int
    value: float


@dataclass(frozen=True)
class Flow:
    """The sum that makes a lead."""

    lead: float
    edges: Mapping[str, Tensor]  # for each site N C L: what each edge carries
    values: Mapping[str, Tensor]  # for each block N L: what each node adds to the lead
    constants: Mapping[str, Tensor]  # for each block N L: what its own biases add
    rest: float  # what the biases add by way of the answer alone
    neurons: tuple[Neuron, ...]  # those that add or take most

    def total(self) -> float:
        """Return the sum of what the inputs and all biases add: the lead."""
        inputs = [x for block, x in self.values.items() if block.endswith("_embedding")]
        biases = [x for block, x in self.constants.items() if not block.endswith("_embedding")]
        return float(sum(x.sum() for x in (*inputs, *biases))) + self.rest

    def gap(self, network: EdgeNetwork) -> float:
        """Return the largest difference between what enters a node, what leaves it, and its value.

        The lead itself is compared with the sum of what the inputs and all biases add.
        """
        gaps = [abs(self.total() - self.lead)]
        for block, value_NL in self.values.items():
            for node, whole, inside in zip(
                network.blocks[block], value_NL.sum(1), self.constants[block].sum(1), strict=True
            ):
                gaps.append(abs(float(whole - self._leave(network, node))))
                if not block.endswith("_embedding"):
                    gaps.append(abs(float(whole - inside - self._enter(network, node))))
        return max(gaps)

    def _leave(self, network: EdgeNetwork, node: str) -> Tensor:
        """Return what the edges carry that leave a node."""
        results = [
            self.edges[name][site.nodes.index(node)].sum()
            for name, site in network.sites.items()
            if node in site.nodes
        ]
        return torch.stack(results).sum()

    def _enter(self, network: EdgeNetwork, node: str) -> Tensor:
        """Return what the edges carry that enter a node."""
        whole = torch.zeros(())
        for name, site in network.sites.items():
            for at, reader in enumerate(site.readers):
                if reader == node or reader.startswith(f"{node}."):
                    whole = whole + self.edges[name][:, at].sum()
        return whole


def trace_flow(network: EdgeNetwork, contrast: WordContrast, neurons: int = 8) -> Flow:
    """Return what each edge carries of the lead of a step; the sentence stays recorded."""
    lead = network.record(contrast).lead_B.item()
    with torch.enable_grad():
        run = network.run([contrast], hold=HELD, keep_reads=True)
        written = {block: x for block, x in run.written.items() if x.requires_grad}
        at = [*run.reads.values(), *written.values()]
        # Queries have no gradient where patterns are held.
        result = torch.autograd.grad(run.lead_B.sum(), at, allow_unused=True)
    grads = [
        torch.zeros_like(x) if each is None else each for x, each in zip(at, result, strict=True)
    ]
    reads = dict(zip(run.reads, grads, strict=False))
    writes = dict(zip(written, grads[len(reads) :], strict=True))
    nothing = {block: torch.zeros_like(x) for block, x in run.written.items()}
    alone = network.run([contrast], Cuts(nothing), hold=HELD)
    edges = _carry(network, {block: x.detach() for block, x in run.written.items()}, reads)
    values = {block: _sum_out(network, block, edges) for block in run.written}
    for block, grad_BNLD in writes.items():
        values[block] = (grad_BNLD * written[block].detach())[0].sum(-1)
    constants = {
        block: (grad_BNLD * alone.written[block])[0].sum(-1) for block, grad_BNLD in writes.items()
    }
    constants |= {block: torch.zeros_like(values[block]) for block in values if block not in writes}
    most = _find_neurons(network, run.reads, writes, neurons)
    return Flow(lead, edges, values, constants, alone.lead_B.item(), most)


def _carry(
    network: EdgeNetwork, written: Mapping[str, Tensor], grads: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Return what each edge carries, N C L for each site."""
    block_of = {
        node: (block, n) for block in written for n, node in enumerate(network.blocks[block])
    }
    results = {}
    for name, site in network.sites.items():
        places = [block_of[node] for node in site.nodes]
        x_NLD = torch.stack([written[block][0, n] for block, n in places])
        results[name] = torch.einsum("cld,nld->ncl", grads[name][0], x_NLD)
    return results


def _sum_out(network: EdgeNetwork, block: str, edges: Mapping[str, Tensor]) -> Tensor:
    """Return what leaves each node of a block at each position, N L."""
    rows = []
    for node in network.blocks[block]:
        sites = [(name, site) for name, site in network.sites.items() if node in site.nodes]
        rows.append(sum(edges[name][site.nodes.index(node)].sum(0) for name, site in sites))
    return torch.stack(rows)  # type: ignore[arg-type]


def _find_neurons(
    network: EdgeNetwork, reads: Mapping[str, Tensor], grads: Mapping[str, Tensor], most: int
) -> tuple[Neuron, ...]:
    """Return the neurons that add or take most of the lead."""
    neurons, passed = [], Pass(network, None, keep_reads=False)
    network.kinds = HELD
    for block in grads:
        if not block.endswith(".feed_forward"):
            continue
        layer: Any = network.view.get_submodule(block.rpartition(".")[0])
        x_BCLD = reads[block].detach()
        if not layer.feed_forward_residual.post:
            x_BCLD = passed.normalize(layer.feed_forward_residual.norm, block, x_BCLD)
        hidden_LF = passed.activate(layer.feed_forward, block, x_BCLD)[0, 0]
        value_LF = hidden_LF * (grads[block][0, 0] @ layer.feed_forward.outer.weight)
        best = value_LF.abs().flatten().topk(min(most, value_LF.numel())).indices
        for at in best.tolist():
            place, number = divmod(at, value_LF.size(1))
            neurons.append(Neuron(block, place, number, value_LF[place, number].item()))
    return tuple(sorted(neurons, key=lambda each: -abs(each.value))[:most])


def measure_hidden(
    network: EdgeNetwork, contrast: WordContrast, other: WordContrast
) -> dict[str, float]:
    """Return the lead of another sentence as it is, and with what is held of the recorded one.

    The keys are "as it is", "held" (all: what the exact sum foretells) and each kind held alone.
    The sentences have the same number of tokens. `contrast` is recorded again.
    """
    network.record(contrast)
    kinds: dict[str, tuple[str, ...]] = {"as it is": (), "held": HELD}
    kinds |= {kind: (kind,) for kind in (PATTERNS, NORMS, GATES)}
    return {name: network.run([other], hold=hold).lead_B.item() for name, hold in kinds.items()}

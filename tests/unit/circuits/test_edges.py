"""Networks kept apart by who writes: equal to the network itself, and to a plain loop when cut."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from tests.equal.variants import VARIANTS

from glassformer.config import Model
from glassformer.extensions.circuits.circuit import find_circuit
from glassformer.extensions.circuits.edges import EdgeNetwork, WordContrast
from glassformer.extensions.circuits.faithfulness import CircuitEdge, Faithfulness
from glassformer.extensions.circuits.flows import measure_hidden, trace_flow
from glassformer.extensions.circuits.rivals import measure_connected, measure_random
from glassformer.extensions.circuits.why import average_written
from glassformer.model.networks import build_network

V = 30
SHAPE: dict[str, Any] = {"d_model": 24, "heads": 4, "d_ff": 20}
SHAPE |= {"encoder_layers": 2, "decoder_layers": 2}
PLAIN = {"pre": {"norm": "pre"}, "post": {"norm": "post"}}
HERE = WordContrast((5, 9, 11, 7, 3), (2, 8, 6, 12), (14, 17))
THERE = WordContrast((5, 9, 19, 7, 3), (2, 8, 6, 12), (14, 17))


def make_network(**changes: Any) -> Any:
    torch.manual_seed(4)
    settings = Model.model_validate(SHAPE | changes)
    network = build_network(settings, V, V).double().eval().requires_grad_(False)
    for parameter in network.parameters():
        parameter.normal_(std=0.4)
    return network


def lead(network: Any, contrast: WordContrast) -> float:
    logits_V = network(torch.tensor([contrast.source]), torch.tensor([contrast.given]))[0, -1]
    return float(logits_V[contrast.answers[0]] - logits_V[contrast.answers[1]])


@pytest.mark.parametrize("by_head", [True, False])
@pytest.mark.parametrize("name", [*PLAIN, *VARIANTS])
def test_it_is_the_network_itself(name: str, by_head: bool) -> None:
    changes = {**PLAIN, **VARIANTS}[name]
    network = make_network(**changes)
    if {*changes.get("ablate", ())} - {"scale"}:
        with pytest.raises(ValueError, match="built without"):
            EdgeNetwork(network)
        return
    edges = EdgeNetwork(network, by_head=by_head)
    flow = trace_flow(edges, HERE)
    assert flow.lead == pytest.approx(lead(network, HERE), abs=1e-9)
    assert flow.gap(edges) < 1e-8
    assert flow.total() == pytest.approx(flow.lead, abs=1e-8)
    hidden = measure_hidden(edges, HERE, THERE)
    assert hidden["as it is"] == pytest.approx(lead(network, THERE), abs=1e-9)
    others = edges.run([THERE]).written
    found = Faithfulness(edges, [HERE], others, by_position=True)
    every = torch.arange(found.size)
    assert found.nothing == pytest.approx(hidden["as it is"], abs=1e-9)
    assert found.measure_one(every) == pytest.approx(1, abs=1e-9)
    assert found.measure_one(every, 1.0) == pytest.approx(0, abs=1e-9)


def test_a_network_without_a_residual_stream_is_refused() -> None:
    network = build_network(Model.model_validate({"network": "rnn", "d_model": 8}), V, V)
    with pytest.raises(ValueError, match=r"model\.network=rnn has none"):
        EdgeNetwork(network)


class Loop:
    """A pre-norm Transformer, one node and one reader after the other, with NumPy."""

    def __init__(self, network: Any, cut: set[CircuitEdge], others: dict[tuple[str, int], Any]):
        self.network, self.cut, self.others = network, cut, others
        self.written: dict[tuple[str, int], Any] = {}
        self.nodes: dict[str, list[str]] = {"source": [], "target": []}
        self.bias: dict[str, Any] = {"source": 0.0, "target": 0.0}

    def see(self, side: str, reader: str, place: int) -> Any:
        whole = np.zeros(24) + self.bias[side]
        for node in self.nodes[side]:
            is_cut = CircuitEdge(node, reader, side, place) in self.cut
            whole = whole + (self.others if is_cut else self.written)[node, place]
        return whole

    def norm(self, x: Any, module: Any) -> Any:
        mean, variance = x.mean(), ((x - x.mean()) ** 2).mean()
        return (x - mean) / math.sqrt(variance + module.eps) * of(module.weight) + of(module.bias)

    def write(self, side: str, node: str, values: Any) -> None:
        self.nodes[side].append(node)
        self.written |= {(node, place): each for place, each in enumerate(values)}

    def attend(
        self, name: str, module: Any, own: str, other: str, norms: Any, lengths: Any
    ) -> None:
        made = []
        for h in range(4):
            rows = slice(h * 6, (h + 1) * 6)

            def linear(to: Any, x: Any, rows: slice = rows) -> Any:
                return of(to.weight)[rows] @ x + of(to.bias)[rows]

            keys, values = (
                [
                    linear(to, self.norm(self.see(other, f"{name}.{h}.{what}", m), norms[1]))
                    for m in range(lengths[other])
                ]
                for to, what in ((module.to_key, "key"), (module.to_value, "value"))
            )
            out = []
            for q in range(lengths[own]):
                x = self.norm(self.see(own, f"{name}.{h}.query", q), norms[0])
                query = linear(module.to_query, x)
                seen = q + 1 if own == other == "target" else lengths[other]
                powers = [math.exp(query @ keys[m] / math.sqrt(6)) for m in range(seen)]
                context = sum(p / sum(powers) * values[m] for m, p in enumerate(powers))
                out.append(of(module.to_output.weight)[:, rows] @ context)
            made.append(out)
        for h, out in enumerate(made):
            self.write(own, f"{name}.{h}", out)
        self.bias[own] = self.bias[own] + of(module.to_output.bias)

    def feed(self, name: str, layer: Any, side: str, length: int) -> None:
        module, norm = layer.feed_forward, layer.feed_forward_residual.norm
        out = []
        for place in range(length):
            x = self.norm(self.see(side, name, place), norm)
            hidden = np.maximum(0, of(module.inner.weight) @ x + of(module.inner.bias))
            out.append(of(module.outer.weight) @ hidden + of(module.outer.bias))
        self.write(side, name, out)

    def run(self, contrast: WordContrast) -> float:
        net = self.network
        lengths = {"source": len(contrast.source), "target": len(contrast.given)}
        for side, ids in (("source", contrast.source), ("target", contrast.given)):
            embedding = getattr(net, f"{side}_embedding")
            words = [of(embedding.table.weight)[id] * math.sqrt(24) for id in ids]
            self.write(side, f"{side}_embedding.embedded", words)
            self.write(side, f"{side}_embedding.positions", of(embedding.positions_LD)[: len(ids)])
        for n, layer in enumerate(net.encoder):
            norms = [layer.self_attention_residual.norm] * 2
            name = f"encoder.{n}.self_attention"
            self.attend(name, layer.self_attention, "source", "source", norms, lengths)
            self.feed(f"encoder.{n}.feed_forward", layer, "source", lengths["source"])
        for n, layer in enumerate(net.decoder):
            norms = [layer.self_attention_residual.norm] * 2
            name = f"decoder.{n}.self_attention"
            self.attend(name, layer.self_attention, "target", "target", norms, lengths)
            norms = [layer.cross_attention_residual.norm, net.encoder_norm]
            name = f"decoder.{n}.cross_attention"
            self.attend(name, layer.cross_attention, "target", "source", norms, lengths)
            self.feed(f"decoder.{n}.feed_forward", layer, "target", lengths["target"])
        last = lengths["target"] - 1
        y = self.norm(self.see("target", "answer", last), net.decoder_norm)
        right, wrong = (of(net.output_table.weight)[id] for id in contrast.answers)
        return float(y @ (right - wrong))


def of(tensor: torch.Tensor) -> Any:
    return tensor.numpy()


@pytest.mark.parametrize("by_position", [True, False])
def test_cut_edges_are_those_of_a_plain_loop(by_position: bool) -> None:
    network = make_network(norm="pre", positions={"layout": "interleaved"})
    edges = EdgeNetwork(network)
    edges.run([HERE])
    found = Faithfulness(edges, [HERE], edges.run([THERE]).written, by_position=by_position)
    other = Loop(network, set(), {})
    assert other.run(THERE) == pytest.approx(lead(network, THERE), abs=1e-9)
    generator = torch.Generator().manual_seed(5)
    kept = torch.randperm(found.size, generator=generator)[: found.size // 2]
    gone = [*{*range(found.size)} - {*kept.tolist()}]
    cut = {*found.name(torch.tensor(gone))}
    if not by_position:
        cut = {each._replace(position=place) for each in cut for place in range(5)}
    expected = Loop(network, cut, other.written).run(HERE)
    assert found.leads(kept)[0].item() == pytest.approx(expected, abs=1e-9)
    assert found.leads(torch.tensor(gone), 1.0)[0].item() == pytest.approx(expected, abs=1e-9)


def test_attributions_are_differences() -> None:
    network = make_network(norm="pre")
    edges = EdgeNetwork(network)
    edges.run([HERE])
    found = Faithfulness(edges, [HERE], edges.run([THERE]).written, by_position=True)
    assert found.integrate(64).sum().item() == pytest.approx(1, abs=0.02)
    some = torch.tensor([3, 50, 400, found.size - 1])
    step = 1e-5
    grad_N = found.differentiate(some)
    for at in range(len(some)):
        amount_BN = torch.ones(2, len(some), dtype=torch.float64)
        amount_BN[:, at] += torch.tensor([step, -step])
        up, down = found.measure(some, amount_BN).tolist()
        assert grad_N[at].item() == pytest.approx((up - down) / (2 * step), abs=1e-5)


@pytest.mark.parametrize("name", [*PLAIN, "ssru"])
def test_a_circuit_keeps_what_it_says_and_no_edge_can_go(name: str) -> None:
    network = make_network(**{**PLAIN, **VARIANTS}[name])
    edges = EdgeNetwork(network, by_head=False)
    edges.run([HERE])
    found = Faithfulness(edges, [HERE], edges.run([THERE]).written, by_position=True)
    circuit = find_circuit(found)
    assert circuit is not None
    size = len(circuit)
    assert size < found.size / 2
    assert found.measure_one(circuit) >= 0.9
    for at in range(size):
        left = torch.cat((circuit[:at], circuit[at + 1 :]))
        assert found.measure_one(left) < 0.9
    assert max(measure_random(found, size, 5)) < 0.9
    assert measure_connected(found, found.size, 1) == pytest.approx([1])


def test_the_mean_counts_the_sentences_that_have_a_position() -> None:
    edges = EdgeNetwork(make_network(norm="pre"))
    short = WordContrast((5, 3), (2,), (14, 17))
    mean = average_written(edges, [HERE, short])["source_embedding"]
    first, second = (edges.run([each]).written["source_embedding"] for each in (HERE, short))
    assert torch.allclose(mean[:, :, :2], (first[:, :, :2] + second) / 2)
    assert torch.allclose(mean[:, :, 2:], first[:, :, 2:])

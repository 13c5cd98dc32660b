"""Why a translation has a word and not another: an exact sum, and a small circuit.

Letters: B sentences; N edges; L positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor

from glassformer.see.derive import group_words
from glassformer.see.trace import Trace

from .circuit import KEEP, Tick, find_circuit
from .edges import EdgeNetwork, WordContrast, Written
from .faithfulness import CircuitEdge, Faithfulness
from .flows import Flow, measure_hidden, trace_flow
from .rivals import RANDOM, measure_connected, measure_random
from .transfer import Measured, Transfer, measure_transfer, pad_positions
from .words import WordChoice, ask_word, load_network, read_counterpart

Elsewhere = Literal["counterpart", "mean"]
SIDES = ("source", "target")


@dataclass(frozen=True)
class FoundCircuit:
    """A circuit, and how much it keeps beside others. Shares are of the lead that can be lost."""

    elsewhere: Elsewhere  # what all other edges carry
    lead: float  # of the whole network
    nothing: float  # the lead with all edges replaced
    of: int  # how many edges there are
    numbers: tuple[int, ...]
    edges: tuple[CircuitEdge, ...]
    kept: float
    without: float  # what all edges but these keep: completeness
    dearest: float  # what it keeps without that edge whose loss costs least: minimality
    losses: tuple[float, ...]  # what is lost without each of its edges alone
    random: tuple[float, ...]
    connected: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """Return all numbers."""
        payload = {name: value for name, value in vars(self).items() if name != "numbers"}
        return payload | {"size": len(self.edges), "edges": [each._asdict() for each in self.edges]}


@dataclass(frozen=True)
class Why:
    """Why a word is likelier than its rival, at one step of a translation."""

    trace: Trace
    asked: WordChoice
    flow: Flow
    gap: float  # of the exact sum
    inputs: dict[str, list[tuple[str, float]]]  # by side: what each word adds
    positions: float
    biases: float
    hidden: dict[str, float]  # the counterpart's lead, as it is and with parts held; {} without one
    circuits: tuple[FoundCircuit, ...]
    counterpart: str | None = None
    mean_of: int = 0  # sentences
    transfer: Transfer | None = None  # what the first circuit keeps in other sentences
    network: EdgeNetwork | None = field(default=None, repr=False, compare=False)

    @property
    def lead(self) -> float:
        """Return ln(p(word) / p(rival))."""
        return self.flow.lead

    def to_json(self) -> dict[str, Any]:
        """Return all but the exact sum's edges, as JSON."""
        return {
            **self.asked.describe(self.trace),
            "lead": self.lead,
            "gap": self.gap,
            "inputs": self.inputs,
            "positions": self.positions,
            "biases": self.biases,
            "neurons": [each._asdict() for each in self.flow.neurons],
            "counterpart": self.counterpart,
            "hidden": self.hidden,
            "mean_of": self.mean_of,
            "circuits": [each.to_json() for each in self.circuits],
            "transfer": self.transfer and self.transfer.to_json(),
        }


def explain_trace(trace: Trace, word: str, rival: str | None = None, **keywords: Any) -> Why:
    """Return why a recorded translation has this word and not its rival; see `explain_word`."""
    return explain_word(
        trace, ask_word(trace, word, rival, keywords.pop("occurrence", None)), **keywords
    )


def explain_word(
    trace: Trace,
    asked: WordChoice,
    *,
    counterpart: Sequence[int] | None = None,
    counterpart_text: str | None = None,
    sentences: Sequence[WordContrast] = (),
    pairs: Sequence[Measured] | None = None,
    left_out: int = 0,
    by_head: bool = False,
    keep: float = KEEP,
    tick: Tick = lambda done: None,
) -> Why:
    """Return the exact sum of a word's lead, and its smallest circuits.

    counterpart: ids of another sentence with as many tokens; what all edges outside the circuit
    carry. sentences: those whose mean they carry instead. pairs: other sentences with their
    counterparts, on which the first circuit is measured, too; left_out: how many had none.
    by_head: tell heads apart, and their queries, keys and values. keep: the share of the lead that
    a circuit keeps.
    Raises ValueError for a network without a residual stream, or a counterpart of another length.
    """
    with torch.no_grad():
        network = EdgeNetwork(load_network(trace), by_head=by_head)
        flow = trace_flow(network, asked.contrast)
        tick(1)
        circuits, hidden = [], {}
        if counterpart is not None:
            other = read_counterpart(asked, "", lambda _: counterpart)
            hidden = measure_hidden(network, asked.contrast, other)
            written = network.run([other]).written
            circuits.append(
                search_circuit(network, asked.contrast, written, "counterpart", keep, tick)
            )
        if sentences:
            mean = average_written(network, sentences)
            circuits.append(search_circuit(network, asked.contrast, mean, "mean", keep, tick))
        good = [each for each in circuits if each]
        transfer = None
        if pairs is not None and good:
            transfer = measure_transfer(network, good[0].edges, pairs, left_out, tick)
        inputs, positions, biases = sum_inputs(trace, asked, flow)
        return Why(
            trace,
            asked,
            flow,
            flow.gap(network),
            inputs,
            positions,
            biases,
            hidden,
            tuple(good),
            counterpart_text,
            len(sentences),
            transfer,
            network,
        )


def search_circuit(
    network: EdgeNetwork,
    contrast: WordContrast,
    others: Written,
    elsewhere: Elsewhere,
    keep: float,
    tick: Tick,
) -> FoundCircuit | None:
    """Return the smallest circuit that is found for one sentence; None if no edges keep that much.

    Then nothing depends on what is replaced, or what is replaced makes the word likelier.
    """
    faithfulness = Faithfulness(network, [contrast], others, by_position=True)
    return judge_circuit(faithfulness, elsewhere, keep, tick)


def judge_circuit(
    faithfulness: Faithfulness, elsewhere: Elsewhere, keep: float, tick: Tick
) -> FoundCircuit | None:
    """Return the smallest circuit that is found, judged; None if no edges keep that much."""
    if faithfulness.span <= 0:
        return None
    edges_N = find_circuit(faithfulness, keep, tick)
    return None if edges_N is None else judge(faithfulness, edges_N, elsewhere)


def judge(faithfulness: Faithfulness, edges_N: Tensor, elsewhere: Elsewhere) -> FoundCircuit:
    """Return a circuit with its faithfulness, completeness and minimality, beside random ones."""
    edges_N = edges_N[faithfulness.differentiate(edges_N).argsort(descending=True)]
    single = faithfulness.measure(edges_N, 1 - torch.eye(len(edges_N)))
    kept = faithfulness.measure_one(edges_N)
    return FoundCircuit(
        elsewhere,
        faithfulness.whole,
        faithfulness.nothing,
        faithfulness.size,
        tuple(edges_N.tolist()),
        tuple(faithfulness.name(edges_N)),
        kept,
        faithfulness.measure_one(edges_N, 1.0),
        single.max().item(),
        tuple((kept - single).tolist()),
        tuple(measure_random(faithfulness, len(edges_N), RANDOM)),
        tuple(measure_connected(faithfulness, len(edges_N), RANDOM)),
    )


def average_written(network: EdgeNetwork, sentences: Sequence[WordContrast]) -> Written:
    """Return the mean of what each node writes at each position, of the sentences that have it."""
    sums: Written = {}
    counts: Written = {}
    for each in sentences:
        for block, x_BNLD in network.run([each]).written.items():
            length = x_BNLD.size(2)
            one = torch.ones(1, 1, length, 1)
            if block not in sums:
                sums[block], counts[block] = x_BNLD.clone(), one
                continue
            size = max(length, counts[block].size(2))
            sums[block], counts[block] = (
                pad_positions(old, size) + pad_positions(new, size)
                for old, new in ((sums[block], x_BNLD), (counts[block], one))
            )
    return {block: sums[block] / counts[block] for block in sums}


def sum_inputs(
    trace: Trace, asked: WordChoice, flow: Flow
) -> tuple[dict[str, list[tuple[str, float]]], float, float]:
    """Return what each word adds to the lead by side, what positions add, and what biases add."""
    inputs: dict[str, list[tuple[str, float]]] = {}
    positions = 0.0
    for side, tokens, text in (
        ("source", trace.source, trace.text),
        ("target", trace.target[: asked.row + 1], trace.translation),
    ):
        values_NL = flow.values[f"{side}_embedding"]
        positions += float(values_NL[1:].sum())
        inputs[side] = [
            (spell_group(text, tokens, group), float(values_NL[0, group].sum()))
            for group in group_words(tokens, text)
        ]
    words = sum(value for each in inputs.values() for _, value in each)
    return inputs, positions, flow.total() - words - positions


def spell_group(text: str, tokens: Sequence[Any], group: Sequence[int]) -> str:
    """Return what tokens of a text spell, or the name of the mark that they are."""
    message = text[tokens[group[0]].start : tokens[group[-1]].end].strip()
    return message or tokens[group[0]].text

"""Measure how few edges decide il or elle, over riddles, and whether they do in other riddles.

    python -m benchmarks circuits [MODEL] [--riddles 48] [--by block] [--out FILE]
    python -m benchmarks circuits everyday-en-fr --pairs benchmarks/everyday_pairs.tsv
    python -m benchmarks circuits --pictures

Each riddle has a counterpart with another adjective and the other answer. For each, the smallest
circuit is searched; then one circuit for half of the riddles together, in which an edge is the same
at all positions, and what it keeps in the other half. With --pairs the same is asked of the pairs
of a file, which have a counterpart, for each kind; pairs in which the model does not prefer the
right word, both ways, are counted and left out. With --pictures, instead, what pictures V119 to
V121 show is measured anew.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import torch

from glassformer.extensions.circuits.circuit import find_circuit
from glassformer.extensions.circuits.edges import EdgeNetwork, WordContrast
from glassformer.extensions.circuits.faithfulness import Faithfulness
from glassformer.extensions.circuits.methods import compare_methods
from glassformer.extensions.circuits.rivals import measure_random
from glassformer.extensions.circuits.transfer import Measured, pair_up, stack_written
from glassformer.extensions.circuits.why import FoundCircuit, explain_word, judge
from glassformer.extensions.circuits.words import ask_word, read_counterpart
from glassformer.extensions.lab.contrastive import read_contrastive
from glassformer.extensions.pictures.circuits import MEASURED, describe_drawing
from glassformer.model.files.directory import write_json
from glassformer.see.tokens import read_source
from glassformer.translator import Translator

from .pronoun_riddles import Reader, Riddle, collect, find_donors

WIDE = "The animal didn't cross the street because it was too wide."
TIRED = WIDE.replace("wide", "tired")
SIZES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 76, 96, 128, 256, 512, 1024, 2048)  # edges
GROUP = 24  # riddles, at most, whose circuit is searched together


def read_contrast(riddle: Riddle) -> WordContrast:
    pair = riddle.pair
    return WordContrast((*pair.source,), (*pair.given,), pair.answers)


def find_each(network: EdgeNetwork, pairs: Sequence[Measured]) -> list[dict[str, Any]]:
    """Return the size and the shares of the circuit of each riddle."""
    found = []
    for here, there in pairs:
        begun = time.perf_counter()
        faithfulness = Faithfulness(network, [here], network.run([there]).written, by_position=True)
        edges_N = find_circuit(faithfulness)
        if edges_N is None:
            found.append({"found": False})
            continue
        judged = judge(faithfulness, edges_N, "counterpart")
        found.append(describe_circuit(judged) | {"seconds": time.perf_counter() - begun})
    return found


def describe_circuit(judged: FoundCircuit) -> dict[str, Any]:
    return {
        "found": True,
        "size": len(judged.edges),
        "of": judged.of,
        "kept": judged.kept,
        "without": judged.without,
        "dearest": judged.dearest,
        "random": float(np.mean(judged.random)),
        "random_most": max(judged.random),
        "connected": float(np.mean(judged.connected)),
        "connected_most": max(judged.connected),
    }


def find_shared(network: EdgeNetwork, pairs: Sequence[Measured]) -> dict[str, Any]:
    """Return the circuit of half of the riddles, and what it keeps in the other half."""
    half = min(GROUP, len(pairs) // 2)
    groups = [pairs[:half], pairs[half : 2 * half]]
    measured = []
    for group in groups:
        others = stack_written(network, [there for _, there in group])
        measured.append(
            Faithfulness(network, [here for here, _ in group], others, by_position=False)
        )
    own, held_out = measured
    edges_N = find_circuit(own)
    if edges_N is None:
        return {"found": False}
    leads_B = held_out.leads(edges_N)
    spans_B = held_out.leads_whole - held_out.leads_nothing
    return {
        "found": True,
        "riddles": half,
        "size": len(edges_N),
        "of": own.size,
        "kept": own.measure_one(edges_N),
        "held_out": held_out.measure_one(edges_N),
        "held_out_each": ((leads_B - held_out.leads_nothing) / spans_B).tolist(),
        "held_out_right": (leads_B > 0).double().mean().item(),
        "without": held_out.measure_one(edges_N, 1.0),
        "random": measure_random(held_out, len(edges_N)),
    }


def measure_drawn(translator: Translator) -> dict[str, Any]:
    """Return what pictures V119 to V121 show: a circuit, what methods name, circuits by size."""
    trace = translator.see(WIDE, level="attention")
    asked = ask_word(trace, "elle", "il")
    counterpart = [each.id for each in read_source(translator, TIRED)]
    answer = explain_word(trace, asked, counterpart=counterpart, counterpart_text=TIRED)
    other = read_counterpart(asked, TIRED, lambda text: counterpart)
    assert answer.network is not None
    with torch.no_grad():
        others = answer.network.run([other]).written
        faithfulness = Faithfulness(answer.network, [asked.contrast], others, by_position=True)
        sizes = measure_sizes(faithfulness, answer.circuits[0])
    return {
        "circuit": describe_drawing(answer),
        "methods": compare_methods(trace, asked).to_json(),
        "sizes": sizes,
    }


def measure_sizes(faithfulness: Faithfulness, circuit: FoundCircuit) -> dict[str, Any]:
    """Return what circuits of each size keep: the best of 20 random ones, and grown ones.

    One grows by the edges with the largest attributions, one is the found one, whose edges come by
    what is lost without each.
    """
    order_N = faithfulness.integrate().argsort(descending=True)
    losses_N = torch.tensor(circuit.losses)
    own_N = torch.tensor(circuit.numbers)[losses_N.argsort(descending=True)]
    own = [size for size in SIZES if size < len(own_N)] + [len(own_N)]
    return {
        "all": faithfulness.size,
        "random": [(size, max(measure_random(faithfulness, size))) for size in SIZES],
        "attributed": [(size, faithfulness.measure_one(order_N[:size])) for size in SIZES],
        "found": [(size, faithfulness.measure_one(own_N[:size])) for size in own],
    }


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", nargs="?", default="demo")
    parser.add_argument("--riddles", type=int, default=48)
    parser.add_argument("--pairs", type=Path)
    parser.add_argument("--by", choices=("block", "head"), default="block")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--pictures", action="store_true")


def main(options: argparse.Namespace) -> None:
    translator = Translator.load(options.model, device="cpu", precision="fp32")
    if options.pictures:
        write_json(MEASURED, measure_drawn(translator))
        return
    with torch.no_grad():
        network = EdgeNetwork(
            deepcopy(translator.model).requires_grad_(False), by_head=options.by == "head"
        )
        kinds = (
            read_kinds(translator, options.pairs)
            if options.pairs
            else {"riddles": make_pairs(translator, options.riddles)}
        )
        found: dict[str, Any] = {"by": options.by}
        for kind, pairs in kinds.items():
            found[kind] = measure_kind(network, pairs)
            print(f"{kind}: {summarize(found[kind])}", flush=True)
    if options.out:
        write_json(options.out, found)


def make_pairs(translator: Translator, count: int) -> list[Measured]:
    """Return riddles with their counterparts, in a random order."""
    reader = Reader(translator)
    riddles = collect(reader, count)
    donors = find_donors(reader, riddles, "adjective")
    pairs = [
        (read_contrast(riddle), read_contrast(donor)._replace(answers=riddle.pair.answers))
        for riddle, donor in zip(riddles, donors, strict=True)
        if donor
    ]
    return [pairs[n] for n in np.random.default_rng(1).permutation(len(pairs))]


def read_kinds(translator: Translator, path: Path) -> dict[str, list[Measured]]:
    """Return the pairs of a file with their counterparts, by what its column `kind` says."""
    kinds: dict[str, list[Measured]] = defaultdict(list)
    for item in read_contrastive(path):
        kinds[item.categories["kind"]] += pair_up(translator, [item])
    return kinds


def measure_kind(network: EdgeNetwork, pairs: Sequence[Measured]) -> dict[str, Any]:
    """Return the circuits of pairs of one kind, apart and together."""
    network.run([pairs[0][0]])
    right = [
        (here, there)
        for here, there in pairs
        if network.run([here]).lead_B.item() > 0 > network.run([there]).lead_B.item()
    ]
    return {
        "pairs": len(pairs),
        "right": len(right),
        "shared": find_shared(network, right),
        "each": find_each(network, right),
    }


def summarize(found: dict[str, Any]) -> str:
    """Return in how many pairs the circuits are small and faithful, and random ones are not."""
    good = [one for one in found["each"] if one["found"]]
    sizes, shares = [one["size"] for one in good], [one["size"] / one["of"] for one in good]
    small = sum(share <= 0.05 for share in shares)
    beaten = sum(one["random_most"] < 0.2 for one in good)
    linked = sum(one["connected_most"] < 0.2 for one in good)
    tellings = [
        f"right in {found['right']} of {found['pairs']}, found in {len(good)}",
        f"edges: median {np.median(sizes):.0f} ({np.median(shares):.2%}), most {max(sizes)} "
        f"({max(shares):.2%}), at most 5% in {small}",
        f"kept: {min(one['kept'] for one in good):.1%} at least",
        f"the best of 20 random ones: {max(one['random_most'] for one in good):.1%} at most, under "
        f"20% in {beaten}; of those that lead to the answer "
        f"{max(one['connected_most'] for one in good):.1%}, {linked}",
        f"without them: {max(one['without'] for one in good):.1%} at most; without the least of "
        f"them: {max(one['dearest'] for one in good):.1%} at most",
    ]
    shared = found["shared"]
    if shared["found"]:
        tellings.append(
            f"one for {shared['riddles']} together: {shared['size']} of {shared['of']} edges keep "
            f"{shared['kept']:.1%}, {shared['held_out']:.1%} in as many others, of which "
            f"{shared['held_out_right']:.0%} are right; random {max(shared['random']):.1%} at most"
        )
    return "; ".join(tellings)

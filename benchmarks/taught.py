"""Measure which lines taught a word, and prove it by trainings that leave lines out.

    python -m benchmarks taught lds|planted|deleted [--pairs 2000] [--updates 300] [--out FILE]

A network of 2 + 2 layers is trained on the first pairs of the demo's corpus, plainly (Adam, no
dropout). Asked are words of sentences that were not in training, with their likeliest rivals. Two
methods give each pair a number: replay follows the training back and is exact
(`extensions/circuits/replay.py`); influence is what `glassformer taught` computes of the finished
weights.

lds: many trainings leave out a quarter of the pairs each, drawn at random; what a method says of
these pairs together is compared with the lead that training gives (linear datamodeling score: the
rank correlation, the mean over words). With another first network and other batches it is measured
again (--seeds). planted: ten pairs with a word get a wrong translation of it; how many of them are
among the ten that speak most for the wrong word? deleted: does the network write another word if it
trains without the ten best pairs, and without ten drawn at random?
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from glassformer.config import BOS, Model
from glassformer.extensions.circuits.cli.taught import encode_lines
from glassformer.extensions.circuits.edges import WordContrast
from glassformer.extensions.circuits.replay import Replay, ReplayPlan
from glassformer.extensions.circuits.teaching import TokenPair, find_nearest, score_teachers
from glassformer.extensions.demo.corpus import read_corpus
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.files.directory import write_json
from glassformer.model.networks import build_network
from glassformer.translator import Translator
from tools.demo_corpus import pairs as make_pairs

SHAPE = {"d_model": 64, "heads": 4, "d_ff": 256, "encoder_layers": 2, "decoder_layers": 2}
LEFT_OUT = 0.25  # of all pairs
CLOSE = 8.0  # a lead beyond it is of no doubt, and no few pairs change it
PLANTED = (
    ("banana", "banane", "chaise"),
    ("horse", "cheval", "poisson"),
    ("door", "porte", "tasse"),
)
BEST = 10  # pairs


class Text(NamedTuple):
    """The pairs of a training, and sentences that are not in it, as ids."""

    lines: list[tuple[str, str]]
    pairs: list[TokenPair]
    others: list[TokenPair]


def read_text(translator: Translator, count: int) -> Text:
    corpus = read_corpus().pairs
    lines = corpus["train"][:count]
    numbers, pairs = encode_lines(translator, lines)
    return Text([lines[n] for n in numbers], pairs, encode_lines(translator, corpus["valid"])[1])


def start(translator: Translator, text: Text, updates: int, seed: int = 0) -> Replay:
    torch.manual_seed(seed)
    size = len(translator.model.output_table.weight)
    settings = Model.model_validate(SHAPE | {"norm": "pre", "dropout": 0.0})
    network = build_network(settings, size, size).eval().requires_grad_(False)
    plan = ReplayPlan(updates=updates, warmup=max(20, updates // 6), seed=seed)
    return Replay(network, text.pairs, plan)


def load(replay: Replay, weights: Tensor) -> EncoderDecoder:
    """Return a network with these weights."""
    size = len(replay.network.output_table.weight)
    network = build_network(replay.network.settings, size, size).eval().requires_grad_(False)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(replay.name_weights(weights)[name])
    return network


def choose_words(
    network: EncoderDecoder, text: Text, count: int, *, right: bool
) -> list[WordContrast]:
    """Return words of other sentences with their likeliest rivals; `right`: only those written."""
    chosen: list[WordContrast] = []
    rng = np.random.default_rng(5)
    for number in rng.permutation(len(text.others)):
        source, target = text.others[number]
        step = int(rng.integers(0, len(target) - 1))
        given = (BOS, *target[:step])
        logits_V = network(torch.tensor([source]), torch.tensor([given]))[0, -1]
        best, second = logits_V.topk(2).indices.tolist()
        rival = second if best == target[step] else best
        lead = float(logits_V[target[step]] - logits_V[rival])
        if abs(lead) < CLOSE and not (right and lead < 0):
            chosen.append(WordContrast(source, given, (target[step], rival)))
        if len(chosen) == count:
            break
    return chosen


def weigh(replay: Replay, weights: Tensor, contrasts: Sequence[WordContrast]) -> dict[str, Tensor]:
    """Return what each method says of each pair, Q N."""
    network = load(replay, weights)
    influence = [score_teachers(network, each, replay.pairs) for each in contrasts]
    return {"influence": torch.stack(influence), "replay": replay.follow_back(contrasts)}


def rank(x: Tensor) -> np.ndarray[Any, Any]:
    return np.argsort(np.argsort(x.numpy()))


def correlate(says_QN: Tensor, amounts: Tensor, leads: Tensor) -> list[float]:
    """Return for each word the rank correlation of what a method says with what training gives."""
    foretold = amounts @ says_QN.T
    return [
        float(np.corrcoef(rank(foretold[:, q]), rank(leads[:, q]))[0, 1])
        for q in range(len(says_QN))
    ]


def measure_lds(
    replay: Replay, text: Text, words: int, trainings: int, others: Sequence[Replay]
) -> dict[str, Any]:
    """Return the score of each method, in the same training and in ones that begin otherwise."""
    weights = replay.train()
    contrasts = choose_words(load(replay, weights), text, words, right=False)
    says = weigh(replay, weights, contrasts)
    rng, amounts = np.random.default_rng(9), []
    leads: list[list[list[float]]] = [[] for _ in range(1 + len(others))]
    for _ in range(trainings):
        amount_N = torch.ones(len(text.pairs))
        amount_N[rng.permutation(len(amount_N))[: int(LEFT_OUT * len(amount_N))]] = 0
        amounts.append(amount_N)
        for own, each in zip(leads, (replay, *others), strict=True):
            trained = each.train(amount_N)
            own.append([float(each.measure_lead(trained, one)) for one in contrasts])
    amount = torch.stack(amounts)
    results: dict[str, Any] = {
        "words": len(contrasts),
        "trainings": trainings,
        "lds": {},
        "lds_others": {},
    }
    for name, says_QN in says.items():
        results["lds"][name] = correlate(says_QN, amount, torch.tensor(leads[0]))
        if others:
            mean = torch.tensor(leads[1:]).mean(0)
            results["lds_others"][name] = correlate(says_QN, amount, mean)
    for part in ("lds", "lds_others"):
        results[f"{part}_mean"] = {name: float(np.mean(x)) for name, x in results[part].items()}
    return results


def find_lines(lines: Sequence[tuple[str, str]], english: str, french: str) -> list[int]:
    """Return where a word and its translation stand."""
    word, other = (re.compile(rf"\b{each}", re.IGNORECASE) for each in (english, french))
    return [n for n, (one, two) in enumerate(lines) if word.search(one) and other.search(two)]


def plant(text: Text, english: str, right: str, wrong: str) -> tuple[Text, list[int]]:
    """Return the text with ten wrong translations of a word, and where these stand."""
    planted, lines = find_lines(text.lines, english, right)[:BEST], [*text.lines]
    for n in planted:
        lines[n] = (lines[n][0], lines[n][1].replace(right, wrong))
    return text._replace(lines=lines), planted


def measure_planted(translator: Translator, text: Text, updates: int) -> list[dict[str, Any]]:
    """Return for each word how many of the planted pairs are among the ten of each method."""
    results = []
    new = make_pairs("en", "fr", 4000, 1, "test")
    for english, right, wrong in PLANTED:
        spoiled, planted = plant(text, english, right, wrong)
        spoiled = spoiled._replace(pairs=encode_lines(translator, spoiled.lines)[1])
        replay = start(translator, spoiled, updates)
        weights = replay.train()
        asked = [new[n] for n in find_lines(new, english, right)[:20]]
        contrasts = [ask_planted(translator, pair, right, wrong) for pair in asked]
        leads = [float(replay.measure_lead(weights, each)) for each in contrasts]
        at = int(np.argmax(leads))
        says = weigh(replay, weights, [contrasts[at]])
        nearest_N = find_nearest(load(replay, weights), contrasts[at], replay.pairs)
        found = {
            name: len({*x.topk(BEST).indices.tolist()} & {*planted})
            for name, x in [("nearest", nearest_N), *((name, x[0]) for name, x in says.items())]
        }
        row = {"word": english, "lines": len(find_lines(text.lines, english, right))}
        row |= {"planted": len(planted), "asked": asked[at][0], "lead": leads[at], "found": found}
        results.append(row)
        print(row, flush=True)
    return results


def ask_planted(
    translator: Translator, pair: tuple[str, str], right: str, wrong: str
) -> WordContrast:
    """Return the question whether the wrong word leads the right one in a sentence."""
    source, target = pair
    _, (one, other) = encode_lines(
        translator, [(source, target.replace(right, wrong)), (source, target)]
    )
    both = enumerate(zip(one.target, other.target, strict=False))
    step = next(n for n, (a, b) in both if a != b)
    answers = one.target[step], other.target[step]
    return WordContrast(one.source, (BOS, *one.target[:step]), answers)


def measure_deleted(replay: Replay, text: Text, words: int) -> dict[str, Any]:
    """Return how often another word is written without the ten best pairs, and without any ten."""
    weights = replay.train()
    contrasts = choose_words(load(replay, weights), text, words, right=True)
    says_QN = replay.follow_back(contrasts)
    rng, results = np.random.default_rng(9), []
    for says_N, contrast in zip(says_QN, contrasts, strict=True):
        sets = {
            "best": says_N.topk(BEST).indices,
            "random": torch.tensor(rng.permutation(len(says_N))[:BEST]),
        }
        row: dict[str, Any] = {"lead": float(replay.measure_lead(weights, contrast))}
        for name, numbers in sets.items():
            amount_N = torch.ones(len(says_N))
            amount_N[numbers] = 0
            trained = replay.train(amount_N)
            row[name] = float(replay.measure_lead(trained, contrast))
            logits_V = load(replay, trained)(
                torch.tensor([contrast.source]), torch.tensor([contrast.given])
            )[0, -1]
            row[f"{name}_changed"] = int(logits_V.argmax()) != contrast.answers[0]
            row[f"{name}_foretold"] = row["lead"] - float(says_N[numbers].sum())
        results.append(row)
        print(row, flush=True)
    changed = {name: sum(row[f"{name}_changed"] for row in results) for name in ("best", "random")}
    return {"words": len(results), "changed": changed, "each": results}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("lds", "planted", "deleted"))
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--updates", type=int, default=300)
    parser.add_argument("--words", type=int, default=6)
    parser.add_argument("--trainings", type=int, default=16)
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--out", type=Path)


def main(options: argparse.Namespace) -> None:
    translator = Translator.load("demo", device="cpu", precision="fp32")
    text = read_text(translator, options.pairs)
    replay = start(translator, text, options.updates)
    found: Any
    if options.what == "lds":
        others = [start(translator, text, options.updates, 1 + n) for n in range(options.seeds)]
        found = measure_lds(replay, text, options.words, options.trainings, others)
        print(found)
    elif options.what == "planted":
        found = measure_planted(translator, text, options.updates)
    else:
        found = measure_deleted(replay, text, options.words)
        print(found["words"], found["changed"])
    if options.out:
        write_json(options.out, {"options": str(vars(options)), "found": found})

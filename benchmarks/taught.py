"""Measure which lines taught a word, and prove it by trainings that leave lines out.

    python -m benchmarks taught words|planted [--pairs 2000] [--steps 250] [--out FILE]
    python -m benchmarks taught words --text DATA/train.en DATA/train.de

A small network is trained as `glassformer train` does on the first pairs of the demo's corpus, or
of two files (--text). Asked are words of other sentences that it has right, with their likeliest
rivals. Each method gives each pair a number: replay follows the training back, influence is the
estimate from the finished weights, nearest the nearest state of the decoder; they are those of
`glassformer taught`.

words: first, does the network write another word if it trains without the ten best pairs, and
without ten drawn at random? Then many trainings leave out a share of the pairs each, drawn at
random; what a method says of these pairs together is compared with the lead that training gives
(linear datamodeling score: the rank correlation, the mean over words). A training without pairs has
the same first weights and the same batches but for them. planted: ten pairs with a word get a wrong
translation of it; how many of them are among the ten that speak most for the wrong word in a new
sentence?

The network is trained smoothly, with Adam of small steps and without dropout, or with --usual as
the recipe auto chooses.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from glassformer.config import BOS, Config
from glassformer.extensions.circuits.edges import WordContrast
from glassformer.extensions.circuits.lines import encode_lines
from glassformer.extensions.circuits.replay import Replay
from glassformer.extensions.circuits.teaching import (
    Weights,
    find_nearest,
    score_teachers,
)
from glassformer.extensions.demo.corpus import read_corpus
from glassformer.model.encoder_decoder import EncoderDecoder
from glassformer.model.files.directory import write_json
from glassformer.train.start import train
from glassformer.translator import Translator
from tools.demo_corpus import pairs as make_pairs

SHAPE = {"d_model": 64, "d_ff": 256, "heads": 4, "encoder_layers": 2, "decoder_layers": 2}
# A training whose result depends on its text smoothly, so that a straight line foretells more.
SMOOTH = {"optimizer": "adam", "learning_rate": 0.004, "epsilon": 1e-6}
PLANTED = (
    ("horse", "cheval", "poisson"),
    ("door", "porte", "tasse"),
    ("banana", "banane", "chaise"),  # in 4,000 pairs
)
BEST = 10  # pairs
RANKED = 3  # trainings, with fewer of which a rank correlation says nothing
VALID, OTHERS = 300, 500  # pairs of a text: at its end for validation; before them, to ask about

Line = tuple[str, str]


class Trained(NamedTuple):
    """A training that was made, its model, and the lines as it has them."""

    replay: Replay
    translator: Translator
    weights: Weights
    lines: list[Line]


class Corpus(NamedTuple):
    """Pairs to learn from, those before the end to ask about, and those for validation."""

    train: list[Line]
    others: list[Line]
    valid: list[Line]


def read_pairs(options: argparse.Namespace) -> Corpus:
    """Return the demo's corpus, or that of two files, whose last pairs are held out."""
    if not options.text:
        pairs = read_corpus().pairs
        lines, valid = [*pairs["train"]], [*pairs["valid"]]
        rest = lines
    else:
        source, target = (path.read_text(encoding="utf-8").splitlines() for path in options.text)
        lines = [*zip(source, target, strict=True)]
        rest, valid = lines[:-VALID], lines[-VALID:]
    end = len(rest) - options.before
    return Corpus(lines, rest[end - OTHERS : end], valid)


def run_training(lines: Sequence[Line], folder: Path, options: argparse.Namespace) -> Trained:
    """Train a small network on lines, as `glassformer train` does."""
    source, target = (path.suffix[1:] for path in options.text) if options.text else ("en", "fr")
    settings = Config.model_validate(
        {
            "recipe": "auto",
            "size": "tiny",
            "model": SHAPE if options.usual else SHAPE | {"dropout": 0.0},
            "data": {"source_lang": source, "target_lang": target, "hold_out_seed": 1},
            "train": {
                "steps": options.steps,
                "batch_tokens": 1024,
                "precision": "fp32",
                "seed": options.seed,
                "watch": 0,
                **({} if options.usual else SMOOTH),
            },
        }
    )
    pairs = {"train": [*lines], "valid": read_pairs(options).valid}
    train(settings, pairs=pairs, out=folder, quiet=True)
    replay = Replay.open(folder)
    translator = Translator.load(folder, device="cpu", precision="fp32")
    return Trained(replay, translator, replay.remember(), replay.read_texts())


def load(trained: Trained, weights: Weights) -> EncoderDecoder:
    """Return a network with these weights."""
    network = trained.translator.model
    assert isinstance(network, EncoderDecoder)
    network.requires_grad_(False).eval()
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            parameter.copy_(weights[name])
    return network


def choose_words(trained: Trained, options: argparse.Namespace) -> list[WordContrast]:
    """Return words of other sentences with their likeliest rivals, by their leads."""
    others = encode_lines(trained.translator, read_pairs(options).others)[1]
    chosen: list[WordContrast] = []
    rng = np.random.default_rng(5)
    for number in rng.permutation(len(others)):
        source, target = others[number]
        step = int(rng.integers(0, len(target) - 1))
        asked = WordContrast(source, (BOS, *target[:step]), (target[step], target[step]))
        logits_V = trained.replay.read_logits(trained.weights, asked)
        best, second = logits_V.topk(2).indices.tolist()
        rival = second if best == target[step] else best
        if options.low < float(logits_V[target[step]] - logits_V[rival]) < options.high:
            chosen.append(asked._replace(answers=(target[step], rival)))
        if len(chosen) == options.skipped + options.words:
            break
    return chosen[options.skipped :]


def weigh(trained: Trained, contrasts: Sequence[WordContrast]) -> dict[str, Tensor]:
    """Return what each method says of each pair, Q N."""
    network, pairs = load(trained, trained.weights), trained.replay.pairs
    return {
        "nearest": torch.stack([find_nearest(network, each, pairs) for each in contrasts]),
        "influence": torch.stack([score_teachers(network, each, pairs) for each in contrasts]),
        "replay": trained.replay.follow_back(contrasts),
    }


def rank(x: Tensor) -> np.ndarray[Any, Any]:
    return np.argsort(np.argsort(x.numpy()))


def correlate(says_QN: Tensor, amounts: Tensor, leads: Tensor) -> list[float]:
    """Return for each word the rank correlation of what a method says with what training gives."""
    foretold = amounts @ says_QN.T
    return [
        float(np.corrcoef(rank(foretold[:, q]), rank(leads[:, q]))[0, 1])
        for q in range(len(says_QN))
    ]


def measure_words(trained: Trained, options: argparse.Namespace) -> dict[str, Any]:
    """Return what trainings without lines say of each method."""
    contrasts = choose_words(trained, options)
    says = weigh(trained, contrasts)
    results = {"deleted": measure_deleted(trained, contrasts, says["replay"])}
    return results | measure_lds(trained, contrasts, says, options)


def measure_lds(
    trained: Trained,
    contrasts: Sequence[WordContrast],
    says: dict[str, Tensor],
    options: argparse.Namespace,
) -> dict[str, Any]:
    """Return the score of each method."""
    count, rng = len(trained.lines), np.random.default_rng(9)
    amounts, leads = list[Tensor](), list[Tensor]()
    results: dict[str, Any] = {}
    for _ in range(options.trainings):
        left_out = {*rng.permutation(count)[: int(options.left_out * count)].tolist()}
        amounts.append(torch.tensor([float(n not in left_out) for n in range(count)]))
        weights = trained.replay.train(left_out)
        own = [float(trained.replay.measure_lead(weights, each)) for each in contrasts]
        leads.append(torch.tensor(own))
        if len(leads) < RANKED:
            continue
        results = {"words": len(contrasts), "trainings": len(leads), "lds": {}}
        for name, says_QN in says.items():
            found = correlate(says_QN, torch.stack(amounts), torch.stack(leads))
            results["lds"][name] = {"mean": float(np.mean(found)), "each": found}
        print(len(leads), {name: x["mean"] for name, x in results["lds"].items()}, flush=True)
    return results


def find_lines(lines: Sequence[Line], english: str, french: str) -> list[int]:
    """Return where a word and its translation stand, in just these forms."""
    word, other = (re.compile(rf"\b{each}\b", re.IGNORECASE) for each in (english, french))
    return [n for n, (one, two) in enumerate(lines) if word.search(one) and other.search(two)]


def measure_planted(lines: list[Line], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return for each word how many of the planted pairs are among the ten of each method."""
    results = []
    new = make_pairs("en", "fr", 4000, 1, "test")
    for english, right, wrong in PLANTED[: options.words]:
        spoiled, there = [*lines], find_lines(lines, english, right)
        for n in there[:BEST]:
            spoiled[n] = (spoiled[n][0], spoiled[n][1].replace(right, wrong))
        with TemporaryDirectory() as folder:
            trained = run_training(spoiled, Path(folder) / "model", options)
        planted = {n for n, line in enumerate(trained.lines) if line not in {*lines}}
        asked = [new[n] for n in find_lines(new, english, right)[:20]]
        contrasts = [ask_planted(trained.translator, pair, right, wrong) for pair in asked]
        leads = [float(trained.replay.measure_lead(trained.weights, each)) for each in contrasts]
        at = int(np.argmax(leads))
        found = {
            name: len({*x[0].topk(BEST).indices.tolist()} & planted)
            for name, x in weigh(trained, [contrasts[at]]).items()
        }
        row: dict[str, Any] = {"word": english, "lines": len(there), "planted": len(planted)}
        row |= {"asked": asked[at][0], "lead": leads[at], "found": found}
        results.append(row)
        print(row, flush=True)
    return results


def ask_planted(translator: Translator, pair: Line, right: str, wrong: str) -> WordContrast:
    """Return the question whether the wrong word leads the right one in a sentence."""
    source, target = pair
    _, (one, other) = encode_lines(
        translator, [(source, target.replace(right, wrong)), (source, target)]
    )
    both = enumerate(zip(one.target, other.target, strict=False))
    step = next(n for n, (a, b) in both if a != b)
    answers = one.target[step], other.target[step]
    return WordContrast(one.source, (BOS, *one.target[:step]), answers)


def measure_deleted(
    trained: Trained, contrasts: Sequence[WordContrast], says_QN: Tensor
) -> dict[str, Any]:
    """Return how often another word is written without the ten best pairs, and without any ten."""
    rng, results = np.random.default_rng(9), list[dict[str, Any]]()
    for says_N, contrast in zip(says_QN, contrasts, strict=True):
        sets = {
            "best": says_N.topk(BEST).indices.tolist(),
            "random": rng.permutation(len(says_N))[:BEST].tolist(),
        }
        row: dict[str, Any] = {
            "lead": float(trained.replay.measure_lead(trained.weights, contrast))
        }
        for name, numbers in sets.items():
            weights = trained.replay.train({*numbers})
            logits_V = trained.replay.read_logits(weights, contrast)
            right, rival = contrast.answers
            row[name] = float(logits_V[right] - logits_V[rival])
            row[f"{name}_changed"] = int(logits_V.argmax()) != right
            row[f"{name}_foretold"] = row["lead"] - float(says_N[numbers].sum())
        results.append(row)
        print(row, flush=True)
    changed = {name: sum(row[f"{name}_changed"] for row in results) for name in ("best", "random")}
    print(len(results), changed)
    return {"words": len(results), "changed": changed, "each": results}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=("words", "planted"))
    parser.add_argument(
        "--text", type=Path, nargs=2, help="two files to learn from, with languages as endings"
    )
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--words", type=int, default=6)
    parser.add_argument("--skipped", type=int, default=0, help="words, for a process to go on with")
    parser.add_argument(
        "--before", type=int, default=0, help="ask about sentences so many pairs before the last"
    )
    parser.add_argument("--trainings", type=int, default=16)
    parser.add_argument("--left-out", type=float, default=0.25)
    parser.add_argument("--usual", action="store_true", help="train as the recipe auto does")
    parser.add_argument("--low", type=float, default=0.0, help="the least lead of a word")
    parser.add_argument("--high", type=float, default=3.0, help="the largest lead of a word")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path)


def main(options: argparse.Namespace) -> None:
    lines = read_pairs(options).train[: options.pairs]
    found: Any
    if options.what == "planted" and options.text:
        raise SystemExit("pairs are planted in the demo's corpus only")
    if options.what == "planted":
        found = measure_planted(lines, options)
    else:
        with TemporaryDirectory() as folder:
            trained = run_training(lines, Path(folder) / "model", options)
            found = measure_words(trained, options)
    if options.out:
        write_json(options.out, {"options": str(vars(options)), "found": found})

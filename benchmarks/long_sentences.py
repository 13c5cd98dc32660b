"""Measure where long sentences break a fixed vector: BLEU and loss of three networks by length.

    python -m benchmarks long-sentences --data DIR --out RUNS

DIR has train.*, valid.* and test.* of short sentences. Half of the training lines are single
sentences; the others are consecutive ones joined up to a length drawn from 1 to 80, so that every
length was learned. The test has --lines joined lines in each bin of lengths. A length is counted in
words and marks of the source (sacreBLEU's 13a).

A recurrent network without attention, one with it and a Transformer have as many weights, the same
tokens, lines and optimizer, and --seconds of processor time each: the first --calibrate updates of
every network are timed, and its training gets as many updates as fit. What is in RUNS already is
not trained again. The shipped networks, which know a small language well, translate 2,000 held-out
sentences of it: the share that is exactly right, by length. Writes
extensions/pictures/long_sentences.json, for picture V102, from what is finished.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections.abc import Iterator, Sequence
from itertools import compress, pairwise
from pathlib import Path
from typing import Any

import sacrebleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from glassformer.config import Config
from glassformer.data.files import read_lines
from glassformer.extensions.demo.corpus import read_corpus
from glassformer.foundation.machine.properties import look_at_machine
from glassformer.model.files.directory import SHIPPED, write_json, write_text
from glassformer.train import resume, train
from glassformer.train.publish.card import read_facts
from glassformer.translator import Translator
from tools.demo_corpus.exam import ask_sentences

FOUND = (
    Path(__file__).parents[1]
    / "src"
    / "glassformer"
    / "extensions"
    / "pictures"
    / "long_sentences.json"
)
LANGS = ("en", "fr")
EDGES = (0, 10, 20, 30, 40, 60, 80)  # of the bins: 1 to 10, 11 to 20, ...
QUESTIONS, KNOWN_EDGES = 2000, (0, 6, 8, 10, 12, 14)  # of the shipped networks' language
SHIPPED_NETWORKS = {
    "rnn": "demo-rnn",
    "rnn-attention": "demo-rnn-attention",
    "transformer": "demo",
}
COPIES = 2  # how often the training sentences are joined anew
VALID = 100  # lines
TOKENIZER = Tokenizer13a()  # type: ignore[no-untyped-call]
Pairs = list[tuple[str, str]]

RECURRENT = {"network": "rnn", "encoder_layers": 1, "decoder_layers": 1}
# Widths that give each a million weights with 4,000 tokens.
NETWORKS: dict[str, dict[str, Any]] = {
    "rnn": {**RECURRENT, "d_model": 174, "rnn": {"attention": "none", "bidirectional": True}},
    "rnn-attention": {
        **RECURRENT,
        "d_model": 164,
        "rnn": {"attention": "general", "bidirectional": True},
    },
    "transformer": {
        "d_model": 96,
        "d_ff": 256,
        "heads": 4,
        "encoder_layers": 3,
        "decoder_layers": 3,
        "norm": "pre",
    },
}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--seconds", type=float, default=240.0, help="of processor time, each")
    parser.add_argument("--calibrate", type=int, default=60, help="updates that are timed")
    parser.add_argument("--lines", type=int, default=200, help="of the test, in each bin")


def main(options: argparse.Namespace) -> None:
    corpus = options.out / "corpus"
    if not (corpus / "test.json").is_file():
        write_corpus(options.data, corpus, options.lines)
    tests: dict[str, Pairs] = json.loads((corpus / "test.json").read_text(encoding="utf-8"))
    for seed in options.seeds:
        for name in options.networks:
            run(options, name, seed, tests)
            write_found(options, tests)


def ask_known() -> dict[str, Any]:
    """Return the shares that the shipped networks translate exactly right, by length.

    They are of all questions; then of those with `because`, which many training sentences are like,
    and of the others.
    """
    questions = ask_sentences("en", "fr", QUESTIONS)
    right = {}
    for name, shipped in SHIPPED_NETWORKS.items():
        said = Translator.load(SHIPPED / shipped, precision="fp32").translate([*questions])
        right[name] = [each in truth for each, truth in zip(said, questions.values(), strict=True)]
    drilled = list(map(has_because, questions))
    found = sort_by_length(list(questions), right)
    for kind, wanted in (("because", True), ("others", False)):
        own = [each == wanted for each in drilled]
        texts = list(compress(questions, own))
        parts = {name: list(compress(each, own)) for name, each in right.items()}
        found[kind] = sort_by_length(texts, parts)
    learned = [source for source, _ in read_corpus().pairs["train"]]
    found["because"]["of_corpus"] = round(statistics.mean(map(has_because, learned)), 3)
    return found


def has_because(text: str) -> bool:
    return "because" in text.lower().split()


def sort_by_length(texts: Sequence[str], right: dict[str, list[bool]]) -> dict[str, Any]:
    """Return the bins of lengths in which there are texts, and what share of each is right."""
    lengths = [count(text) for text in texts]
    inside = {
        f"{low + 1}-{high}": [low < n <= high for n in lengths]
        for low, high in pairwise(KNOWN_EDGES)
    }
    inside = {name: own for name, own in inside.items() if any(own)}
    bins = [
        {
            "name": name,
            "length": round(statistics.mean(compress(lengths, own)), 1),
            "lines": sum(own),
        }
        for name, own in inside.items()
    ]
    shares = {
        name: [round(statistics.mean(compress(each, own)), 4) for own in inside.values()]
        for name, each in right.items()
    }
    return {"bins": bins, "shares": shares}


def write_corpus(data: Path, out: Path, lines: int) -> None:
    """Write the training and validation texts, and the test as JSON, of joined sentences."""
    out.mkdir(parents=True, exist_ok=True)
    rng = random.Random(1)
    for part, copies in (("train", COPIES), ("valid", 1)):
        pairs, single = read_pairs(data / part), list[tuple[str, str]]()
        joined: Pairs = []
        for _ in range(copies):
            made = list(join(pairs, rng, 1, EDGES[-1]))
            joined += made
            single += rng.sample(pairs, min(len(made), len(pairs)))
            rng.shuffle(pairs)
        both = [*single, *joined]
        if part == "valid":
            both = rng.sample(both, VALID)
        for lang, texts in zip(LANGS, zip(*both, strict=True), strict=True):
            write_text(out / f"{part}.{lang}", "".join(f"{text}\n" for text in texts))
    pairs, tests = read_pairs(data / "test"), dict[str, Pairs]()
    for low, high in pairwise(EDGES):
        found: Pairs = []
        while len(found) < lines:
            rng.shuffle(pairs)
            found += [p for p in join(pairs, rng, low + 1, high) if low < count(p[0]) <= high]
        tests[f"{low + 1}-{high}"] = found[:lines]
    write_json(out / "test.json", tests)


def read_pairs(prefix: Path) -> Pairs:
    sides = (read_lines(prefix.with_name(f"{prefix.name}.{lang}")) for lang in LANGS)
    return list(zip(*sides, strict=True))


def join(pairs: Pairs, rng: random.Random, low: int, high: int) -> Iterator[tuple[str, str]]:
    """Yield consecutive pairs, joined while they are no longer than a length drawn for each."""
    group: Pairs = []
    most, length = rng.randint(low, high), 0
    for pair in pairs:
        more = count(pair[0])
        if group and length + more > most:
            yield tuple(" ".join(side) for side in zip(*group, strict=True))  # type: ignore[misc]
            group, most, length = [], rng.randint(low, high), 0
        group.append(pair)
        length += more


def count(text: str) -> int:
    """Return the number of words and punctuation marks."""
    return len(TOKENIZER(text).split())


def make_config(name: str, seed: int, steps: int) -> Config:
    """Return the settings of one training; but for the network, they are the same for all."""
    return Config.model_validate(
        {
            "model": {**NETWORKS[name], "dropout": 0.1, "positions": {"max_positions": 256}},
            "data": {"source_lang": LANGS[0], "target_lang": LANGS[1]},
            "text": {"vocabulary": 4000, "split_above": 250},
            "train": {
                "seed": seed,
                "steps": steps,
                "batch_tokens": 4096,
                "pad_to": 4,
                "learning_rate": 0.003,
                "warmup": min(200, steps),
                "schedule": "cosine",
                "best_by": "loss",
                "validate_every": steps,  # once: its search would cost more than learning
                "checkpoint_every": max(1, steps // 6),
                "watch": 0,
            },
            "decode": {"search": "greedy"},
        }
    )


def run(options: argparse.Namespace, name: str, seed: int, tests: dict[str, Pairs]) -> None:
    """Train one network with one seed and ask it, unless that is done."""
    out = options.out / f"{name}-{seed}"
    if (out / "result.json").is_file():
        return
    if not (out / "run").exists():
        config = make_config(name, seed, choose_steps(options, name))
        summary = train(config, [options.out / "corpus"], out)
    else:
        summary = resume(out)
    if not summary.is_finished:
        raise SystemExit(summary.text)
    made, card = summary.to_json(), read_facts(out)
    asked = {bin: ask(Translator.load(out, precision="fp32"), tests[bin]) for bin in tests}
    result = {
        "network": name,
        "seed": seed,
        "parameters": card["parameters"],
        "updates": made["steps"],
        "tokens": made["source_tokens"] + made["target_tokens"],
        "cpu_seconds": round(made["cpu_seconds"], 1),
        "bins": asked,
    }
    write_json(out / "result.json", result)
    print(json.dumps(result))


def choose_steps(options: argparse.Namespace, name: str) -> int:
    """Return as many updates as take --seconds of processor time, by timing some."""
    out = options.out / "calibration" / name
    if not (out / "seconds.json").is_file():
        summary = train(make_config(name, 1, options.calibrate), [options.out / "corpus"], out)
        each = summary.progress.cpu_seconds / options.calibrate
        write_json(out / "seconds.json", {"an_update": each})
    each = json.loads((out / "seconds.json").read_text(encoding="utf-8"))["an_update"]
    return max(1, round(options.seconds / each))


def ask(translator: Translator, pairs: Sequence[tuple[str, str]]) -> dict[str, float]:
    """Return BLEU of greedy translations, and tokens and loss of the references, in nats a token.

    The loss is also measured with another line's source: how much lower it is with the right one
    is what the network reads from it.
    """
    sources, truth = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    losses = {}
    for name, given in (("loss", sources), ("loss_of_others", [*sources[1:], sources[0]])):
        scored = translator.score(given, truth)
        tokens = sum(len(each.token_log_probs) for each in scored)
        losses[name] = round(-sum(each.log_prob for each in scored) / tokens, 4)
    said = translator.translate(sources)
    bleu = round(sacrebleu.corpus_bleu(said, [truth]).score, 2)
    return {"bleu": bleu, **losses, "tokens": round(tokens / len(pairs), 2)}


def write_found(options: argparse.Namespace, tests: dict[str, Pairs]) -> None:
    """Write what is finished for picture V102, and print its mean by network and bin."""
    known = options.out / "known.json"
    if not known.is_file():
        write_json(known, ask_known())
    kept = sorted(options.out.glob("*/result.json"))
    results = [json.loads(path.read_text(encoding="utf-8")) for path in kept]
    found = {
        "machine": look_at_machine().processor,
        "lines": options.lines,
        "seconds": options.seconds,
        "bins": [
            {"name": bin, "length": round(statistics.mean(count(p[0]) for p in pairs), 1)}
            for bin, pairs in tests.items()
        ],
        "known": json.loads(known.read_text(encoding="utf-8")),
        "runs": [{**each, "bins": [each["bins"][bin] for bin in tests]} for each in results],
    }
    write_text(FOUND, json.dumps(found, indent=1) + "\n")
    for name in NETWORKS:
        runs = [each["bins"] for each in results if each["network"] == name]
        if runs:
            means = [statistics.mean(run[bin]["bleu"] for run in runs) for bin in tests]
            print(name, len(runs), "seeds", *(f"{mean:.1f}" for mean in means))

"""Compare the size auto with settings chosen by hand, in the same minutes, in a Markdown table.

    python -m benchmarks auto --data DIR/train --valid DIR/valid --test DIR/test \
        --source-lang en --target-lang fr --pairs 5000 50000 160000 --minutes 15 --out runs/auto

Each is a prefix (DIR/train is DIR/train.en and DIR/train.fr). For each number of pairs, drawn
by seed from --data, every configuration trains for the minutes and translates --test with the
same beam search. What is there already is not trained again. A difference counts once it is
larger than what another seed makes: run with --seed 2 and 3.

With --parent MODEL a further row starts from that model, with tokens of the new corpus; it may
translate to another language. With --more N, another row first trains a model of the other
direction for as many minutes, which translates N target sentences of --data that are not among the
pairs; both rows leave everything else to auto.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from glassformer.config import Config
from glassformer.data.corpus import find_data
from glassformer.evaluate.quality import read_references, score_quality
from glassformer.model.files.directory import WEIGHTS, write_text
from glassformer.train import resume, train
from glassformer.translator import Translator

from .processes import run_glassformer
from .tables import tell_machine, tell_table

PRE = {"norm": "pre"}
FAST = {"learning_rate": 0.004, "warmup": 300, "schedule": "cosine", "ema": 0.998}
MUON = {**FAST, "optimizer": "muon", "learning_rate": 0.008, "warmup": 200}
SHORT = {**MUON, "warmup": 60, "ema": 0.99}
BY_HAND: dict[str, dict[str, Any]] = {
    "tiny, the recipe of Multi30k": {
        "size": "tiny",
        "model": {**PRE, "dropout": 0.3},
        "train": MUON,
    },
    "small, the recipe of Tatoeba": {
        "size": "small",
        "model": {**PRE, "dropout": 0.1},
        "text": {"vocabulary": 12_000},
        "train": {**MUON, "learning_rate": 0.006},
    },
    "tiny, dropout 0.3, batches of 2,048": {
        "size": "tiny",
        "model": {**PRE, "dropout": 0.3},
        "text": {"vocabulary": 4000},
        "train": {**FAST, "batch_tokens": 2048},
    },
    "tiny, dropout 0.1, a short warm-up": {
        "size": "tiny",
        "model": {**PRE, "dropout": 0.1},
        "train": SHORT,
    },
    "small, dropout 0.1, a short warm-up": {
        "size": "small",
        "model": {**PRE, "dropout": 0.1},
        "train": {**SHORT, "learning_rate": 0.004},
    },
    "small, the paper's settings": {"size": "small", "text": {"vocabulary": 8000}},
}
AUTO, PARENT, MORE = "auto", "from a parent", "auto, with back-translations"


def main(options: argparse.Namespace) -> None:
    hand = [name for name in BY_HAND if not options.hand or name.startswith(tuple(options.hand))]
    with_more = [*[PARENT] * bool(options.parent), *[MORE] * bool(options.more)]
    results = {
        pairs: {name: run(options, pairs, name) for name in (AUTO, *with_more, *hand)}
        for pairs in options.pairs
    }
    print(render(options, results))


def add_options(parser: argparse.ArgumentParser) -> None:
    for name in ("data", "valid", "test", "out"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ("source-lang", "target-lang"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--pairs", type=int, nargs="+", default=[5000, 50_000, 160_000])
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hand", nargs="*", help="how the names of settings by hand begin")
    parser.add_argument("--parent", help="a model to start from")
    parser.add_argument("--more", type=int, default=0, help="target sentences to translate back")


def run(options: argparse.Namespace, pairs: int, name: str) -> dict[str, Any]:
    """Train one configuration on `pairs` pairs, and return its score."""
    place = "".join(c if c.isalnum() else "-" for c in name)
    out = options.out / f"{pairs}-seed-{options.seed}" / place
    if not (out / "score.json").is_file():
        if (out / "run" / "run.json").is_file():
            resume(out)
        else:
            langs = (options.source_lang, options.target_lang)
            prefix = out.parent / "train"
            draw_pairs(options.data, langs, pairs, options.seed, prefix)
            if name == PARENT:
                start_from_parent(options, prefix, out)
            else:
                more = [f"{translate_back(options, prefix)},tag=bt"] if name == MORE else []
                train(settle(options, name), [prefix, *more], out, valid=[options.valid])
        made = json.loads(run_glassformer("info", out, "--json"))["card"]["training"]
        found = {**test(options, out), **{key: made[key] for key in ("steps", "cpu_seconds")}}
        write_text(out / "score.json", json.dumps(found) + "\n")
    return json.loads((out / "score.json").read_text(encoding="utf-8"))


def start_from_parent(options: argparse.Namespace, prefix: Path, out: Path) -> None:
    langs = ("--source-lang", options.source_lang, "--target-lang", options.target_lang)
    data = ("--data", prefix, "--valid", options.valid, "--out", out)
    ends = ("--minutes", options.minutes, "--seed", options.seed)
    run_glassformer("train", "--from", options.parent, "--new-tokenizer", *langs, *data, *ends)


def translate_back(options: argparse.Namespace, prefix: Path) -> Path:
    """Write target sentences that are not among the pairs, with what a model makes of them."""
    made, backward, text = (prefix.with_name(name) for name in ("made.tsv", "backward", "more.txt"))
    if not made.is_file():
        target, source = options.target_lang, options.source_lang
        if not (backward / WEIGHTS).is_file():
            langs = {"source_lang": target, "target_lang": source}
            ends = {"minutes": options.minutes, "seed": options.seed}
            config = Config.read({"size": "auto", "data": langs, "train": ends})
            train(config, [prefix], backward, valid=[options.valid])
        known = set(prefix.with_suffix(f".{target}").read_text(encoding="utf-8").splitlines())
        everything = find_data([options.data], source, target).train
        others = [line for line in dict.fromkeys(b for _, b in everything) if line not in known]
        order = np.random.default_rng(options.seed).permutation(len(others))[: options.more]
        write_text(text, "".join(f"{others[n]}\n" for n in sorted(order)))
        run_glassformer("augment", backward, text, "--out", made, "--beam", 4)
    return made


def settle(options: argparse.Namespace, name: str) -> Config:
    langs = {"source_lang": options.source_lang, "target_lang": options.target_lang}
    raw = BY_HAND.get(name, {"size": "auto"})
    ends = {"minutes": options.minutes, "seed": options.seed}
    return Config.read({**raw, "data": langs, "train": {**raw.get("train", {}), **ends}})


def draw_pairs(data: Path, langs: tuple[str, str], count: int, seed: int, prefix: Path) -> None:
    """Write `count` pairs of `data` to two files, the same pairs for every configuration."""
    if prefix.with_suffix(f".{langs[1]}").is_file():
        return
    everything = list(find_data([data], *langs).train)
    order = np.random.default_rng(seed).permutation(len(everything))[:count]
    prefix.parent.mkdir(parents=True, exist_ok=True)
    for side, lang in enumerate(langs):
        text = "".join(f"{everything[place][side]}\n" for place in sorted(order))
        write_text(prefix.with_suffix(f".{lang}"), text)


def test(options: argparse.Namespace, out: Path) -> dict[str, Any]:
    """Return chrF++ and BLEU of the test set; PREFIX.multiref.tsv may have more references."""
    pairs = list(find_data([options.test], options.source_lang, options.target_lang).train)
    several = options.test.with_name(f"{options.test.name}.multiref.tsv")
    references = read_references(several) if several.is_file() else [[b for _, b in pairs]]
    found = Translator.load(out).translate([a for a, _ in pairs])
    quality = score_quality(found, references, target_lang=options.target_lang)
    return {name: quality[name].value for name in ("chrF++", "BLEU")} | {
        "signature": quality["chrF++"].signature,
        "parameters": sum(x.numel() for x in Translator.load(out).model.parameters()),
        "bytes": (out / WEIGHTS).stat().st_size,
    }


def render(options: argparse.Namespace, results: dict[int, dict[str, dict[str, Any]]]) -> str:
    """Return a table with a row for each configuration; the best of each column is bold."""
    counts = list(results)
    rows = []
    for name in results[counts[0]]:
        cells = []
        for count in counts:
            found = results[count]
            best = max(each["chrF++"] for each in found.values())
            value = f"{found[name]['chrF++']:.2f}"
            bold = "**" if found[name]["chrF++"] == best else ""
            cells.append(f"{bold}{value}{bold} ({found[name]['steps']:,} updates)")
        rows.append([name, *cells])
    behind = ["auto against the best by hand"]
    for count in counts:
        by_hand = max(found["chrF++"] for name, found in results[count].items() if name in BY_HAND)
        behind.append(f"{results[count][AUTO]['chrF++'] - by_hand:+.2f}")
    heads = [f"chrF++ after {options.minutes:g} minutes", *(f"{n:,} pairs" for n in counts)]
    facts = f"torch {torch.__version__}, seed {options.seed}"
    signature = results[counts[0]][AUTO]["signature"]
    return f"{tell_table(heads, [*rows, behind])}\n{tell_machine()}, {facts}; {signature}"

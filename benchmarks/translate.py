"""Measure the speed of translating: the same weights and sentences, all engines in turns.

    python -m benchmarks translate MODEL --source test.en --reference test.de --beam 5 \\
        --precision auto,fp32,bf16 --output translating.json

Without --source, sentences of the built-in corpus. Marian's decoder begins with zeros instead of
the vector of <s>: to compare with it, --zero-start measures a copy of the model that does so too.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.config import BOS, EOS, Config
from glassformer.data.files import read_lines
from glassformer.evaluate.quality import score_quality
from glassformer.extensions.bridge.ctranslate2 import export_ctranslate2
from glassformer.foundation.disk import write_json
from glassformer.model.files.directory import (
    CONFIG,
    WEIGHTS,
    Tokenizers,
    load_model,
    locate,
    save_model,
)
from tools.demo_corpus import LANGUAGES, pairs

from . import as_marian, as_transformers
from .ceilings import ask_ceilings
from .options import add_shared, find_cache, quote, show, split
from .processes import Process, Side, hold, open_sides
from .tables import Row, Table, compare, middle, tell_machine
from .turns import take_turns

MODULES = "benchmarks.engines"
# A peer's name -> engine and its precisions.
PEERS = {
    "ctranslate2": ("ctranslate2", ("float32", "int8")),
    "transformers": ("transformers", ("fp32", "bf16")),
    "marian": ("marian", ("float32", "packed8")),
}
WRITERS = {"transformers": as_transformers.write, "marian": as_marian.write}
COLUMNS = {
    "tokens/s": "target tokens/s|,.0f",
    "tokens/cpu": "a CPU second|,.0f",
    "p50": "one alone: p50 ms|,.1f",
    "p99": "p99 ms|,.1f",
    "memory": "MiB above the import|,.0f",
    "peak": "peak MiB|,.0f",
    "start": "start s|.1f",  # from the start of the process to the first translation
    "length": "tokens a sentence|.2f",
    "same": "same as the first row|.1%",
    "bleu": "BLEU|.2f",
    "settings": "settings|",
}
LONGEST = 250  # the most tokens of a translation
APART = 0.02  # a larger relative difference of mean lengths means another search


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path)
    parser.add_argument("--source", type=Path, help="sentences, line by line")
    parser.add_argument("--reference", type=Path, help="their translations by people, for BLEU")
    parser.add_argument("--beam", type=int, default=5, help="1 is greedy")
    parser.add_argument("--zero-start", action="store_true", help="begin with zeros, as Marian")
    add_shared(parser, "ctranslate2,transformers")


def main(options: argparse.Namespace) -> None:
    work, model = options.work or find_cache(), options.model
    texts = list(read_lines(options.source)) if options.source else demo_texts(model)
    references = list(read_lines(options.reference)) if options.reference else None
    if references is not None and len(references) != len(texts):
        counts = f"{len(references):,} lines, the source {len(texts):,}"
        raise ValueError(f"{options.reference} has {counts}")
    table = run(
        write_zero_start(model, work / "zero-start") if options.zero_start else model,
        texts,
        work,
        references=references,
        peers=split(options.against),
        precisions=split(options.precision),
        beam=options.beam,
        rounds=options.rounds,
        environment=hold(options.threads, options.avx2),
        command=quote("translate"),
    )
    show(table, options)


def write_zero_start(model: Path, folder: Path) -> Path:
    """Write a copy of a model whose decoder begins with a vector of zeros; return its folder."""
    config, tokenizers, network = load_model(model)
    weights = network.state_dict()
    weights["target_embedding.table.weight"][BOS] = 0  # shared tables are one tensor
    save_model(folder, config, tokenizers, weights)
    return folder


@dataclass(frozen=True)
class Plan:
    """The sentences, settings and rounds of a comparison, which are the same for all engines."""

    model: Path
    tokenizers: Tokenizers
    texts: Sequence[str]
    references: Sequence[str] | None
    target_lang: str | None
    file: Path  # the sentences, in the file that the engines read
    settings: dict[str, Any]
    rounds: int
    work: Path
    environment: dict[str, str]


def run(
    model: Path | str,
    texts: Sequence[str],
    work: Path,
    *,
    references: Sequence[str] | None = None,
    peers: Sequence[str],
    precisions: Sequence[str] = ("auto",),
    beam: int = 5,
    alpha: float = 0.6,
    rounds: int = 3,
    environment: dict[str, str] | None = None,
    command: str = "",
) -> Table:
    """Compare all engines in turns; return the table.

    Each first finds its fastest settings on a few of the sentences. Raise ValueError for an unknown
    peer.
    """
    for name in peers:
        if name not in PEERS:
            raise ValueError(f"--against {name}: one of {', '.join(PEERS)}")
    folder, kept = locate(model).absolute(), [n for n, text in enumerate(texts) if text.strip()]
    tokenizers = Tokenizers.load(folder)
    texts = [texts[n] for n in kept]
    settings = {
        "beam": beam,
        "alpha": alpha,
        "longest": LONGEST,
        "length_penalty": "power",
        "stop": "first",
    }
    plan = Plan(
        folder,
        tokenizers,
        texts,
        references and [references[n] for n in kept],
        Config.load(folder / CONFIG).data.target_lang,
        write_sentences(tokenizers, texts, work),
        settings,
        rounds,
        work,
        environment or {},
    )
    ours = f"{MODULES}.translate_glassformer"
    sides = [Side(f"glassformer {x}", ours, (str(folder), str(plan.file), x)) for x in precisions]
    for name in peers:
        sides += _make_sides(name, plan)
    with open_sides(sides, work, plan.environment) as processes:
        ceilings = ask_ceilings(plan.environment)
        answers = _measure(processes, plan)
        rows = [_make_row(each, answers, processes[0].side.name, plan) for each in processes]
    conditions = {
        "sentences": len(texts),
        "search": "greedy" if beam == 1 else f"beam {beam}, power penalty {alpha:g}, stop first",
        "rounds": rounds,
    }
    held = tell_machine(plan.environment)
    return Table("Translating", command, held, conditions, ceilings, rows, COLUMNS)


def demo_texts(model: Path | str, count: int = 300) -> list[str]:
    """Return sentences of the built-in corpus; raise ValueError if it lacks the languages."""
    data = Config.load(locate(model) / CONFIG).data
    langs = data.source_lang or "none", data.target_lang or "none"
    if not set(langs) <= set(LANGUAGES):
        raise ValueError(f"no text of ours is in {langs[0]}: give one with --source")
    return [source for source, _ in islice(pairs(*langs, count, 1, "test"), count)]


def write_sentences(tokenizers: Tokenizers, texts: Sequence[str], work: Path) -> Path:
    ids = tokenizers.source.encode_many(list(texts))
    vocabulary = list(tokenizers.source.vocabulary)
    found = {
        "texts": list(texts),
        "tokens": [[vocabulary[id] for id in row] for row in ids],
        "ids": [[*row, EOS] for row in ids],
        "vocabulary": list(tokenizers.target.vocabulary),
    }
    name = sha256(json.dumps(found).encode()).hexdigest()[:12]
    path = (work / "sentences" / f"{name}.json").absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_json(path, found)
    return path


def _make_sides(name: str, plan: Plan) -> list[Side]:
    """Return the processes of a peer."""
    engine, precisions = PEERS[name]
    module, sides = f"{MODULES}.translate_{engine}", []
    for precision in precisions:
        folder = prepare_peer(name, precision, plan.model, plan.work, plan.texts)
        sides.append(
            Side(f"{name} {precision}", module, (str(folder), str(plan.file), precision), engine)
        )
    return sides


def prepare_peer(
    name: str, precision: str, model: Path, work: Path, texts: Sequence[str] | None
) -> Path:
    """Write a copy of a model for a peer, once; return its folder."""
    print_ = sha256((model / WEIGHTS).read_bytes()).hexdigest()[:12]
    shared = f"-{precision}" if name == "ctranslate2" else ""
    folder = (work / "models" / f"{print_}-{name}{shared}").absolute()
    if not folder.exists():
        partial = folder.with_name(f"{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        if name in WRITERS:
            WRITERS[name](model, partial)
        else:
            export_ctranslate2(model, partial, quantization=precision, texts=texts)
        partial.rename(folder)
    return folder


def _measure(processes: Sequence[Process], plan: Plan) -> dict[str, list[dict[str, Any]]]:
    """Return the answers of each process, one for each round.

    The steps are: the first sentence; tuning, which also warms up; sentences one by one; and, in
    turns, all sentences at once.
    """
    start = {
        each.side.name: each.started + each.ask(alone=plan.settings, count=1)["alone"][0]
        for each in processes
    }
    chosen = {each.side.name: each.ask(tune=plan.settings) for each in processes}
    alone = {each.side.name: each.ask(alone=plan.settings)["alone"] for each in processes}

    def translate(each: Process) -> dict[str, Any]:
        name = each.side.name
        tuned = {k: v for k, v in chosen[name].items() if k in ("workers", "batch")}
        out = plan.work / "found" / f"{name.replace(' ', '-')}.json"
        out.parent.mkdir(exist_ok=True)
        answer = each.ask(all={**plan.settings, **tuned}, write=str(out.absolute()))
        return answer | {"start": start[name], "alone": alone[name], "tuned": tuned, "out": out}

    works = {each.side.name: partial(translate, each) for each in processes}
    return take_turns(works, plan.rounds, warm_up=0)  # the tuning was one


def _make_row(
    process: Process, answers: dict[str, list[dict[str, Any]]], first: str, plan: Plan
) -> Row:
    name, mine = process.side.name, answers[process.side.name]
    found, ours = (json.loads(answers[x][-1]["out"].read_text("utf-8")) for x in (name, first))
    alone = 1000 * np.array(mine[0]["alone"])
    figures: dict[str, float | str] = {
        "tokens/s": statistics.median(x["tokens"] / x["seconds"] for x in mine),
        "tokens/cpu": statistics.median(x["tokens"] / x["cpu"] for x in mine),
        "p50": float(np.percentile(alone, 50)),
        "p99": float(np.percentile(alone, 99)),
        "start": mine[0]["start"],
        "length": middle(mine, "tokens") / len(plan.texts),
        "same": sum(a == b for a, b in zip(found, ours, strict=True)) / len(ours),
        "settings": ", ".join(f"{k} {v}" for k, v in mine[0]["tuned"].items()),
    }
    if "peak" in mine[-1]:
        figures["peak"] = mine[-1]["peak"]
        figures["memory"] = mine[-1]["peak"] - process.facts["bare memory"]
    if plan.references:
        figures["bleu"] = _score(found, plan)
    row = Row(name, process.version, figures)
    if name == first:
        return row
    speeds = [[x["tokens"] / x["seconds"] for x in answers[side]] for side in (first, name)]
    ratio, spread = compare(*speeds)
    lengths = [middle(answers[side], "tokens") for side in (first, name)]
    apart = abs(lengths[1] / lengths[0] - 1)
    refused = f"lengths differ by {apart:.1%}" if apart > APART else None
    return replace(row, against=first, ratio=ratio, spread=spread, refused=refused)


def _score(found: list[list[str]], plan: Plan) -> float:
    ids = {token: id for id, token in enumerate(plan.tokenizers.target.vocabulary)}
    said = [plan.tokenizers.target.decode([ids[token] for token in row]) for row in found]
    quality = score_quality(said, [list(plan.references or [])], target_lang=plan.target_lang)
    return float(quality.to_json()["scores"]["BLEU"]["value"])

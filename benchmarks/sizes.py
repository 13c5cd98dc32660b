"""Compare the engine in C with CTranslate2, in int8 on one thread, by size and instruction set.

    python -m benchmarks sizes --sizes demo,tiny,small,base --sets amx,avx512vnni,avx2 \\
        --output sizes.json

Every translation has 25 tokens, so that both do the same work; `demo` is the shipped model, the
others have random weights. The clock is the processor time of the process, since others may use the
machine too; both sides take turns. CTranslate2 tries its batch sizes first and keeps the best.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from glassformer.config import EOS, Config
from glassformer.extensions.publish.int8 import save_int8
from glassformer.foundation import disk
from glassformer.model.files.directory import WEIGHTS, Tokenizers, build_model, locate, save_model
from glassformer.model.files.weights_file import WeightsFile
from glassformer.text.kinds import train_tokenizer

from .options import find_cache, quote, split
from .processes import Process, Side, hold, open_sides
from .tables import compare, tell_machine, tell_table
from .translate import MODULES, prepare_peer
from .turns import take_turns

SETS = {  # what holds both engines to an instruction set
    "amx": {"GLASSFORMER_ISA": "amx"},
    "avx512vnni": {
        "GLASSFORMER_ISA": "avx512vnni",
        "MKL_ENABLE_INSTRUCTIONS": "AVX512_E1",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI",
    },
    "avx2": {
        "GLASSFORMER_ISA": "avx2",
        "CT2_FORCE_CPU_ISA": "AVX2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
    },
}
VOCABULARY = {"tiny": 8000, "small": 8000, "base": 32000}
LENGTH = 25  # tokens of each translation
SOURCES = (4, 40)  # the shortest and the longest source, in tokens
OURS = "translate_native"
COMPARED = ["the quick brown fox", "jumps over the lazy dog"]  # to see that the copy is right
HEADS = (
    *("size", "search", "set", "ours tokens/s", "theirs", "ratio", "one alone: ours ms"),
    *("theirs", "ratio", "peak MiB: ours", "theirs", "ratio", "start s: ours", "theirs", "ratio"),
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--sizes", default="demo,tiny,small,base", help="with commas")
    parser.add_argument("--sets", default=",".join(SETS), help="instruction sets, with commas")
    parser.add_argument("--beams", default="1,5", help="with commas; 1 is greedy")
    parser.add_argument("--count", type=int, default=256, help="sentences")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each side")
    parser.add_argument("--work", type=Path, help="where models and engines are kept")
    parser.add_argument("--output", "-o", type=Path, help="also keep the JSON")


def main(options: argparse.Namespace) -> None:
    work, rows = (options.work or find_cache()).absolute(), list[dict[str, Any]]()
    for size in split(options.sizes):
        model = locate("demo") if size == "demo" else write_random(size, work)
        sentences = write_sources(model, options.count, work)
        for name in split(options.sets):
            for beam in map(int, split(options.beams)):
                row = measure(model, sentences, name, beam, options.rounds, work)
                rows.append({"size": size, "set": name, "beam": beam, **row})
                print(tell_row(rows[-1]), flush=True)
    if options.output:
        found = {"command": quote("sizes"), "machine": tell_machine(), "rows": rows}
        disk.write_json(options.output, found)
    print(f"\nOn {tell_machine()}, {options.rounds} rounds, one thread.\n`{quote('sizes')}`\n")
    print(tell_table(HEADS, map(list_cells, rows), texts=3))


def write_random(size: str, work: Path) -> Path:
    """Write a model with random weights in int8, and a vocabulary of random words, once."""
    folder, words = work / "models" / f"random-int8-{size}", Random(1)
    if not folder.exists():
        lines = (
            " ".join("".join(words.choices("abcdefghijklmnopqrstuvwxyz", k=7)) for _ in range(9))
            for _ in range(20_000)
        )
        shared = train_tokenizer(lines, VOCABULARY[size])
        config, tokenizers = Config.read({"size": size}), Tokenizers(shared, shared)
        partial = folder.with_name(f"{folder.name}.partial")
        save_model(partial, config, tokenizers, build_model(config, tokenizers).state_dict())
        save_int8(WeightsFile(partial / WEIGHTS), partial / WEIGHTS)
        partial.rename(folder)
    return folder


def write_sources(model: Path, count: int, work: Path) -> Path:
    """Write sources of random tokens and lengths, as the engines read them; return the file."""
    vocabulary, random = Tokenizers.load(model).source.vocabulary, Random(2)
    ids = [
        [random.randrange(EOS + 1, len(vocabulary)) for _ in range(random.randint(*SOURCES))]
        for _ in range(count)
    ]
    tokens = [[vocabulary[token] for token in row] for row in ids]
    found = {
        "texts": tokens,
        "tokens": tokens,
        "ids": [[*row, EOS] for row in ids],
        "vocabulary": list(vocabulary),
    }
    path = work / "sentences" / f"{model.name}-{count}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    disk.write_json(path, found)
    return path


def measure(
    model: Path, sentences: Path, name: str, beam: int, rounds: int, work: Path
) -> dict[str, Any]:
    """Return tokens a second, ms of a sentence alone, MiB and seconds of both sides, by round."""
    peer = prepare_peer("ctranslate2", "int8", model, work, COMPARED)
    given = str(sentences), "int8"
    sides = [
        Side("ours", f"{MODULES}.{OURS}", (str(model), *given)),
        Side("theirs", f"{MODULES}.translate_ctranslate2", (str(peer), *given), "ctranslate2"),
    ]
    settings = {"beam": beam, "alpha": 0.6, "longest": LENGTH, "shortest": LENGTH, "clock": "cpu"}
    with open_sides(sides, work, hold(1, False) | SETS[name]) as processes:
        if len(processes) < len(sides):
            raise ValueError("CTranslate2 does not start")
        found = {each.side.name: {"start": [start(each, settings)]} for each in processes}
        tuned = {each.side.name: settings | each.ask(tune=settings) for each in processes}
        works = {x.side.name: partial(translate, x, tuned[x.side.name], work) for x in processes}
        for side, answers in take_turns(works, rounds, warm_up=0).items():
            for key in ("tokens/s", "alone", "peak"):
                found[side][key] = [answer[key] for answer in answers]
    return found


def start(process: Process, settings: dict[str, Any]) -> float:
    """Return the processor time from the start of the process to its first translation."""
    return float(process.ask(alone=settings, count=1)["spent"])


def translate(process: Process, settings: dict[str, Any], work: Path) -> dict[str, float]:
    alone = process.ask(alone=settings, count=20)["alone"]
    out = work / "found" / f"sizes-{process.side.name}.json"
    out.parent.mkdir(exist_ok=True)
    every = process.ask(all=settings, write=str(out))
    lengths = [len(row) for row in json.loads(out.read_text(encoding="utf-8"))]
    if not {*lengths} <= {LENGTH, LENGTH - 1}:  # ours may find EOS at the last step
        raise ValueError(f"{process.side.name}: translations of {sorted({*lengths})} tokens")
    return {
        "tokens/s": len(lengths) * LENGTH / every["cpu"],
        "alone": 1000 * statistics.median(alone),
        "peak": every["peak"],
    }


def list_ratios(row: dict[str, Any]) -> dict[str, float]:
    """Return how many times better ours is in each column: the median over rounds."""
    ours, theirs = row["ours"], row["theirs"]
    found = {"tokens/s": compare(ours["tokens/s"], theirs["tokens/s"])[0]}
    return found | {key: compare(theirs[key], ours[key])[0] for key in ("alone", "peak", "start")}


def list_cells(row: dict[str, Any]) -> Sequence[str]:
    cells = [row["size"], "greedy" if row["beam"] == 1 else f"beam {row['beam']}", row["set"]]
    forms = {"tokens/s": ",.0f", "alone": ".1f", "peak": ".0f", "start": ".2f"}
    for key, ratio in list_ratios(row).items():
        cells += [
            f"{statistics.median(row[side][key]):{forms[key]}}" for side in ("ours", "theirs")
        ]
        cells.append(f"{ratio:.2f}x")
    return cells


def tell_row(row: dict[str, Any]) -> str:
    return "  ".join(list_cells(row))

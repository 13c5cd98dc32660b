"""Measure the speed of training: updates on the same batches, ours and other engines' in turns.

    python -m benchmarks train tiny --langs en-de --data DIR/train --output training-tiny.json

DIR/train is DIR/train.en and DIR/train.de; without --data, the built-in corpus. Tokens are counted
on both sides, without padding. --clock cpu counts the seconds of the processor instead of the
wall's: where other work runs beside it, with --threads 1. `--set model.network=rnn
--set model.rnn.attention=general --against joeynmt` compares recurrent networks.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from glassformer.config import PAD, Config
from glassformer.data.batches import FEW_SHAPES
from glassformer.data.masking import choose_batches
from glassformer.extensions.demo.corpus import Split
from glassformer.foundation.disk import write_json, write_text
from glassformer.foundation.progress import Reporter
from glassformer.train.plan.preparation import PreparedRun, prepare_run
from glassformer.train.plan.run_folder import open_run
from tools.demo_corpus import LANGUAGES
from tools.demo_corpus.files import write_pairs

from .ceilings import ask_ceilings, best_rate, count_flops
from .options import add_shared, find_cache, quote, read_config, show, split
from .processes import Side, hold, open_sides
from .tables import Row, Table, compare, middle, tell_machine
from .turns import take_turns

MODULES = "benchmarks.engines"
OURS = f"{MODULES}.train_glassformer"
# A peer's name -> engine (None: PyTorch, which we use ourselves), module and precision.
PEERS = {
    "transformers-fp32": ("transformers", "train_transformers", "fp32"),
    "transformers-bf16": ("transformers", "train_transformers", "bf16"),
    "torch-fp32": (None, "train_torch", "fp32"),
    "torch-bf16": (None, "train_torch", "bf16"),
    "marian": ("marian", "train_marian", "fp32"),
    "eole-fp32": ("eole", "train_eole", "fp32"),
    "eole-bf16": ("eole", "train_eole", "bf16"),
    "joeynmt": ("joeynmt", "train_joeynmt", "fp32"),
}
COLUMNS = {
    "tokens/s": "source+target tokens/s|,.0f",
    "seconds": "s an update|.3f",
    "share": "of the matrix rate|.1%",
    "cores": "cores busy|.2f",
    "peak": "peak MiB|,.0f",
}
CLOCKS = {"wall": "seconds", "cpu": "cpu"}  # -> what a turn reports
PAIRS: dict[Split, int] = {"train": 20_000, "valid": 200}
BATCHES = 300  # batches written for the other engines, which start again after the last


@dataclass(frozen=True)
class Task:
    """The data that all engines train on, in the folder of one of our runs."""

    folder: Path
    prepared: PreparedRun
    flops: float  # per source+target token; 0: not counted


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", nargs="?", default="tiny", help="a size, or a TOML file")
    parser.add_argument("--data", type=Path, nargs="+", help="sentence pairs, as for train")
    parser.add_argument("--langs", default="en-fr", help="source and target language")
    parser.add_argument("--set", action="append", default=[], help="change a setting: KEY=VALUE")
    parser.add_argument("--seconds", type=float, default=20.0, help="the length of a turn")
    parser.add_argument("--clock", default="wall", choices=CLOCKS, help="what seconds are")
    add_shared(
        parser,
        "transformers-fp32,transformers-bf16,torch-fp32,torch-bf16,eole-bf16,marian,joeynmt",
    )


def main(options: argparse.Namespace) -> None:
    table = run(
        read_config(options.recipe, options.langs, options.set),
        options.data,
        options.work or find_cache(),
        peers=split(options.against),
        precisions=split(options.precision),
        seconds=options.seconds,
        rounds=options.rounds,
        environment=hold(options.threads, options.avx2),
        clock=options.clock,
        command=quote("train"),
    )
    show(table, options)


def run(
    config: Config,
    data: Sequence[Path] | None,
    work: Path,
    *,
    peers: Sequence[str],
    precisions: Sequence[str] = ("auto",),
    seconds: float = 20.0,
    rounds: int = 3,
    environment: dict[str, str] | None = None,
    clock: str = "wall",
    command: str = "",
) -> Table:
    """Compare our `precisions` with the `peers`, in turns of so many seconds; return the table.

    A first turn warms up. Without `data`, the built-in corpus is used. Raise ValueError for an
    unknown peer.
    """
    for name in peers:
        if name not in PEERS:
            raise ValueError(f"--against {name}: one of {', '.join(PEERS)}")
    task = make_task(config, data or [write_demo(config, work)], work)
    sides = [Side(f"glassformer {x}", OURS, (str(task.folder), x)) for x in precisions]
    sides += [make_side(name, task) for name in peers]
    with open_sides(sides, work, environment or {}) as processes:
        ceilings = ask_ceilings(environment or {})
        asks = {each.side.name: partial(each.ask, seconds=seconds) for each in processes}
        answers = take_turns(asks, rounds)
        facts = {each.side.name: (each.version, each.facts) for each in processes}
    first = sides[0].name
    rows = [make_row(name, facts[name], answers, first, task, ceilings, clock) for name in answers]
    vocabulary = len(task.prepared.tokenizers.target)
    conditions = {
        "size": config.size or "own",
        "parameters": facts[first][1]["parameters"],
        "vocabulary": vocabulary,
        "tokens a side in a batch, padding included": config.train.batch_tokens,
        "rounds": rounds,
        "seconds a turn": seconds,
        "clock": clock,
    }
    return Table(
        "Training", command, tell_machine(environment or {}), conditions, ceilings, rows, COLUMNS
    )


def make_task(
    config: Config, data: Sequence[Path], work: Path, valid: Sequence[Path] | None = None
) -> Task:
    """Return tokenizers, store and batches, made once for each setting and kept in `work`.

    Without validation text, some of the pairs are held out for it.
    """
    folder = (work / "tasks" / f"{config.size or 'own'}-{config.model.norm}").absolute()
    wanted = config.to_toml() + "".join(
        f"\n# {path.absolute()}" for path in (*data, *(valid or ()))
    )
    note, batches = folder / "wanted.toml", folder / "batches-fp32.npz"
    is_there = note.is_file() and batches.is_file()
    if not (is_there and note.read_text(encoding="utf-8") == wanted):
        shutil.rmtree(folder, ignore_errors=True)
        open_run(folder, config, data, valid)
        prepared = prepare_run(folder, Reporter())
        _write_task(folder, prepared)
        write_text(note, wanted)
    prepared = prepare_run(folder, Reporter(quiet=True))
    with np.load(batches) as found:
        flops = _count_flops(prepared, [(found[f"s.{n}"], found[f"t.{n}"]) for n in range(50)])
    return Task(folder, prepared, flops)


def write_demo(config: Config, work: Path) -> Path:
    """Write the built-in corpus in the languages of the settings; return its folder."""
    source, target = config.data.source_lang or "", config.data.target_lang or ""
    if not {source, target} <= set(LANGUAGES):
        raise ValueError(f"no text of ours is in {source} and {target}: give --data")
    folder = work / "corpora" / f"{source}-{target}"
    if not folder.exists():
        write_pairs(folder, source, target, PAIRS)
    return folder


def _write_task(folder: Path, prepared: PreparedRun) -> None:
    """Write the batches and settings for the other engines.

    Lengths are padded as is best for PyTorch's matrix products in each precision.
    """
    config = prepared.config
    for precision, pad_to in (("fp32", 1), ("bf16", FEW_SHAPES)):
        batches = choose_batches(
            config.changed(train={"pad_to": pad_to}),
            prepared.store,
            (prepared.tokenizers.source, prepared.tokenizers.target),
        )
        arrays = {}
        for number, batch in enumerate(islice(batches.from_step(0), BATCHES)):
            arrays[f"s.{number}"] = batch.source_BS.astype(np.int32)
            arrays[f"t.{number}"] = batch.target_BT.astype(np.int32)
        with (folder / f"batches-{precision}.npz").open("wb") as file:
            np.savez(file, **arrays)  # type: ignore[arg-type]
    for side, ids in (("source", prepared.store.source), ("target", prepared.store.target)):
        lines = (" ".join(map(str, ids(row, 0))) for row in range(len(prepared.store)))
        write_text(folder / f"train.{side}", "".join(f"{line}\n" for line in lines))
    train = config.train
    settings: dict[str, Any] = {
        "model": config.model.model_dump(mode="json"),
        "vocabulary": len(prepared.tokenizers.target),
        "batch_tokens": train.batch_tokens,
        "label_smoothing": train.label_smoothing,
        "betas": train.betas,
        "epsilon": train.epsilon,
        "max_grad_norm": train.max_grad_norm or 1e9,
    }
    write_json(folder / "task.json", settings)


def make_side(name: str, task: Task) -> Side:
    engine, module, precision = PEERS[name]
    return Side(name, f"{MODULES}.{module}", (str(task.folder), precision), engine)


def make_row(
    name: str,
    facts: tuple[str | None, dict[str, Any]],
    answers: dict[str, list[dict[str, Any]]],
    first: str,
    task: Task,
    ceilings: dict[str, float],
    clock: str = "wall",
) -> Row:
    seconds = CLOCKS[clock]

    def speeds(side: str) -> list[float]:
        return [(x["source"] + x["target"]) / x[seconds] for x in answers[side]]

    mine, median = answers[name], sorted(speeds(name))[len(answers[name]) // 2]
    figures: dict[str, float | str] = {
        "tokens/s": median,
        "seconds": middle([{"s": x[seconds] / x["updates"]} for x in mine], "s"),
        "cores": middle([{"c": x["cpu"] / x["seconds"]} for x in mine], "c"),
    }
    if task.flops:
        figures["share"] = median * task.flops / best_rate(ceilings)
    if "peak" in mine[-1]:
        figures["peak"] = mine[-1]["peak"]
    if name == first:
        return Row(name, facts[0], figures)
    ratio, spread = compare(speeds(first), speeds(name))
    return Row(name, facts[0], figures, first, ratio, spread)


def _count_flops(prepared: PreparedRun, batches: Sequence[tuple[Any, Any]]) -> float:
    """Return the average operations of matrix products per source+target token of a Transformer."""
    if prepared.config.model.network != "transformer":
        return 0.0
    flops = tokens = 0.0
    model = prepared.config.model.model_dump()
    for source, target in batches:
        s, t = (source != PAD).sum(1).astype(float), (target[:, 1:] != PAD).sum(1).astype(float)
        looks = {"encoder": (s * s).sum(), "decoder": (t * t).sum(), "across": (s * t).sum()}
        vocabulary = len(prepared.tokenizers.target)
        flops += count_flops(model, vocabulary, int(s.sum()), int(t.sum()), looks)
        tokens += s.sum() + t.sum()
    return flops / tokens

"""Measure what training costs to reach a BLEU, ours and JoeyNMT's, in CPU-seconds and tokens.

    python -m benchmarks learning recipes/multi30k-en-de.toml --data DIR --test test2016 \\
        --out RUNS

DIR has train.*, valid.* and the test. Each point of ours is a whole training by the recipe, but of
so many updates, lengths padded as this machine likes: CPU-seconds from the first line read to the
model written, validations included. JoeyNMT, installed below --work, learns from the same tokens
with as many in a batch, a network of the same sizes, Adam and the paper's schedule with --warmup
updates; the seconds for its reading and validating are not counted. One training of it is stopped
at --seconds to translate the test. Both translate with 5 beams. What is in RUNS already is not done
again. Writes learning.svg and learning.json into RUNS and prints a Markdown table. 7,200 CPU-
seconds are an hour of two cores.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import sacrebleu
from matplotlib.figure import Figure

from glassformer.config import Config
from glassformer.data.files import read_lines
from glassformer.model.files.directory import write_json, write_text
from glassformer.train import train
from glassformer.translator import Translator

from .installing import install
from .options import find_cache
from .processes import make_environment
from .tables import tell_machine, tell_table
from .train import make_task

NAMES = {"glassformer": "o", "joeynmt": "s"}
COUNTS = ("updates", "tokens", "cpu")


def main(options: argparse.Namespace) -> None:
    config = Config.load(options.recipe)
    langs = config.data.source_lang, config.data.target_lang
    source, reference = (
        list(read_lines(options.data / f"{options.test}.{each}")) for each in langs
    )
    options.out.mkdir(parents=True, exist_ok=True)
    found = []
    if options.seconds:
        found += theirs(config, options, source, reference)
    for updates in options.updates:
        found.append(ours(config, options, updates, source, reference))
    threads = os.environ.get("OMP_NUM_THREADS")
    facts = {"machine": tell_machine(), "threads": threads, "found": found}
    write_text(options.out / "learning.json", json.dumps(facts, indent=1) + "\n")
    draw(found, options.test).savefig(options.out / "learning.svg")
    rows = (
        [each["name"], *(f"{each[name]:,.0f}" for name in COUNTS), f"{each['BLEU']:.2f}"]
        for each in found
    )
    print(tell_table(["", "updates", "tokens", "CPU-seconds", "BLEU"], rows))


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--updates", type=int, nargs="*", default=[500, 1000, 2000, 4669])
    parser.add_argument("--seconds", type=float, nargs="*", default=[900, 1800, 3600, 7200])
    parser.add_argument("--rate", type=float, default=0.0044, help="JoeyNMT's highest")
    parser.add_argument("--warmup", type=int, default=400, help="JoeyNMT's")
    parser.add_argument("--dropout", type=float, default=0.2, help="JoeyNMT's")
    parser.add_argument("--work", type=Path, help="where JoeyNMT is installed and kept")
    parser.add_argument("--out", type=Path, required=True)


def ours(
    config: Config, options: argparse.Namespace, updates: int, source: list[str], truth: list[str]
) -> dict[str, Any]:
    out, kept = options.out / f"{updates}", options.out / f"{updates}.json"
    if not kept.is_file():
        shutil.rmtree(out, ignore_errors=True)  # what was not finished
        began = count_seconds()
        changed = config.changed(train={"steps": updates, "pad_to": None})
        summary = train(changed, [options.data], out)
        if not summary.is_finished:
            raise SystemExit(summary.text)
        write_json(kept, {**summary.to_json(), "whole": count_seconds() - began})
    made = json.loads(kept.read_text(encoding="utf-8"))
    said = Translator.load(out, precision="fp32").translate(source)
    return {
        "name": "glassformer",
        "updates": made["steps"],
        "tokens": made["source_tokens"] + made["target_tokens"],
        "cpu": made["whole"],
        "BLEU": sacrebleu.corpus_bleu(said, [truth]).score,
    }


def count_seconds() -> float:
    """Return the seconds of processor time of this process and of those it has waited for."""
    taken = os.times()
    return taken.user + taken.system + taken.children_user + taken.children_system


def theirs(
    config: Config, options: argparse.Namespace, source: list[str], truth: list[str]
) -> list[dict[str, Any]]:
    work = options.work or find_cache()
    task = make_task(config, [options.data], work)
    rows = task.folder / "joeynmt.jsonl"
    kept = options.out / "joeynmt.jsonl"
    if not kept.is_file():
        ids = task.prepared.tokenizers.source.encode_many(source)
        lines = "".join(" ".join(map(str, row)) + "\n" for row in ids)
        write_text(task.folder / "test.source", lines)
        chosen = {name: getattr(options, name) for name in ("rate", "warmup", "dropout")}
        write_json(task.folder / "learning.json", chosen)
        module, python = "benchmarks.engines.learn_joeynmt", install("joeynmt", work)
        command = [python, "-m", module, task.folder, *options.seconds]
        environment = make_environment({}, is_ours=False)
        subprocess.run([*map(str, command)], env=environment, cwd=work, check=True)
        write_text(kept, rows.read_text(encoding="utf-8"))
    found = []
    for line in kept.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        ids = [[int(x) for x in text.split() if x.isdigit()] for text in row.pop("said")]
        said = task.prepared.tokenizers.target.decode_many(ids)
        found.append({"name": "joeynmt", **row, "BLEU": sacrebleu.corpus_bleu(said, [truth]).score})
    return found


def draw(found: list[dict[str, Any]], test: str) -> Figure:
    figure = Figure(figsize=(8, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    places = {"cpu": ("CPU-seconds", 1), "tokens": ("million tokens seen, both sides", 1e6)}
    for axes, (key, (label, unit)) in zip(panels, places.items(), strict=True):
        for name, mark in NAMES.items():
            mine = [each for each in found if each["name"] == name]
            seen = [each[key] / unit for each in mine]
            axes.plot(seen, [each["BLEU"] for each in mine], f"{mark}-", label=name)
        axes.set(xscale="log", xlabel=label)
        low, high = axes.get_xlim()
        ticks = [n * 10**power for power in range(6) for n in (1, 2, 5)]
        axes.set_xticks(shown := [tick for tick in ticks if low <= tick <= high])
        axes.set_xticklabels(f"{tick:,}" for tick in shown)
        axes.minorticks_off()
    panels[0].set_ylabel(f"BLEU on {test}")
    panels[0].legend(frameon=False)
    return figure

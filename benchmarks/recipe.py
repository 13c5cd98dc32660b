"""Train a recipe with several seeds, score it on its test sets, write the figures into its head.

    python -m benchmarks recipe recipes/multi30k-en-de.toml --data DIR --test test2016 \
        --test test2017 --seeds 1 2 3 --out runs/multi30k-en-de

DIR has train.* and, to validate on, valid.*; or --data and --valid are prefixes or files as
`glassformer train` takes them. Each --test is a prefix beside DIR/train. A seed that was stopped is
resumed; one with a result.json in its folder is taken from there, so that seeds may be run one by
one. The head of the recipe is the comment that it begins with.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from itertools import dropwhile
from pathlib import Path
from typing import Any

import sacrebleu
import torch

from glassformer.config import Config
from glassformer.data.corpus import find_data
from glassformer.evaluate.quality import read_references, score_quality
from glassformer.model.files.directory import write_text
from glassformer.train import resume, train
from glassformer.translator import Translator

from .tables import tell_machine


def main(options: argparse.Namespace) -> None:
    results = [run(options, seed) for seed in options.seeds]
    options.out.mkdir(parents=True, exist_ok=True)
    write_text(options.out / "results.json", json.dumps(results, indent=1) + "\n")
    head = render(options, results)
    print(head)
    lines = options.recipe.read_text(encoding="utf-8").splitlines()
    body = "\n".join(dropwhile(lambda line: line.startswith("#"), lines)).strip()
    write_text(options.recipe, f"{head}\n{body}\n")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--data", nargs="+", required=True)
    parser.add_argument("--valid", nargs="+")
    parser.add_argument("--test", action="append", required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, help="instead of the recipe's own")


def run(options: argparse.Namespace, seed: int) -> dict[str, Any]:
    """Train with one seed, then score every test set with the recipe's own search."""
    out = options.out / f"seed-{seed}"
    kept = out / "result.json"
    if kept.is_file():
        found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return found
    config = Config.load(options.recipe).changed(train={"seed": seed})
    if options.minutes:
        config = config.changed(train={"minutes": options.minutes, "steps": None})
    began = time.perf_counter()
    is_resumed = (out / "run").exists()
    given = (config, options.data, out)
    summary = resume(out) if is_resumed else train(*given, valid=options.valid)
    if not summary.is_finished:
        raise SystemExit(summary.text)
    wall = time.perf_counter() - began
    made = summary.to_json()
    tests = {name: test(out, options, config, name) for name in options.test}
    result = {
        "seed": seed,
        "threads": torch.get_num_threads(),
        "minutes": None if is_resumed else wall / 60,
        "cpu_seconds": made["cpu_seconds"],
        "updates": made["steps"],
        "tokens": made["source_tokens"] + made["target_tokens"],
        "valid": made["scores"],
        "tests": tests,
    }
    write_text(kept, json.dumps(result, indent=1) + "\n")
    return result


def test(out: Path, options: argparse.Namespace, config: Config, name: str) -> dict[str, Any]:
    """Return every score of one test set; nothing was chosen on it."""
    source, references = read_test(options, config, name)
    translator = Translator.load(out, precision="fp32")  # as `evaluate` does
    began = time.perf_counter()
    found = translator.translate(source)
    seconds = time.perf_counter() - began
    literature = config.data.target_lang in ("de", "fr")
    quality = score_quality(
        found, references, target_lang=config.data.target_lang, literature=literature
    )
    write_text(out / f"{Path(name).name}.translation", "".join(f"{x}\n" for x in found))
    return {"seconds": seconds, **quality.to_json()}


def read_test(
    options: argparse.Namespace, config: Config, name: str
) -> tuple[list[str], list[list[str | None]]]:
    """Return source lines and references: of PREFIX.multiref.tsv if it exists, else of the pair."""
    base = Path(options.data[0])
    prefix = (base if base.is_dir() else base.parent) / name
    several = prefix.with_name(prefix.name + ".multiref.tsv")
    pairs = list(find_data([prefix], config.data.source_lang, config.data.target_lang).train)
    source = [pair[0] for pair in pairs]
    if several.is_file():
        return source, read_references(several)
    return source, [[pair[1] for pair in pairs]]


def render(options: argparse.Namespace, results: list[dict[str, Any]]) -> str:
    """Return the head: command, machine, cost, and mean and spread of each score."""
    seeds = " ".join(str(each["seed"]) for each in results)
    tests = " ".join(f"--test {name}" for name in options.test)
    minutes = f" --minutes {options.minutes:g}" if options.minutes else ""
    lines = [
        f"{options.recipe.stem}: measured by",
        f"  python -m benchmarks recipe recipes/{options.recipe.name} --data DATA {tests} "
        f"--seeds {seeds}{minutes} --out RUNS",
        f"on {tell_machine()}, torch {torch.__version__}, sacreBLEU {sacrebleu.__version__}.",
        *(
            f"Seed {each['seed']}: {each['updates']:,} updates, "
            f"{each['tokens'] / 1e6:.1f} M source+target tokens, {each['cpu_seconds']:,.0f} "
            f"CPU-seconds, {tell_minutes(each)}{each['threads']} "
            f"thread{'s' if each['threads'] > 1 else ''}."
            for each in results
        ),
        "Everything was chosen on the validation text. Mean and standard deviation over "
        f"{len(results)} seed{'s' if len(results) > 1 else ''}:",
    ]
    for name in options.test:
        found = [each["tests"][name] for each in results]
        for key, entry in found[0]["scores"].items():
            values = [each["scores"][key]["value"] for each in found]
            lines.append(f"  {Path(name).name} {key} {mean(values, 2)}  {entry['signature']}")
        matches = [100 * each["exact_match"] for each in found]
        lines.append(f"  {Path(name).name} exact match {mean(matches, 2)} %")
    return "\n".join(f"# {line}" for line in lines) + "\n"


def tell_minutes(result: dict[str, Any]) -> str:
    """Return the minutes by the clock; nothing if the training was stopped and resumed."""
    return f"{result['minutes']:.1f} minutes with " if result["minutes"] else ""


def mean(values: list[float], digits: int) -> str:
    said = f"{statistics.mean(values):,.{digits}f}"
    if len(values) > 1:
        said += f" +- {statistics.stdev(values):,.{digits}f}"
    return said

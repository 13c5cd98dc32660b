"""Draw BLEU against words a second for networks of several depths.

    python -m benchmarks quality recipes/multi30k-en-de.toml --data DIR --test test2016 --out RUNS

DIR has train.*, valid.* and the test. All are trained with the recipe, but for their layers and
--updates; the distilled one learns from what the first one makes of the training sources with 5
beams (Kim and Rush 2016). What is in RUNS already is not trained again. Then they translate the
test in turns, each greedily and with 5 beams. Writes quality.svg and quality.json into RUNS and
prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import time
from functools import partial
from pathlib import Path
from typing import Any

import sacrebleu
from matplotlib.figure import Figure

from glassformer.config import Config, Decode
from glassformer.data.files import read_lines
from glassformer.model.files.directory import CARD, write_text
from glassformer.train import resume, train
from glassformer.translator import Translator

from .tables import tell_machine, tell_table
from .turns import take_turns

LAYERS = {"6+6": (6, 6), "6+2": (6, 2), "12+1": (12, 1), "2+1": (2, 1)}
TEACHER, TAUGHT = "6+6", "2+1 distilled"
SEARCHES = {
    "greedy": Decode(search="greedy"),
    "beam 5": Decode(beam=5, alpha=1.0, length_penalty="power"),
}
MARKS = {"greedy": "o", "beam 5": "s"}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", type=Path)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--test", required=True)
    parser.add_argument("--updates", type=int, default=1200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True)


def main(options: argparse.Namespace) -> None:
    config = Config.load(options.recipe).changed(train={"steps": options.updates})
    langs = str(config.data.source_lang), str(config.data.target_lang)
    for name, (encoder, decoder) in LAYERS.items():
        deep = config.changed(model={"encoder_layers": encoder, "decoder_layers": decoder})
        make(deep, options.data, options.out / name, options.data)
    taught = options.out / "taught"
    teach(options.out / TEACHER, options.data, taught, langs)
    make(deep, taught, options.out / TAUGHT, options.data)
    source, reference = (
        list(read_lines(options.data / f"{options.test}.{each}")) for each in langs
    )
    found = measure(options.out, source, reference, options.rounds)
    facts = {"machine": tell_machine(), "updates": options.updates, "found": found}
    write_text(options.out / "quality.json", json.dumps(facts, indent=1) + "\n")
    draw(found, options.test).savefig(options.out / "quality.svg")
    rows = (
        [each["name"], each["search"], f"{each['words']:,.0f}", f"{each['BLEU']:.2f}"]
        for each in found
    )
    print(tell_table(["layers", "search", "words/s", "BLEU"], rows, texts=2))


def make(config: Config, data: Path, out: Path, valid: Path) -> None:
    if (out / CARD).is_file():
        return
    is_resumed = (out / "run").exists()
    given = (config, [data / "train"], out)
    summary = resume(out) if is_resumed else train(*given, valid=[valid / "valid"])
    if not summary.is_finished:
        raise SystemExit(summary.text)


def teach(teacher: Path, data: Path, folder: Path, langs: tuple[str, str]) -> None:
    """Write the sources, with the teacher's translations in the place of the targets."""
    source, target = langs
    if (folder / f"train.{target}").is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(data / f"train.{source}", folder / f"train.{source}")
    lines = list(read_lines(data / f"train.{source}"))
    said = Translator.load(teacher).translate(lines, decode=SEARCHES["beam 5"])
    write_text(folder / f"train.{target}", "".join(f"{line}\n" for line in said))


def measure(
    out: Path, source: list[str], reference: list[str], rounds: int
) -> list[dict[str, Any]]:
    """Return the words of translation a second: medians of the rounds after a first one."""
    translators = {name: Translator.load(out / name) for name in [*LAYERS, TAUGHT]}
    kinds = {f"{name}, {search}": (name, search) for name in translators for search in SEARCHES}
    said: dict[str, list[str]] = {}

    def translate(kind: str) -> float:
        name, search = kinds[kind]
        began = time.perf_counter()
        found = said[kind] = translators[name].translate(source, decode=SEARCHES[search])
        return sum(len(line.split()) for line in found) / (time.perf_counter() - began)

    speeds = take_turns({kind: partial(translate, kind) for kind in kinds}, rounds)
    return [
        {
            "name": name,
            "search": search,
            "precision": translators[name].precision,
            "words": statistics.median(speeds[kind]),
            "BLEU": sacrebleu.corpus_bleu(said[kind], [reference]).score,
        }
        for kind, (name, search) in kinds.items()
    ]


def draw(found: list[dict[str, Any]], test: str) -> Figure:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for name in [*LAYERS, TAUGHT]:
        mine = [each for each in found if each["name"] == name]
        places = ([each[of] for each in mine] for of in ("words", "BLEU"))
        (line,) = axes.plot(*places, linewidth=1.5, label=name)
        for each in mine:
            axes.plot(
                each["words"],
                each["BLEU"],
                MARKS[each["search"]],
                color=line.get_color(),
                markerfacecolor="white" if each["search"] == "greedy" else line.get_color(),
            )
    axes.set(xscale="log", xlabel="words of translation a second", ylabel=f"BLEU on {test}")
    axes.plot([], [], "o", color="black", markerfacecolor="white", label="greedy")
    axes.plot([], [], "s", color="black", label="beam 5")
    axes.set_xticks(ticks := [1000, 2000, 5000, 10_000, 20_000, 50_000])
    axes.set_xticklabels(f"{each:,}" for each in ticks)
    axes.minorticks_off()
    slow, fast = (of([each["words"] for each in found]) for of in (min, max))
    axes.set_xlim(slow * 0.7, fast * 1.25)
    figure.legend(loc="outside right upper", frameon=False, title="layers")
    return figure

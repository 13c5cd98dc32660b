"""Let several toolkits learn a language for equal processor minutes, and score them on its test.

    python -m benchmarks race --corpus az-en DIR az en --corpus iwslt14-20k DIR de en \\
        --minutes 10 30 120 --seeds 1 2 3 --out RUNS

DIR has train.*, valid.* or dev.*, and test.*. Ours run as a stranger would run them: `train`, which
chooses everything itself (auto), and `night`, each for the minutes by the clock that make so many
of processor time on all cores; what they really used stands in the table, since other programs take
their part. The others, each in an environment of its own, are stopped at so many CPU-seconds; their
reading and translating is not counted. JoeyNMT, Hugging Face's transformers and Marian learn from
the tokens of auto with a network of its sizes, Adam and the paper's schedule. TorchLingo has these
sizes and this schedule, too, but tokens of its own; nmt-forge has everything of its own, its preset
cpu-tiny, and may end before. (Its licence, PolyForm Noncommercial, allows noncommercial use only:
leave it out by --systems where that does not fit.) All translate with their own beam search, and
nothing is chosen on the test. What is in RUNS already is not done again. A toolkit that cannot be
installed is left out, with the reason.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassformer.config import Config
from glassformer.data.files import read_lines
from glassformer.evaluate.quality import score_quality
from glassformer.foundation.machine.device import count_cores
from glassformer.model.files.directory import write_json, write_text

from .installing import install
from .learning import count_seconds
from .options import find_cache
from .processes import make_environment, run_glassformer
from .tables import tell_machine, tell_table
from .train import Task, make_task

METRICS = ("BLEU", "chrF++")
WARMUP, DROPOUT = 400, 0.3  # of the others, as auto has it for as few pairs
OWN_TOKENS = ("torchlingo", "nmt-forge")  # these read the text, the others our tokens
ENGINES = ("joeynmt", "transformers", "marian", *OWN_TOKENS)
SYSTEMS = ("auto", "night", *ENGINES)


@dataclass(frozen=True)
class RaceCorpus:
    """A corpus of the race: its name, its folder and its languages."""

    name: str
    folder: Path
    langs: tuple[str, str]

    def find(self, part: str) -> list[Path]:
        """Return the two files of a part; the validation text may be called dev."""
        names = ("valid", "dev") if part == "valid" else (part,)
        for name in names:
            paths = [self.folder / f"{name}.{lang}" for lang in self.langs]
            if all(path.is_file() for path in paths):
                return paths
        raise ValueError(f"{self.folder}: no {' or '.join(names)} in {' and '.join(self.langs)}")


@dataclass(frozen=True)
class Heat:
    """One training of the race, and the folder of what it gives."""

    corpus: RaceCorpus
    minutes: float  # of a processor
    system: str
    seed: int
    out: Path

    @property
    def folder(self) -> Path:
        times = self.out / self.corpus.name / f"{self.minutes:g}-minutes"
        return times / self.system / f"seed-{self.seed}"

    def to_json(self) -> dict[str, Any]:
        named = {"corpus": self.corpus.name, "minutes": self.minutes}
        return {**named, "system": self.system, "seed": self.seed}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--corpus", nargs=4, action="append", required=True, metavar=("NAME", "DIR", "SRC", "TGT")
    )
    parser.add_argument("--minutes", type=float, nargs="+", default=[10, 30, 120])
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS), choices=SYSTEMS)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--work", type=Path, help="where the others are installed and kept")
    parser.add_argument("--out", type=Path, required=True)


def main(options: argparse.Namespace) -> None:
    found, left_out = list[dict[str, Any]](), dict[str, str]()
    for name, folder, source, target in options.corpus:
        corpus = RaceCorpus(name, Path(folder), (source, target))
        for part in ("train", "valid", "test"):
            corpus.find(part)
        for minutes in options.minutes:
            for system in options.systems:
                for seed in options.seeds:
                    if system not in left_out:
                        heat = Heat(corpus, minutes, system, seed, options.out)
                        found += run(heat, options.work or find_cache(), left_out)
    facts = {"machine": tell_machine(), "results": found, "left_out": left_out}
    write_text(options.out / "race.json", json.dumps(facts, indent=1) + "\n")
    table = render(options, found, left_out)
    write_text(options.out / "race.md", table)
    print(table)


def run(heat: Heat, work: Path, left_out: dict[str, str]) -> list[dict[str, Any]]:
    """Return the result of one training, from its folder if it is there; none if impossible."""
    kept = heat.folder / "result.json"
    if not kept.is_file():
        try:
            is_other = heat.system in ENGINES
            result = learn_elsewhere(heat, work) if is_other else learn_here(heat)
        except (ValueError, subprocess.CalledProcessError) as error:
            left_out[heat.system] = str(error)
            print(f"left out: {heat.system}: {error}", file=sys.stderr)
            return []
        lines, said = list(read_lines(heat.corpus.find("test")[1])), result.pop("said")
        write_text(heat.folder / f"said.{heat.corpus.langs[1]}", "".join(f"{x}\n" for x in said))
        quality = score_quality(said, [lines], target_lang=heat.corpus.langs[1], metrics=METRICS)
        scores = {name: quality[name].value for name in METRICS}
        signature = quality["BLEU"].signature
        write_json(kept, heat.to_json() | result | scores | {"signature": signature})
    return [dict(json.loads(kept.read_text(encoding="utf-8")))]


def learn_here(heat: Heat) -> dict[str, Any]:
    """Train by `train` or `night`, and return the translations and the CPU-seconds."""
    shutil.rmtree(heat.folder, ignore_errors=True)
    heat.folder.mkdir(parents=True)
    out, began, corpus = heat.folder / "out", count_seconds(), heat.corpus
    langs = ("--source-lang", corpus.langs[0], "--target-lang", corpus.langs[1])
    valid, test = (corpus.find(part) for part in ("valid", "test"))
    ends = ("--minutes", heat.minutes / count_cores(), "--seed", heat.seed, "--out", out)
    given = [*corpus.find("train"), *langs, *ends, *("--valid", valid[0], "--valid", valid[1])]
    if heat.system == "night":
        run_glassformer("night", *given, "--from", "none", "--test", test[0], "--test", test[1])
    else:
        run_glassformer("train", *given)
    spent = count_seconds() - began
    model = out / "model" if heat.system == "night" else out
    said = run_glassformer("translate", model, test[0]).removesuffix("\n").split("\n")
    return {"cpu": spent, "said": said}


def learn_elsewhere(heat: Heat, work: Path) -> dict[str, Any]:
    """Train another toolkit; return its translations and CPU-seconds."""
    system, place = heat.system, work / "race" / heat.corpus.name
    python = install(system, work)
    task = prepare_task(heat.corpus, heat.minutes, place)
    write_choices(heat, task)
    module = f"benchmarks.engines.learn_{system.replace('-', '_')}"
    command = [python, "-m", module, task.folder, 60 * heat.minutes]
    environment = make_environment({}, is_ours=False)
    subprocess.run([*map(str, command)], env=environment, cwd=place, check=True)
    row = json.loads((task.folder / f"{system}.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    heat.folder.mkdir(parents=True, exist_ok=True)
    said = row["said"] if system in OWN_TOKENS else read_said(task, row["said"])
    return {"cpu": row["cpu"], "updates": row["updates"], "said": said}


def write_choices(heat: Heat, task: Task) -> None:
    """Write the schedule, the seed and the text of another toolkit, and the tokens of the test."""
    corpus, width = heat.corpus, task.prepared.config.model.d_model
    rate = width**-0.5 * WARMUP**-0.5  # the highest of the paper's schedule
    chosen = {"rate": rate, "warmup": WARMUP, "dropout": DROPOUT, "seed": heat.seed}
    parts = {part: corpus.find(part) for part in ("train", "valid")}
    parts["test"] = corpus.find("test")[:1]
    text = {part: [str(path.absolute()) for path in paths] for part, paths in parts.items()}
    write_json(task.folder / "learning.json", {**chosen, "text": text})
    ids = task.prepared.tokenizers.source.encode_many([*read_lines(parts["test"][0])])
    write_text(task.folder / "test.source", "".join(" ".join(map(str, row)) + "\n" for row in ids))


def prepare_task(corpus: RaceCorpus, minutes: float, work: Path) -> Task:
    """Return the tokens and the sizes that auto chooses for a corpus and this time."""
    langs = dict(zip(("source_lang", "target_lang"), corpus.langs, strict=True))
    ends = {"minutes": minutes / count_cores()}
    config = Config.read({"recipe": "auto", "size": "auto", "data": langs, "train": ends})
    work.mkdir(parents=True, exist_ok=True)
    return make_task(config, corpus.find("train"), work, corpus.find("valid"))


def read_said(task: Task, said: Sequence[str]) -> list[str]:
    """Return translations from the numbers of their tokens."""
    ids = [[int(word) for word in text.split() if word.isdigit()] for text in said]
    return task.prepared.tokenizers.target.decode_many(ids)


def render(
    options: argparse.Namespace, found: Sequence[dict[str, Any]], left_out: dict[str, str]
) -> str:
    """Return a table with a row for each system, and a column for each corpus and time."""
    cells = [(name, minutes) for name, *_ in options.corpus for minutes in options.minutes]
    rows = []
    for system in options.systems:
        own = [each for each in found if each["system"] == system]
        rows.append([system, *(_tell_cell(own, *cell) for cell in cells)])
    heads = ["", *(f"{name}, {minutes:g} minutes" for name, minutes in cells)]
    said = [f"left out: {name}: {why}" for name, why in left_out.items()]
    what = "BLEU / chrF++ (mean and standard deviation of the seeds); processor minutes used"
    signature = next((each["signature"] for each in found), "")
    facts = f"{tell_machine()}; seeds {' '.join(map(str, options.seeds))}; {signature}"
    return "\n".join([f"{what}\n", tell_table(heads, rows), *said, facts, ""])


def _tell_cell(found: Sequence[dict[str, Any]], name: str, minutes: float) -> str:
    own = [each for each in found if (each["corpus"], each["minutes"]) == (name, minutes)]
    if not own:
        return ""
    told = " / ".join(_tell_spread([each[metric] for each in own]) for metric in METRICS)
    return f"{told}; {statistics.mean(each['cpu'] for each in own) / 60:.1f}"


def _tell_spread(values: Sequence[float]) -> str:
    spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.1f}{spread}"

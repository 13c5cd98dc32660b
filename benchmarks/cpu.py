"""The open benchmark of translation on ordinary processors: engines, speed, memory, quality.

    python -m benchmarks cpu --quick -o result.json
    python -m benchmarks cpu --text en-pt test.en test.pt -o result.json
    python -m benchmarks cpu --page benchmarks/results -o page.html

Engines are installed into environments of their own under --work. Each group of engines that took
turns is kept in the file at once, and a run that was stopped goes on from there.
benchmarks/RULES.md has the rules.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import sacrebleu

from glassformer.extensions.bridge.onnx import export_onnx
from glassformer.foundation.disk import write_json, write_text
from glassformer.foundation.machine.device import count_cores
from glassformer.foundation.shared_library.compiler import PROBE
from glassformer.foundation.shared_library.instruction_sets import list_sets
from glassformer.foundation.shared_library.loading import load_library
from glassformer.model.files.directory import SHORTLIST, WEIGHTS, Tokenizers

from .cpu_page import draw
from .cpu_results import (
    Group,
    Row,
    describe_text,
    find_group,
    note_load,
    note_version,
    read_results,
    refuse,
    retry_engines,
    start_result,
)
from .cpu_texts import MODELS, Task, check_models, prepare
from .installing import FAILED
from .options import find_cache, quote, split
from .processes import Process, Side, hold
from .sizes import SETS
from .translate import LONGEST, MODULES, prepare_peer, write_sentences
from .turns import take_turns

ENGINES = {  # precisions
    "glassformer": ("int8", "fp32"),
    "ctranslate2": ("int8", "float32"),
    "fxtranslate": ("int8",),
    "marian": ("packed8", "float32"),
    "onnxruntime": ("float32",),
    "transformers": ("fp32",),
}
GREEDY = {"fxtranslate", "onnxruntime"}  # they have no beam search here
# The packages that write the models of other engines.
EXPORTERS = {"ctranslate2": "ctranslate2", "onnxruntime": "onnx"}
HELD = {"glassformer", "ctranslate2"}  # these can be held to an instruction set
FAILURES = (
    *(ValueError, OSError, ImportError, KeyError, StopIteration),
    *(subprocess.CalledProcessError, zipfile.BadZipFile),
)
DEFAULTS = {"cores": "1,2", "sets": "native,avx2", "beams": "1,4", "count": 500, "rounds": 5}
QUICK = {"cores": "1", "sets": "native", "beams": "1", "count": 60, "rounds": 2}
SLOW = "transformers"  # left out if --quick
ENERGY = Path("/sys/class/powercap")
TOPOLOGY = Path("/sys/devices/system/cpu")
BATCH = 32


class LostEngine(ValueError):
    """Says that an engine ended, or gave what is no answer, while it took turns."""

    def __init__(self, name: str, why: object):
        super().__init__(str(why))
        self.name = name


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--engines", help=f"with commas; {','.join(ENGINES)}")
    parser.add_argument("--models", default=",".join(MODELS), help="with commas; also folders")
    parser.add_argument("--cores", help=f"with commas; {tell_default('cores')}")
    parser.add_argument("--sets", help=f"native, amx, avx512vnni, avx2; {tell_default('sets')}")
    parser.add_argument("--beams", help=f"with commas, 1 is greedy; {tell_default('beams')}")
    parser.add_argument("--count", type=int, help=f"of sentences; {tell_default('count')}")
    parser.add_argument("--rounds", type=int, help=f"turns of each; {tell_default('rounds')}")
    parser.add_argument("--data", type=Path, help="a folder with tatoeba_en_fr/test.en and .fr")
    parser.add_argument(
        "--text", nargs=3, action="append", default=[], metavar=("LANGS", "SOURCE", "REFERENCE")
    )
    parser.add_argument("--quick", action="store_true", help="few minutes: one core, greedy")
    parser.add_argument("--work", type=Path, help="where engines and models are kept")
    parser.add_argument("--page", type=Path, help="draw the results of this folder; run nothing")
    parser.add_argument("--output", "-o", type=Path, required=True, help="a JSON file, or the page")


def tell_default(name: str) -> str:
    return f"{DEFAULTS[name]}, if --quick {QUICK[name]}"


def main(options: argparse.Namespace) -> None:
    if options.page:
        write_text(options.output, draw(read_results(options.page)))
        return
    choose_options(options)
    check_models(options)
    work = (options.work or find_cache()).absolute()
    found = start_result(options.output, quote("cpu"))
    work.mkdir(parents=True, exist_ok=True)
    note_load(found)
    retry_engines(found, work)
    failed = dict[str, str]()  # engines that cannot be installed, and why
    for name in split(options.models):
        try:
            task = prepare(name, work, options)
        except FAILURES as error:
            refuse(found, {"model": Path(name).name}, "", str(error))
        else:
            measure_model(task, found, work, options, failed)
        write_json(options.output, found)


def choose_options(options: argparse.Namespace) -> None:
    """Fill in what was not given; raise ValueError for what is not known."""
    for name, value in (QUICK if options.quick else DEFAULTS).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    if options.engines is None:
        options.engines = ",".join(x for x in ENGINES if not (options.quick and x == SLOW))
    for given, known in ((options.engines, ENGINES), (options.sets, ("native", *SETS))):
        for name in split(given):
            if name not in known:
                raise ValueError(f"{name}: one of {', '.join(known)}")
    missing = [name for name in split(options.engines) if is_exporter_missing(name)]
    if missing:
        raise ValueError(
            f"what writes models for {' and '.join(missing)} is not installed here: "
            "pip install -e '.[bridge,onnx]', or leave them out with --engines"
        )
    for name in ("cores", "beams"):
        given = split(getattr(options, name))
        if not given or not all(each.isdigit() and int(each) for each in given):
            raise ValueError(f"--{name} {getattr(options, name)}: whole numbers from 1")
    if options.count < 1 or options.rounds < 1:
        raise ValueError("--count and --rounds are whole numbers from 1")


def is_exporter_missing(engine: str) -> bool:
    """Return whether an engine's models cannot be written, since a package is missing."""
    return engine in EXPORTERS and find_spec(EXPORTERS[engine]) is None


def measure_model(
    task: Task, found: Row, work: Path, options: argparse.Namespace, failed: dict[str, str]
) -> None:
    """Measure all groups of a model that the result does not have yet."""
    describe_text(found, task.name, task.text.describe())
    done = {find_group(row) for row in found["rows"]}
    for cores in map(int, split(options.cores)):
        for kind in split(options.sets):
            for beam in map(int, split(options.beams)):
                group = Group(task.name, cores, kind, beam)
                if find_group(vars(group)) in done:
                    continue
                if why := find_lack(group):
                    refuse(found, vars(group), "", why)
                    continue
                print(f"{task.name}, {cores} cores, {kind}, beam {beam}", file=sys.stderr)
                measure_group(task, group, found, work, options, failed)
                write_json(options.output, found)


def find_lack(group: Group) -> str:
    """Return what this machine lacks for a group; "" if nothing."""
    if group.cores > count_cores():
        return f"the machine has {count_cores()} cores"
    known = {each.name for each in list_sets(load_library(PROBE))}
    return "" if group.set in {"native", *known} else f"the processor has no {group.set}"


def measure_group(
    task: Task,
    group: Group,
    found: Row,
    work: Path,
    options: argparse.Namespace,
    failed: dict[str, str],
) -> None:
    """Let all engines that can take turns with these settings, and add their rows."""
    file = write_sentences(Tokenizers.load(task.folder), task.text.sources, work)
    environment = hold(group.cores, avx2=False) | SETS.get(group.set, {})
    with hold_cores(group.cores), ExitStack() as stack:
        opened, starts = dict[str, tuple[Process, Path]](), dict[str, float]()
        for engine, precision in list_sides(options.engines):
            name = f"{engine} {precision}"
            try:
                if engine in failed:
                    raise ValueError(failed[engine])
                side, folder = make_side(engine, precision, task, group, file, work)
                process, starts[name] = open_process(side, work, environment, task, group)
            except FAILURES as error:
                if FAILED in str(error):
                    failed[engine] = str(error)
                refuse(found, vars(group), name, str(error))
                continue
            stack.callback(process.end)
            note_version(found, engine, process.version)
            opened[name] = process, folder
        rows = measure_rest(opened, task, group, found, work, options.rounds)
        found["rows"] += [row | {"start_ms": starts[row["engine"]]} for row in rows]


def list_sides(engines: str) -> list[tuple[str, str]]:
    return [(engine, precision) for engine in split(engines) for precision in ENGINES[engine]]


def open_process(
    side: Side, work: Path, environment: Mapping[str, str], task: Task, group: Group
) -> tuple[Process, float]:
    """Return a process, and the milliseconds from its start to its first translation.

    It is the second start: the first one compiles what is compiled once, and reads the disk.
    """
    settings = make_settings(task, group)
    for is_first in (True, False):
        process = Process(side, work, environment)
        try:
            took = process.started + process.ask(alone=settings, count=1)["alone"][0]
        except BaseException:
            process.end()
            raise
        if is_first:
            process.end()
    return process, 1000 * float(took)


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
        digest = sha256((task.folder / WEIGHTS).read_bytes()).hexdigest()[:12]
        folder = work / "models" / f"{digest}-onnx"
        if not folder.exists():
            folder.parent.mkdir(exist_ok=True)
            export_onnx(task.folder, folder, texts=task.text.sources)
    else:
        folder = prepare_peer(engine, precision, task.folder, work, task.text.sources)
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
    os.sched_setaffinity(0, choose_cores(every, count))
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


def choose_cores(allowed: set[int], count: int) -> list[int]:
    """Return so many processors, of different cores as far as there are: two may share one."""
    seen, first, second = set[str](), list[int](), list[int]()
    for number in sorted(allowed):
        try:
            core = (TOPOLOGY / f"cpu{number}/topology/thread_siblings_list").read_text("ascii")
        except OSError:
            core = str(number)
        (second if core in seen else first).append(number)
        seen.add(core)
    return (first + second)[:count]


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


def measure_rest(
    opened: dict[str, tuple[Process, Path]],
    task: Task,
    group: Group,
    found: Row,
    work: Path,
    rounds: int,
) -> list[Row]:
    """Return the rows of a group; if an engine is lost, those of the others, measured anew."""
    while opened:
        try:
            return measure(opened, task, group, work, rounds)
        except LostEngine as error:
            del opened[error.name]
            refuse(found, vars(group), error.name, str(error))
    return []


def measure(
    opened: dict[str, tuple[Process, Path]], task: Task, group: Group, work: Path, rounds: int
) -> list[Row]:
    """Return the rows of the engines, which take turns at single sentences and at batches."""
    rows = []
    for part in (1, BATCH):
        turns = {
            name: partial(turn, name, opened[name][0], part, task, group, work) for name in opened
        }
        answers = take_turns(turns, rounds)
        texts = {name: read_texts(task, name, mine[-1]["out"]) for name, mine in answers.items()}
        fx = next((x for name, x in texts.items() if name.startswith("fxtranslate")), None)
        first = answers[next(iter(answers))]
        for name, mine in answers.items():
            ratios = [a["seconds"] / b["seconds"] for a, b in zip(first, mine, strict=True)]
            rows.append(
                {
                    **vars(group),
                    "engine": name,
                    "batch": part,
                    **measure_row(task, mine, texts[name]),
                    "ratio": statistics.median(ratios),  # speed against the first engine
                    "disk_mb": measure_disk(opened[name][1]),
                    **score(texts[name], task.text.references, fx),
                }
            )
    return rows


def turn(
    name: str, process: Process, part: int, task: Task, group: Group, work: Path
) -> dict[str, Any]:
    """Let an engine translate all sentences once; LostEngine if it cannot."""
    file = work / "found" / f"{name.replace(' ', '-')}.json"
    file.parent.mkdir(exist_ok=True)
    before = read_energy()
    try:
        answer = process.ask(all={**make_settings(task, group), "part": part}, write=str(file))
        after = read_energy()
        out = json.loads(file.read_text("utf-8"))
        if len(out) != len(task.text.sources):
            raise ValueError(f"{len(out)} translations of {len(task.text.sources)} sentences")
    except FAILURES as error:
        raise LostEngine(name, error) from error
    spent = None if before is None or after is None or after < before else after - before
    return answer | {"joules": spent, "out": out}


def measure_row(task: Task, mine: Sequence[dict[str, Any]], texts: list[str]) -> dict[str, Any]:
    """Return speed, energy and memory; words are those of the source."""
    words = sum(len(text.split()) for text in task.text.sources)
    every = [each["seconds"] for each in mine]
    seconds = statistics.median(every)
    joules = [each["joules"] for each in mine if each["joules"] is not None]
    return {
        "words_per_second": words / seconds,
        "spread": (max(every) - min(every)) / seconds,
        "sentence_ms": 1000 * seconds / len(texts),
        "resident_mib": mine[-1].get("memory"),
        "peak_mib": mine[-1].get("peak"),
        "joules": statistics.median(joules) if joules else None,
    }


def read_energy() -> float | None:
    """Return the joules that all packages have counted; None where they cannot be read."""
    try:
        files = [x / "energy_uj" for x in ENERGY.glob("intel-rapl:*") if x.name.count(":") == 1]
        return sum(int(file.read_text("ascii")) for file in files) / 1e6 if files else None
    except (OSError, ValueError):  # only root may read them
        return None


def read_texts(task: Task, name: str, rows: Sequence[list[str]]) -> list[str]:
    """Return what an engine wrote as text; LostEngine if its tokens are none of the model's."""
    if name.startswith("fxtranslate"):
        return [row[0] for row in rows]
    tokenizer = Tokenizers.load(task.folder).target
    ids = {token: id for id, token in enumerate(tokenizer.vocabulary)}
    try:
        return tokenizer.decode_many([[ids[token] for token in row] for row in rows])
    except KeyError as error:
        raise LostEngine(name, f"it wrote {error}, which is no token of the model") from None


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

"""Mutation tests: whether the nearest tests notice small wrong changes of the core.

    python -m tests.mutation --sample 70

Lines of the core are drawn with a seed, and of each line one change. The same seed draws the same
mutants in the same order, so a larger sample goes on where a smaller one ended; what was tried
with the same sources and tests is not tried again (build/mutation). So a sample can be tried in
parts: with --minutes, what there was no time for is left for the next call. Survivors are printed:
each wants a test, or a line in equivalent.toml that says why no test can tell. The score goes into
docs/reliability.md with --page: the rows of the parts that were tried, and the others stay. What a
seed has given for a part is added to what others have; tried again, a seed begins the row anew.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256
from itertools import takewhile
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from .nearest import NATIVE, ROOT, SOURCES, find_nearest, list_units
from .operators import Mutant, list_mutants
from .trials import BROKEN, Trial, run

HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "reliability.md"
TITLE = "## Mutations\n"
CORE = (
    "model/*.py",
    "decode/*.py",
    "engine/*.py",
    "engine/native/*.[ch]",
    "engine/kernels/*.py",
    "engine/kernels/native/*.[ch]",
    "text/*.py",
    "translate/*.py",
    "extensions/documents/*.py",
    "extensions/check_data/*.py",
    "extensions/serve/*.py",
    "extensions/serve/api/*.py",
    "extensions/serve/service/*.py",
    "evaluate/*.py",
    "translator.py",
    *(
        f"train/run/{name}.py"
        for name in ("checkpoint", "loop", "micro_batching", "optimizer", "selection", "updates")
    ),
    "extensions/averaging/averaging.py",
    "train/plan/schedule.py",
)
TEXT = f"""{TITLE}
Small wrong changes of the core, one at a time: a comparison, a sign, a constant off by one, two
arguments swapped, a statement left out. `python -m tests.mutation` draws them with a seed and runs
the nearest tests with each. What no test can tell is listed in `tests/mutation/equivalent.toml`.

| part | seeds | tried | noticed |
|---|---|--:|--:|
{{rows}}| all | | {{tried}} | {{killed}} ({{share:.0f}} %) |
"""
ROW = re.compile(r"^\| ([^|]+) \| ([\d, ]+) \| (\d+) \| (\d+) \|$", re.M)
SECONDS = 60  # of tests for one mutant, as long as one file is enough
SLACK, GRACE = 5, 60  # a trial may take so many times as long as the tests do, and so many seconds


def list_core() -> list[Mutant]:
    """Return all mutants there are, but for those that are known to change nothing."""
    known = {
        (each["path"], each["before"], each["after"])
        for each in tomllib.loads((HERE / "equivalent.toml").read_text("utf-8"))["mutant"]
    }
    found = []
    for path in sorted({path for pattern in CORE for path in SOURCES.glob(pattern)}):
        name, text = path.relative_to(SOURCES).as_posix(), path.read_text(encoding="utf-8")
        lines = find_compiled(path) if path.parent in NATIVE else None
        found += [
            each
            for each in list_mutants(name, text, lines)
            if (each.path, each.before, each.after) not in known
        ]
    return found


def find_compiled(path: Path) -> set[int]:
    """Return the lines of a C source or header that this machine's compiler reads."""
    lines = set[int]()
    if shutil.which("cc") is None:  # nothing of it is compiled here
        return lines
    for unit in list_units(path):
        command = ["cc", "-E", "-std=gnu11", "-march=native", "-fopenmp", str(unit)]
        said = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
        number, is_here = 0, False
        for line in said.splitlines():
            if line.startswith("# "):
                number = int(line.split()[1])
                is_here = Path(line.split('"')[1]).name == path.name
                continue
            if is_here and line.strip():
                lines.add(number)
            number += 1
    return lines


def draw(mutants: list[Mutant], seed: int) -> list[Mutant]:
    """Return one mutant of each line, in an order that only the seed and the lines decide."""

    def place(*what: object) -> str:
        return sha256(repr((seed, *what)).encode()).hexdigest()

    chosen: dict[tuple[str, int], Mutant] = {}
    for each in sorted(mutants, key=lambda each: place("which", each.id)):
        chosen.setdefault((each.path, each.line), each)
    return sorted(chosen.values(), key=lambda each: place("order", each.id))


class Memory:
    """What came of trials, in one file; a trial is known by the sources and tests it was about."""

    def __init__(self, file: Path) -> None:
        self.file, self.known = file, dict[str, dict[str, Any]]()
        file.parent.mkdir(parents=True, exist_ok=True)
        if file.is_file():
            for line in file.read_text(encoding="utf-8").splitlines():
                told = json.loads(line)
                self.known[told["key"]] = told

    def put(self, key: str, **told: Any) -> None:
        self.known[key] = {"key": key, **told}
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.known[key]) + "\n")


def make_key(name: str, path: str | None, tests: list[str]) -> str:
    digest = sha256(name.encode())
    for file in [*([SOURCES / path] if path else ()), *(ROOT / "tests" / each for each in tests)]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:24]


class Campaign:
    """A sample of mutants, tried one after the other."""

    def __init__(self, memory: Memory, folder: Path, jobs: int, minutes: float = inf) -> None:
        self.memory, self.folder, self.jobs = memory, folder, jobs
        self.end = time.monotonic() + 60 * minutes  # no trial begins after that

    def time_tests(self, tests: list[str]) -> None:
        """Run each file of tests with nothing changed: how long it takes, and whether it passes."""
        keys = {test: make_key(f"test {test}", None, [test]) for test in tests}
        trials = [
            Trial(test, [f"tests/{test}"], 600.0)
            for test in tests
            if keys[test] not in self.memory.known
        ]
        for number, each in enumerate(self._run(trials), 1):
            self.memory.put(keys[each.name], status=each.status, seconds=each.seconds)
            said = "" if each.status == 0 else f" does not pass here: {_last_line(each.log)}"
            print(f"{number}/{len(trials)} {each.name} {each.seconds:.0f} s{said}", flush=True)

    def _run(self, trials: list[Trial]) -> Iterator[Trial]:
        """Yield the trials as they end, as far as there is time for them."""
        in_time = takewhile(lambda _: time.monotonic() < self.end, trials)
        yield from run(in_time, self.folder, self.jobs) if trials else ()

    def choose(self, mutant: Mutant) -> tuple[list[str], float]:
        """Return the nearest tests that pass and together take seconds, and these."""
        chosen, seconds = list[str](), 0.0
        for test in find_nearest(mutant.path):
            told = self.memory.known.get(make_key(f"test {test}", None, [test]))
            if told is None or told["status"]:
                continue
            if not chosen or seconds + told["seconds"] <= SECONDS:
                chosen.append(test)
                seconds += told["seconds"]
        return chosen, seconds

    def try_all(self, mutants: list[Mutant]) -> Iterator[tuple[Mutant, dict[str, Any]]]:
        """Yield each mutant with what came of it; those without tests live without a trial."""
        trials, by_key = list[Trial](), dict[str, Mutant]()
        for mutant in mutants:
            tests, seconds = self.choose(mutant)
            key = make_key(mutant.id, mutant.path, tests)
            if key in self.memory.known:
                yield mutant, self.memory.known[key]
            elif not tests:
                yield mutant, {"outcome": "survived", "tests": []}
            else:
                source = SOURCES / mutant.path
                text = mutant.apply(source.read_text(encoding="utf-8"))
                place = source.relative_to(ROOT).as_posix()
                limit, paths = SLACK * seconds + GRACE, [f"tests/{test}" for test in tests]
                trials.append(Trial(key, paths, limit, {place: text}, source.parent in NATIVE))
                by_key[key] = mutant
        for each in self._run(trials):
            mutant, tests = by_key[each.name], [test.removeprefix("tests/") for test in each.tests]
            outcome = {0: "survived", BROKEN: "broken"}.get(each.status, "killed")  # type: ignore[call-overload]
            by = "took too long" if each.status is None else _last_line(each.log)
            told = {"outcome": outcome, "by": by, "tests": tests, "seconds": each.seconds}
            self.memory.put(each.name, path=mutant.path, after=mutant.after, **told)
            yield mutant, told


def _last_line(log: str) -> str:
    lines = [line for line in log.splitlines() if line.startswith(("FAILED", "ERROR", "E "))]
    return (lines or log.splitlines() or [""])[-1][:200]


def name_part(path: str) -> str:
    """Return the part of the package that a source belongs to, as the page names it."""
    *folders, name = path.removeprefix("extensions/").split("/")
    part = folders[0] if folders else name.removesuffix(".py")
    if "kernels" in folders:
        part = "kernels"
    return f"{part} in C" if name.endswith((".c", ".h")) else part


class Row(NamedTuple):
    """What came of the mutants of a part, drawn with some seeds."""

    seeds: tuple[int, ...]
    tried: int
    killed: int


def read_rows(page: str) -> dict[str, Row]:
    """Return the rows of the section on a page, by part."""
    return {
        part: Row(tuple(map(int, seeds.split(", "))), int(tried), int(killed))
        for part, seeds, tried, killed in ROW.findall(page.partition(TITLE)[2])
    }


def merge_rows(rows: dict[str, Row], new: dict[str, Row]) -> dict[str, Row]:
    """Return the rows with new ones: of another seed they are added, else they begin anew."""
    merged = {**rows, **new}
    for part in rows.keys() & new.keys():
        old, now = rows[part], new[part]
        if not set(old.seeds) & set(now.seeds):
            seeds = tuple(sorted(old.seeds + now.seeds))
            merged[part] = Row(seeds, old.tried + now.tried, old.killed + now.killed)
    return merged


def describe(rows: dict[str, Row]) -> str:
    """Return the section of docs/reliability.md."""
    tried, killed = (sum(row[place] for row in rows.values()) for place in (1, 2))
    lines = "".join(
        f"| {part} | {', '.join(map(str, row.seeds))} | {row.tried} | {row.killed} |\n"
        for part, row in sorted(rows.items())
    )
    share = 100 * killed / max(1, tried)
    return TEXT.format(rows=lines, tried=tried, killed=killed, share=share)


def write_section(page: Path, section: str) -> None:
    """Put the section at the end of the page, in place of the one there was."""
    before = page.read_text(encoding="utf-8").partition(TITLE)[0].rstrip("\n")
    page.write_text(f"{before}\n\n{section}", encoding="utf-8", newline="\n")


def main() -> None:
    about = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser("python -m tests.mutation", description=about[0])
    parser.add_argument("--sample", type=int, default=70, help="mutants to try (70)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", default="", help="files whose path begins so, decode/ for example"
    )
    parser.add_argument("--minutes", type=float, default=inf, help="begin no trial after that")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "mutation")
    parser.add_argument("--page", action="store_true", help="write docs/reliability.md")
    parser.add_argument("--list", action="store_true", help="print the mutants, try none")
    given = parser.parse_args()
    sample = [each for each in draw(list_core(), given.seed) if each.path.startswith(given.only)]
    sample = sample[: given.sample]
    if given.list:
        for each in sample:
            print(f"{each.path}:{each.line}\n  - {each.before}\n  + {each.after}")
        return
    os.nice(10)
    memory = Memory(given.folder / "trials.jsonl")
    campaign = Campaign(memory, given.folder, given.jobs, given.minutes)
    campaign.time_tests(sorted({t for each in sample for t in find_nearest(each.path)[:5]}))
    killed, tried, survivors = Counter[str](), Counter[str](), list[Mutant]()
    for mutant, told in campaign.try_all(sample):
        part = name_part(mutant.path)
        print(f"{told['outcome']:<8} {mutant.path}:{mutant.line}  {mutant.after}", flush=True)
        if told["outcome"] == "broken":
            continue
        tried[part] += 1
        killed[part] += told["outcome"] == "killed"
        if told["outcome"] == "survived":
            survivors.append(mutant)
    for each in survivors:
        print(f"\n{each.path}:{each.line} lived through {', '.join(campaign.choose(each)[0])}")
        print(f"  - {each.before}\n  + {each.after}")
    rows = {part: Row((given.seed,), tried[part], killed[part]) for part in tried}
    print("\n" + describe(rows).partition("\n\n")[2].partition("\n\n")[2])
    if given.page:
        before = read_rows(PAGE.read_text(encoding="utf-8"))
        write_section(PAGE, describe(merge_rows(before, rows)))


if __name__ == "__main__":
    main()

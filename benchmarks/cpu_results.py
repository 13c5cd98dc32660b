"""The results of the benchmark of processors: how they begin, go on and are read."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from glassformer.foundation.machine.properties import look_at_machine
from glassformer.foundation.version import __version__

from .installing import ENGINES, FAILED, install

Row = dict[str, Any]
SCHEMA = 1
BUSY = 0.5  # processes in the last minute
KEYS = {"schema", "command", "date", "machine", "texts", "versions", "rows"}
MEASURED = {"words_per_second", "bleu", "engine", "batch"}  # what the page cannot do without
SAME = ("processor", "cores", "flags")  # of the machine, if a run is to go on
PATH = re.compile(r"(?<![\w.])/(?:[^\s/]+/)+")


@dataclass(frozen=True)
class Group:
    """The settings that are the same for engines that take turns."""

    model: str
    cores: int
    set: str
    beam: int


GROUP = tuple(Group.__annotations__)


def read_results(folder: Path) -> list[Row]:
    """Return all results of a folder; raise ValueError for a file that is not one."""
    if not folder.is_dir():
        raise ValueError(f"{folder}: there is no such folder")
    return [read_result(path) for path in sorted(folder.glob("*.json"))]


def read_result(path: Path) -> Row:
    """Return a result; raise ValueError, naming the file, if it is damaged or of another schema."""
    try:
        result: Row = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}): get it anew, or remove it") from None
    if not isinstance(result, dict) or KEYS - set(result):
        raise ValueError(f"{path}: not a result of `python -m benchmarks cpu`")
    if result["schema"] != SCHEMA:
        said = f"{path} has schema {result['schema']}, this version reads {SCHEMA}"
        raise ValueError(f"{said}: measure again, or draw it with its own version")
    for row in result["rows"]:
        needed = {"engine", "model"} | (set() if "refused" in row else MEASURED | {*GROUP})
        if missing := sorted(needed - set(row)):
            raise ValueError(f"{path}: a row has no {', '.join(missing)}")
        if "refused" not in row and row["model"] not in result["texts"]:
            raise ValueError(f"{path}: the text of {row['model']} is not described")
    return result


def start_result(path: Path, command: str) -> Row:
    """Return the result of a run that was stopped, or a new one.

    Raise ValueError if it is of another command or machine, or cannot be written.
    """
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path}: there is no folder {path.parent}")
    machine = look_at_machine()
    described = {
        "processor": machine.processor,
        "cores": machine.cores,
        "memory": machine.memory,
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "python": platform.python_version(),
        "flags": read_flags(),
    }
    if path.is_file():
        found = read_result(path)
        if found["command"] != command:
            raise ValueError(f"{path} is of another command: {found['command']}")
        for key in SAME:
            if found["machine"][key] != described[key]:
                raise ValueError(f"{path} is of another machine ({key} differ): name a new file")
        found["rows"] = [row for row in found["rows"] if "cores" in row]  # others are tried again
        return found
    return {
        "schema": SCHEMA,
        "command": command,
        "date": datetime.now(UTC).date().isoformat(),
        "machine": described,
        "texts": {},
        "versions": {},
        "rows": [],
    }


def retry_engines(found: Row, work: Path) -> None:
    """Drop the groups that lack an engine only because it could not be installed, if now it can."""
    lacking = {row["engine"].split()[0] for row in found["rows"] if lacks_engine(row)}
    for engine in sorted(lacking & {*ENGINES}):
        try:
            install(engine, work)
        except (ValueError, OSError):
            continue
        names = {find_group(row) for row in found["rows"] if lacks_engine(row, engine)}
        found["rows"] = [row for row in found["rows"] if find_group(row) not in names]


def lacks_engine(row: Row, engine: str = "") -> bool:
    return row["engine"].startswith(engine) and FAILED in row.get("refused", "")


def find_group(row: Row) -> tuple[Any, ...]:
    return tuple(row.get(key) for key in GROUP)


def describe_text(found: Row, model: str, described: Row) -> None:
    """Note the text of a model; ValueError if rows of the result are of another text."""
    former = found["texts"].get(model, described)
    if former != described and any(row["model"] == model for row in found["rows"]):
        raise ValueError(f"the rows of {model} are of another text: name a new file")
    found["texts"][model] = described


def note_load(found: Row) -> None:
    """Note the most processes that had something to do as a run began, or went on; warn of many."""
    if not hasattr(os, "getloadavg"):
        return
    load = os.getloadavg()[0]
    found["machine"]["load"] = max(load, found["machine"].get("load", 0))
    if load > BUSY:
        said = f"{load:.1f} other processes are busy: times say little, only ratios something"
        print(said, file=sys.stderr)


def note_version(found: Row, engine: str, version: str | None) -> None:
    """Note the version of an engine, ours if None; ValueError if rows are of another one."""
    now = version or tell_version()
    former = found["versions"].setdefault(engine, now)
    if former != now:
        said = f"the rows of {engine} are of version {former}, now it is {now}"
        raise ValueError(f"{said}: name a new file")


def tell_version() -> str:
    """Return our version, with the last commit that changed it where Git knows one."""
    commands = (
        ["git", "log", "-1", "--format=%h", "--", "src"],
        ["git", "status", "--porcelain", "--untracked-files=no", "--", "src"],
    )
    try:
        commit, changed = (
            subprocess.run(
                command, cwd=Path(__file__).parents[1], capture_output=True, check=True
            ).stdout.decode()
            for command in commands
        )
    except (OSError, subprocess.CalledProcessError):
        return __version__
    return f"{__version__} ({commit.strip()}{', changed' if changed.strip() else ''})"


def read_flags() -> list[str]:
    """Return the features of the processor; none if the system does not say them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    found = (line.partition(":")[2].split() for line in lines if line.startswith(("flags", "Feat")))
    return next(found, [])


def refuse(found: Row, group: Row, engine: str, why: str) -> None:
    """Add a row that says why there is no measurement."""
    lines = [line.strip() for line in why.splitlines() if line.strip()] or ["no reason was given"]
    said = " ".join(dict.fromkeys((lines[0], lines[-1])))
    said = PATH.sub("", said)  # of folders of this machine
    found["rows"].append({**group, "engine": engine, "refused": said[:300]})

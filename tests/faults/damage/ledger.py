"""What was tried, how often, what happened and what was lost: the table of docs/reliability.md.

Each test that has run leaves a file in a folder, and the page is made of the files that are there:
what a run has counted is kept when the run is stopped, and counted once when it is run again.
"""

from __future__ import annotations

import json
import platform
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
HEAD = """# Reliability

What was done to glassformer, and what came of it. `make faults` does it and writes this page; a
smaller share of each is in `make test`. Stopped, it goes on where it was; `make clean faults`
begins anew. A line counts the tries that ended as it says; the others, if any, come first.

Other tests of `make test` and `make thorough` hold that one connection that sends without an end,
or a body of many small values, takes at most 16 MB (`tests/unit/serve/test_connection.py`), that
nothing is left of hostile clients who leave (`tests/unit/serve/test_hostile_clients.py`), that
SIGTERM and SIGHUP lose no accepted request (`tests/unit/serve/test_ending.py`), and that a
browser's pages of other origins are refused (`tests/web/test_other_pages.py`).

"""
TABLES = ["Kill and resume", "Disks", "Damaged files", "Memory", "Numbers gone wrong", "Bad input"]
TABLES += ["Serving"]
MUTATIONS = "\n## Mutations\n"  # from here on, the page is written by `python -m tests.mutation`
PASSED, FAILED = "passed", "failed"


@dataclass
class Line:
    happened: str
    lost: str
    tried: int = 0
    details: Counter[str] = field(default_factory=Counter)


class Ledger:
    """The notes of one test."""

    def __init__(self) -> None:
        self.notes: list[dict[str, Any]] = []

    def note(
        self,
        table: str,
        fault: str,
        happened: str,
        lost: str = "nothing",
        *,
        times: int = 1,
        detail: str = "",
    ) -> None:
        assert table in TABLES
        self.notes.append(
            {
                "table": table,
                "fault": fault,
                "happened": happened,
                "lost": lost,
                "times": times,
                "detail": detail,
            }
        )


@cache
def state_of_sources() -> str:
    """Changes with every source that could change what comes of a test."""
    digest = sha256()
    for folder in ("src/glassformer", "tests/faults"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


class Parts:
    """One file a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def is_done(self, test: str) -> bool:
        """Whether it has passed with the sources as they are."""
        path = self._path(test)
        found = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return found.get("outcome") == PASSED and found["sources"] == state_of_sources()

    def write(self, test: str, place: tuple[str, int], outcome: str, **more: Any) -> None:
        told = {"test": test, "place": place, "outcome": outcome, "sources": state_of_sources()}
        path = self._path(test)
        path.with_suffix(".new").write_text(json.dumps({**told, **more}), encoding="utf-8")
        path.with_suffix(".new").replace(path)

    def _path(self, test: str) -> Path:
        return self.folder / f"{sha256(test.encode()).hexdigest()[:24]}.json"

    def render(self) -> str:
        texts = (path.read_text(encoding="utf-8") for path in self.folder.glob("*.json"))
        parts = sorted(map(json.loads, texts), key=lambda part: (part["place"], part["test"]))
        failed = [part["test"] for part in parts if part["outcome"] == FAILED]
        passed = [part for part in parts if part["outcome"] == PASSED]
        text = HEAD
        if failed:
            text += "**Ended otherwise:** " + ", ".join(f"`{test}`" for test in failed) + "\n\n"
        tables = add_up([note for part in passed for note in part["notes"]])
        for name in TABLES:
            if name in tables:
                text += render_table(name, tables[name])
        return text + describe_runs(passed)


def write_page(page: Path, text: str) -> None:
    """Write all of the page but what mutation tests have written at its end."""
    before = page.read_text(encoding="utf-8") if page.is_file() else ""
    _, title, rest = before.partition(MUTATIONS)
    page.write_text(text + title + rest, encoding="utf-8", newline="\n")


def add_up(notes: list[dict[str, Any]]) -> dict[str, dict[str, Line]]:
    tables: dict[str, dict[str, Line]] = {}
    for note in notes:
        lines = tables.setdefault(note["table"], {})
        line = lines.setdefault(note["fault"], Line(note["happened"], note["lost"]))
        line.tried += note["times"]
        if note["detail"]:
            line.details[note["detail"]] += note["times"]
    return tables


def render_table(name: str, lines: dict[str, Line]) -> str:
    text = f"## {name}\n\n| fault | tried | what happened | what was lost |\n|---|--:|---|---|\n"
    for fault, line in lines.items():
        parts = ", ".join(f"{count:,} {name}" for name, count in line.details.most_common())
        told = f"{line.happened} ({parts})" if parts else line.happened
        text += f"| {fault} | {line.tried:,} | {told} | {line.lost} |\n"
    return text + "\n"


def describe_runs(passed: list[dict[str, Any]]) -> str:
    """How long it took, where, and whether all of it was of one state of the sources."""
    seconds = sum(part["seconds"] for part in passed)
    now = sum(part["sources"] == state_of_sources() for part in passed)
    which = "all" if now == len(passed) else f"{now:,} of them"
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "safetensors"))
    return (
        f"{len(passed):,} tests, {which} with the sources as they were when this page was written; "
        f"{seconds / 60:.0f} minutes on {platform.system()} {platform.machine()}, Python "
        f"{platform.python_version()}, {versions}.\n"
    )

"""A trainer that is another process works in its turns only."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.processes import Process, Side
from glassformer.config import Config

# Stands for the other engine: an update every 2 ms, and what it was asked in a file.
WORKER = """
import pathlib, sys, time
pathlib.Path(sys.argv[0]).with_name("options").write_text("\\n".join(sys.argv[1:]))
for number in range(1, 100_000):
    print(f"Ep. 1 : Up. {number} : Cost 9.4 * 1,000 @ 1,000 after {number}", file=sys.stderr)
    time.sleep(0.002)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_it_stands_still_between_turns(tmp_path: Path) -> None:
    task = {
        "model": Config().model.model_dump(mode="json"),
        **{"vocabulary": 20, "batch_tokens": 500, "label_smoothing": 0.1},
        **{"betas": [0.9, 0.98], "epsilon": 1e-9, "max_grad_norm": 1.0},
    }
    (tmp_path / "task.json").write_text(json.dumps(task), encoding="utf-8")
    (tmp_path / "train.source").write_text("4 5 6\n7\n", encoding="utf-8")  # 6 with end marks
    (tmp_path / "train.target").write_text("4\n\n", encoding="utf-8")  # 3
    (tmp_path / "pymarian").mkdir()
    (tmp_path / "pymarian" / "__main__.py").write_text(WORKER, encoding="utf-8")
    module = "benchmarks.engines.train_marian"
    process = Process(Side("marian", module, (str(tmp_path), "fp32")), tmp_path, {})
    try:
        (child,) = find_children(process.child.pid)
        for _ in range(2):
            answer = process.ask(seconds=0.1)
            assert answer["updates"] > 1 and answer["seconds"] >= 0.1
            assert answer["target"] == 1000 * answer["updates"]
            assert answer["source"] == 2 * answer["target"]
            assert answer["peak"] >= answer["memory"] > 0
            wait_for(lambda: find_state(child) == "T")
    finally:
        process.end()
    options = (tmp_path / "pymarian" / "options").read_text(encoding="utf-8").splitlines()
    assert options[options.index("--mini-batch-words") + 1] == "500"
    wait_for(lambda: not os.path.exists(f"/proc/{child}"))


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def find_children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8")
    return [int(child) for child in found.split()]


def find_state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]

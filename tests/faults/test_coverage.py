"""Readers of text under a fuzzer that looks for inputs which reach new code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from damage.ledger import Ledger

HERE = Path(__file__).parent
RUNS = 20_000
TARGETS = ["tokenizer", "sentences", "settings", "layout", "tsv", "csv", "jsonl", "tmx"]


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_coverage_guided(tmp_path: Path, ledger: Ledger, target: str) -> None:
    pytest.importorskip("atheris", reason="the fuzzer is not installed: pip install atheris")
    path = os.pathsep.join([str(HERE), str(HERE.parents[1] / "src")])
    ended = subprocess.run(
        [sys.executable, "-m", "damage.coverage_fuzz", target, f"-runs={RUNS}", "-timeout=60"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=False,
    )
    said = ended.stderr.decode("utf-8", "replace")
    assert ended.returncode == 0 and f"Done {RUNS} runs" in said, said[-3000:]
    happened = "done, or refused in one sentence"
    ledger.note("Bad input", f"coverage-guided bytes (atheris): {target}", happened, times=RUNS)

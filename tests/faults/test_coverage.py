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
DOCUMENTS = ["html", "srt", "vtt", "docx", "pptx", "odt", "xlf", "po"]
LIMITS = ["-timeout=60", "-max_len=4096"]


def fuzz(target: str, runs: int, folder: Path, ledger: Ledger, happened: str) -> None:
    pytest.importorskip("atheris", reason="the fuzzer is not installed: pip install atheris")
    path = os.pathsep.join([str(HERE), str(HERE.parents[1] / "src")])
    ended = subprocess.run(
        [sys.executable, "-m", "damage.coverage_fuzz", target, f"-runs={runs}", *LIMITS],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=False,
    )
    said = ended.stderr.decode("utf-8", "replace")
    assert ended.returncode == 0 and f"Done {runs} runs" in said, said[-3000:]
    ledger.note("Bad input", f"coverage-guided bytes (atheris): {target}", happened, times=runs)


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_coverage_guided(tmp_path: Path, ledger: Ledger, target: str) -> None:
    fuzz(target, RUNS, tmp_path, ledger, "done, or refused in one sentence")


@pytest.mark.slow
@pytest.mark.parametrize("target", DOCUMENTS)
def test_documents(tmp_path: Path, ledger: Ledger, target: str) -> None:
    """What is written can be read again."""
    for name in ("lxml", "polib"):
        pytest.importorskip(name, reason="the extra `documents` is not installed")
    fuzz(target, RUNS, tmp_path, ledger, "filled with its own texts, or refused in one sentence")


@pytest.mark.slow
def test_check_data(tmp_path: Path, ledger: Ledger) -> None:
    fuzz("check-data", RUNS // 10, tmp_path, ledger, "done, with a report")

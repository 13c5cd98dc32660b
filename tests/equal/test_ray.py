"""Translating by Ray gives the same lines, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from glassformer.cli import main

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray warns of itself
SENTENCES = ["The cat is on the mat.", "I love AI.", "", "The dog bites the cat. Thanks!"]


@pytest.fixture(scope="module", autouse=True)
def ray_data() -> None:
    """Import Ray where it is needed alone: it takes seconds."""
    pytest.importorskip("ray", reason="ray is not installed")
    pytest.importorskip("ray.data", reason="ray is installed without its data part")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.en"
    path.write_text("".join(f"{line}\n" for line in SENTENCES * 8), encoding="utf-8")
    return path


@pytest.mark.thorough
def test_the_same_lines(text: Path, tmp_path: Path) -> None:
    plain, dealt = tmp_path / "plain", tmp_path / "dealt"
    assert main(["translate", "demo", str(text), "-o", str(plain), "--precision", "fp32"]) == 0
    more = ["--engine", "ray", "--shard-lines", "7", "--workers", "2", "--precision", "fp32"]
    assert main(["translate", "demo", str(text), "-o", str(dealt), *more]) == 0
    assert dealt.read_bytes() == plain.read_bytes()
    assert not dealt.with_name("dealt.parts").exists()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds the worker through /proc")
def test_a_killed_worker_costs_only_time(text: Path, tmp_path: Path) -> None:
    text.write_text(text.read_text(encoding="utf-8") * 40, encoding="utf-8")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "glassformer", "translate", "demo", str(text), "-o", str(out)]
    command += ["--engine", "ray", "--shard-lines", "40", "--workers", "2"]
    running = subprocess.Popen(command, stderr=subprocess.PIPE)
    parts, deadline = tmp_path / "out.parts", time.monotonic() + 240
    while len(list(parts.glob("[0-9]*"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    os.kill(find_worker(), signal.SIGKILL)
    assert running.wait(timeout=400) == 0, running.stderr and running.stderr.read()
    translated = out.read_text(encoding="utf-8").splitlines()
    assert len(translated) == len(SENTENCES) * 8 * 40
    assert translated[: len(SENTENCES)] * 320 == translated


def find_worker() -> int:
    """The process id of a Ray actor that translates."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
        except OSError:
            continue
        if b"ray::MapWorker" in command:
            return int(process.name)
    raise AssertionError("no worker found")

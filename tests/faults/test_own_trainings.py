"""A training that was begun in the app, and the server or the training is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from damage.ledger import ROOT, Ledger

from glassformer.extensions.demo.corpus import read_corpus

pytest.importorskip("fastapi", reason="the extra `serve` is not installed")
pytest.importorskip("torch", reason="training needs PyTorch")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="processes are killed by signals")


TABLE = "Serving"
PAIRS = read_corpus().pairs["train"][:60]
LONG, SHORT = 1.5, 0.25  # minutes: of one that is to be found alive, and of one that is to end


@contextmanager
def serve(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a server that trains; yield it with its address. Whatever happens, it is ended."""
    options = ["--port", "0", "--token", "t", "--device", "cpu", "--train", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "glassformer", "serve", "demo", *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout
        found = re.search(r"http://[^/]+", server.stdout.readline())
        assert found
        try:
            yield server, found[0]
        finally:
            server.terminate()
            server.wait(60)


def ask(address: str, path: str, data: bytes | None = None, method: str | None = None) -> Any:
    head = {"Authorization": "Bearer t", "Content-Type": "application/json"}
    request = Request(f"{address}/api/trainings{path}", data, head, method=method)
    with urlopen(request, timeout=60) as answer:
        return json.load(answer)


def wait_for(address: str, *states: str, steps: bool = False) -> dict[str, Any]:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        found: dict[str, Any] = ask(address, "/mine")
        if found["state"] in states and (found["has_curves"] or not steps):
            return found
        time.sleep(0.1)
    raise AssertionError(found)


def wait_for_message(folder: Path, said: str) -> None:
    """Wait until the process of the training has written this."""
    end = time.monotonic() + 120
    while said not in (found := (folder / "mine" / "messages.txt").read_text(encoding="utf-8")):
        assert time.monotonic() < end, found
        time.sleep(0.1)


def begin(address: str, minutes: float) -> None:
    """Upload, check and train, until the first numbers of its curves are there."""
    ask(address, "", b'{"name": "mine", "source": "en", "target": "fr"}')
    table = "".join(f"{source}\t{target}\n" for source, target in PAIRS).encode()
    ask(address, "/mine/pairs?name=mine.tsv", table, "PUT")
    ask(address, "/mine/check", b"{}")
    wait_for(address, "checked")
    ask(address, "/mine/start", json.dumps({"minutes": minutes, "size": "tiny"}).encode())
    wait_for(address, "training", steps=True)


def find_process(folder: Path) -> int:
    """The process that holds the lock of the training."""
    found = re.match(r"process (\d+) ", (folder / "mine" / "run" / "lock").read_text())
    assert found
    return int(found[1])


def is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


@pytest.mark.thorough
def test_the_server_is_killed_and_the_training_is_not(tmp_path: Path, ledger: Ledger) -> None:
    folder = tmp_path / "own"
    with serve(folder) as (server, address):
        begin(address, LONG)
        pid = find_process(folder)
        server.kill()
        server.wait()
    assert is_alive(pid)
    with serve(folder) as (_, address):
        assert wait_for(address, "training", "finished")["state"] == "training"
        ask(address, "/mine/stop", b"{}")
        assert wait_for(address, "stopped", "finished")["state"] == "stopped"
        assert not (folder / "mine" / "run" / "lock").exists()
        ask(address, "/mine/resume", b"{}")
        wait_for_message(folder, "Going on after update")
    told = "it is trained on; the next server finds it, stops it and goes on with it"
    ledger.note(TABLE, "SIGKILL of the server while a model is trained in the app", told, "nothing")


@pytest.mark.thorough
def test_the_training_is_killed_and_the_server_is_not(tmp_path: Path, ledger: Ledger) -> None:
    folder = tmp_path / "own"
    with serve(folder) as (_, address):
        begin(address, SHORT)
        os.kill(find_process(folder), signal.SIGKILL)
        stopped = wait_for(address, "stopped", "failed")
        assert stopped["state"] == "stopped" and stopped["can_resume"]
        ask(address, "/mine/resume", b"{}")
        assert wait_for(address, "finished", "failed", "stopped")["state"] == "finished"
        ask(address, "/mine", method="DELETE")
    assert not list(folder.iterdir())
    told, lost = "the server goes on; the training is resumed", "the work since the last checkpoint"
    ledger.note(TABLE, "SIGKILL of a training in the app", told, lost)


@pytest.mark.thorough
def test_a_server_that_ends_lets_the_training_save_itself(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    with serve(folder) as (server, address):
        begin(address, LONG)
        pid = find_process(folder)
        server.terminate()
        assert server.wait(60) == 0 or server.returncode == -signal.SIGTERM
    assert not is_alive(pid)
    assert list((folder / "mine" / "run" / "checkpoints").iterdir())
    resumed = [sys.executable, "-m", "glassformer", "train", "--resume", str(folder / "mine")]
    resumed += ["--set", f"train.minutes={SHORT}", "--accept-changed-settings"]  # soon over
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    found = subprocess.run(resumed, env=environment, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0 and "The model is in" in found.stdout, found.stderr

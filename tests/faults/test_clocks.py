"""A clock that jumps by a day, forward and back, under a server and under a training."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from damage.ledger import ROOT, Ledger

LIBRARIES = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
pytestmark = pytest.mark.skipif(not LIBRARIES, reason="libfaketime is not installed")

JUMPS = ("+1d", "-1d", "+0")
KEYS = '[school]\nkey = "school-key"\nrate = 6\ncharacters = 40\n'
PAIRS = [(f"the {a} is {b}", f"le {a} est {b}") for a in "abcdefgh" for b in "ijklmnop"]


class Clock:
    """The time of day of processes, which can be set; their monotonic clocks go on as ever."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.set("+0")
        self.environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "src"),
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(path),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }

    def set(self, offset: str) -> None:
        new = self.path.with_suffix(".new")
        new.write_text(f"{offset}\n", encoding="ascii")
        new.replace(self.path)


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path / "clock")


@pytest.fixture
def port(tmp_path: Path, clock: Clock) -> Iterator[int]:
    """A server with a file of keys."""
    keys = tmp_path / "keys.toml"
    keys.write_text(KEYS, encoding="utf-8")
    command = [sys.executable, "-m", "glassformer", "serve", "demo", "--port", "0", "--token", "t"]
    with subprocess.Popen(
        [*command, "--device", "cpu", "--keys", str(keys)],
        env=clock.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout
        found = re.search(r":(\d+)/\?token=t", server.stdout.readline())
        assert found
        yield int(found[1])
        server.kill()


def ask(port: int, text: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", port, timeout=300)
    body = f'{{"q": "{text}", "source": "en", "target": "fr", "api_key": "school-key"}}'
    connection.request("POST", "/translate", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    answer = response.status, response.read().decode()
    connection.close()
    return answer


def test_the_library_sets_the_time_of_day_alone(clock: Clock) -> None:
    """So that the other tests test something."""
    shown = "import time; print(time.time(), time.monotonic())"
    clock.set("+1d")
    command = [sys.executable, "-c", shown]
    found = subprocess.run(command, env=clock.environment, capture_output=True, check=True).stdout
    day, monotonic = map(float, found.split())
    assert 86_000 < day - time.time() < 87_000
    assert abs(monotonic - time.monotonic()) < 100


@pytest.mark.thorough
def test_a_server(port: int, clock: Clock, ledger: Ledger) -> None:
    """Neither the characters of a day nor the requests of a minute come back."""
    assert ask(port, "The cat is old.") == (200, '{"translatedText":"Le chat est vieux."}')
    refused = ask(port, "The cat is old. The dog is old.")
    assert refused[0] == 429 and "40 characters per 1 day" in refused[1]
    for jump in JUMPS:
        clock.set(jump)
        again = ask(port, "The cat is old. The dog is old.")
        assert again[0] == 429 and "40 characters per 1 day" in again[1]
    assert ask(port, "The dog is old.")[0] == 200
    for jump in JUMPS:
        clock.set(jump)
        status, said = ask(port, "a")
        assert status == 429 and "6 per 1 minute" in said
    ledger.note(
        "Serving",
        "a clock that jumps by a day, forward and back (libfaketime)",
        "no quota or rate begins anew; every accepted request got its answer",
        times=2 * len(JUMPS),
    )


@pytest.mark.thorough
def test_a_training(tmp_path: Path, clock: Clock, ledger: Ledger) -> None:
    """It takes the minutes that it was given, from when it has read its pairs."""
    data, log = tmp_path / "pairs.tsv", tmp_path / "log"
    data.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS * 4), encoding="utf-8")
    command = [sys.executable, "-m", "glassformer", "train", str(data), "--minutes", "0.4"]
    command += ["--source-lang", "en", "--target-lang", "fr", "--out", str(tmp_path / "m")]
    command += ["--device", "cpu", "--size", "tiny"]
    jumps, begun, last = list(JUMPS), 0.0, 0.0
    environment = {**clock.environment, "PYTHONUNBUFFERED": "1"}
    with (
        log.open("wb") as out,
        subprocess.Popen(command, env=environment, stdout=out, stderr=out) as training,
    ):
        while training.poll() is None:
            time.sleep(0.1)
            now = time.monotonic()
            if not begun and b"Vocabulary:" in log.read_bytes():
                begun = last = now
            if begun and jumps and now - last > 5:
                clock.set(jumps.pop(0))
                last = now
            if begun and now - begun > 600:
                training.kill()
        took = time.monotonic() - begun
    said = log.read_text(encoding="utf-8")
    assert training.returncode == 0, said
    assert not jumps and 20 < took < 600, said
    ledger.note(
        "Kill and resume",
        "a clock that jumps by a day, forward and back (libfaketime)",
        "trained for the minutes that were given",
        times=len(JUMPS),
    )
